import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Blocker, Candidate, Prerequisite } from '../node/candidate.ts';
import { FabricPartition } from '../node/facts.ts';
import { node } from './admin-node.ts';
import { NodeTask } from './admin-node-task.ts';
import { operatorChanges, operatorReads } from './operator.ts';

export const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', examples: ['0'.repeat(64)] });

const CandidateView = Closed({
  id: Id('candidate'),
  slot_index: Type.Integer(),
  content_hash: Hash,
  content: Candidate,
  /** Refusals by the control plane itself, regardless of the agent's report. */
  blockers: Type.Array(Blocker),
  slot_id: Nullable(Type.String({ description: 'Approved slot that matches the candidate.' })),
  approval_status: StringEnum(['new', 'approved', 'changed'], { description: 'Differences from the approved slot.' }),
  diff: Type.Record(Type.String(), Closed({ approved: Type.Unknown(), found: Type.Unknown() }), {
    additionalProperties: false,
  }),
});

export const Discovery = Closed({
  task: NodeTask,
  /** Null until the host has answered. */
  map: Nullable(
    Closed({
      map_hash: Hash,
      created_at: Time('When discovery completed.'),
      candidates: Type.Array(CandidateView),
      partitions: Type.Array(FabricPartition),
      prerequisites: Type.Array(Prerequisite),
      reboot_required: Type.Boolean(),
    }),
  ),
});

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const adminDiscoveryApi = define({
  adminNodeDiscoveryCreate: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery',
    summary: 'Run discovery on the host and propose slots',
    permission: 'admin.node.update',
    audit: 'node.discover',
    params: node,
    body: Closed({}),
    status: 202,
    response: NodeTask,
    location: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery',
    errors: ['conflict'],
  },
  adminNodeDiscoveryGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery',
    summary: 'Get the newest discovery: candidates, blockers, prerequisites and differences from approved slots',
    permission: 'admin.node.read',
    params: node,
    response: Discovery,
  },
  adminNodeDiscoveryFactsGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/facts',
    summary: 'Get the hardware facts of the newest discovery',
    permission: 'admin.node.read',
    params: node,
    response: Type.Object({}, { additionalProperties: true }),
  },
});
