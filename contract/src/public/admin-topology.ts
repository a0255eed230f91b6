import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Blocker, Candidate, Prerequisite, WIPE_METHODS } from '../node/candidate.ts';
import { FabricPartition } from '../node/facts.ts';
import { NodeTask, node, nodeChange, nodeRead, Reason } from './admin-node.ts';
import { Slot } from './admin-placement.ts';

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', examples: ['0'.repeat(64)] });

const CandidateView = Closed({
  id: Id('candidate'),
  slot_index: Type.Integer(),
  content_hash: Hash,
  content: Candidate,
  /** What the platform itself would refuse, whatever the agent said. */
  blockers: Type.Array(Blocker),
  slot_id: Nullable(Type.String({ description: 'The approved slot of this index.' })),
  approval_status: StringEnum(['new', 'approved', 'changed'], { description: 'Against the approved slot.' }),
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
      created_at: Time('When it was found.'),
      candidates: Type.Array(CandidateView),
      partitions: Type.Array(FabricPartition),
      prerequisites: Type.Array(Prerequisite),
      reboot_required: Type.Boolean(),
    }),
  ),
});

export const DiskOwnership = Closed({
  id: Id('disk_ownership'),
  node_id: Id('node'),
  serial: Type.String(),
  device: Type.String(),
  state: StringEnum(['approved', 'wiping', 'blocked', 'owned', 'revoked']),
  state_reason: Nullable(Type.String({ description: 'What stands in the way.' })),
  state_since: Time('When it came into this state.'),
  approved_by: Type.String(),
  reason: Type.String(),
  wipe_proof_id: Nullable(Type.String()),
  version: Type.Integer(),
  created_at: Time('When it was approved.'),
});

const SlotOverride = Closed({
  id: Id('slot_override'),
  slot_id: Id('slot'),
  kind: StringEnum(['mark_wiped']),
  reason: Type.String(),
  requested_by: Type.String(),
  requested_at: Time('When it was asked for.'),
  expires_at: Time('Until when a second person may confirm it.'),
  confirmed_by: Nullable(Type.String()),
  confirmed_at: Nullable(Time('When it was confirmed.')),
});

const slot = Closed({ node_id: Id('node'), slot_id: Id('slot') });
const onSlot = {
  ...nodeChange,
  params: slot,
  body: Closed({ reason: Reason }),
  ifMatch: true,
  status: 200,
  response: Slot,
  errors: ['conflict'],
} as const;

export const adminTopologyApi = define({
  adminNodeDiscoveryCreate: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery',
    summary: 'Have the agent look at its host and propose slots',
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
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery',
    summary: 'The newest discovery: candidates, blockers, prerequisites and how they differ from what is approved',
    permission: 'admin.node.read',
    params: node,
    response: Discovery,
  },
  adminNodeDiscoveryFactsGet: {
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/slice-topology/facts',
    summary: 'What the newest discovery read of the host',
    permission: 'admin.node.read',
    params: node,
    response: Type.Object({}, { additionalProperties: true }),
  },
  adminNodeSlotGet: {
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}',
    summary: 'One slot',
    permission: 'admin.node.read',
    params: slot,
    response: Slot,
  },
  adminNodeSlotApprove: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/approve',
    summary: 'Approve candidates into slots: all, or those named',
    description:
      'Names the discovery by its hash: if another was made since, 412. Refused with every reason while anything stands in the way. A changed slot is approved again only while nobody holds it.',
    permission: 'admin.slot.approve',
    audit: 'node.slot.approve',
    params: node,
    body: Closed({
      map_hash: Hash,
      slot_indexes: Type.Optional(
        Type.Array(Type.Integer({ minimum: 0, maximum: 63 }), { minItems: 1, maxItems: 64, uniqueItems: true }),
      ),
      wipe_method: Type.Optional(StringEnum(WIPE_METHODS)),
    }),
    status: 200,
    response: Closed({ slots: Type.Array(Slot) }),
    errors: ['conflict', 'precondition_failed'],
  },
  adminNodeSlotDisable: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/disable',
    summary: 'Take a slot out of sale; what runs on it is untouched',
    permission: 'admin.node.update',
    audit: 'node.slot.disable',
  },
  adminNodeSlotEnable: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/enable',
    summary: 'Put a disabled slot back into sale, if it still is what was approved',
    permission: 'admin.slot.approve',
    audit: 'node.slot.enable',
  },
  adminNodeSlotQuarantine: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/quarantine',
    summary: 'Keep a slot that nobody holds from being used until it is repaired',
    permission: 'admin.node.update',
    audit: 'node.slot.quarantine',
  },
  adminNodeSlotRepair: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/repair',
    summary: 'Bind anew, discover, wipe and approve again; each step is shown in the run',
    description: 'The slot comes back only with a wipe proof. Refused while an allocation holds it.',
    permission: 'admin.slot.approve',
    audit: 'node.slot.repair',
    status: 202,
    location: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}',
  },
  adminNodeSlotMarkWiped: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/mark-wiped',
    summary: 'Vouch for a wipe without proof; counts when a second person says the same',
    description:
      'The first call asks, a call by another operator within an hour confirms. Refused while an allocation holds the slot.',
    permission: 'admin.slot.override',
    audit: 'node.slot.mark_wiped',
    params: slot,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Closed({ override: SlotOverride, slot: Slot }),
    errors: ['conflict'],
  },
  adminNodeDiskList: {
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/disks',
    summary: 'Disks of a node that the platform may erase, and what stands in the way',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery }),
    response: Page(DiskOwnership),
  },
  adminNodeDiskApprove: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/disks',
    summary: 'Approve that the platform erases a disk, by serial',
    description:
      'The agent never unmounts anything: it waits until the disk is free, erases it, reads it back, and discovery runs again.',
    permission: 'admin.slot.approve',
    audit: 'node.disk.own',
    params: node,
    body: Closed({ serial: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }), reason: Reason }),
    status: 202,
    response: DiskOwnership,
    location: '/api/v1/admin/nodes/{node_id}/disks',
    errors: ['conflict', 'already_exists'],
  },
  adminNodeDiskRevoke: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/disks/{disk_ownership_id}/revoke',
    summary: 'Take that approval back, while nothing has been erased',
    permission: 'admin.slot.approve',
    audit: 'node.disk.revoke',
    params: Closed({ node_id: Id('node'), disk_ownership_id: Id('disk_ownership') }),
    body: Closed({ reason: Reason }),
    status: 200,
    response: DiskOwnership,
    errors: ['conflict'],
  },
});
