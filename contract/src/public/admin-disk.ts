import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { node } from './admin-node.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

/**
 * `blocked`: the disk is in use or could not be wiped. `owned`: wiped with proof, and wiped by every release of the whole
 * node. `excluded`: never wiped.
 */
export const DISK_APPROVAL_STATES = ['approved', 'wiping', 'blocked', 'owned', 'excluded', 'revoked'] as const;
/** The disk is still to be wiped. */
export const OPEN_DISK_APPROVAL_STATES = [
  'approved',
  'wiping',
  'blocked',
] as const satisfies readonly (typeof DISK_APPROVAL_STATES)[number][];

export const DiskOwnership = Closed({
  id: Id('disk_ownership'),
  node_id: Id('node'),
  serial: Type.String(),
  device: Type.String(),
  state: StringEnum(DISK_APPROVAL_STATES),
  state_reason: Nullable(Type.String({ description: 'The blocker.' })),
  state_since: Time('When this state began.'),
  approved_by: Type.String(),
  reason: Type.String(),
  wipe_proof_id: Nullable(Type.String()),
  version: Type.Integer(),
  created_at: Time('When it was approved.'),
});

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const adminDiskApi = define({
  adminNodeDiskList: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/disks',
    summary: 'List disks of a node that may be wiped or are excluded, and their blockers',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery }),
    response: Page(DiskOwnership),
  },
  adminNodeDiskApprove: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/disks',
    summary: 'Approve a disk for wiping, by serial',
    description:
      'The agent never unmounts anything: it waits until the disk is free, wipes it and reads it back. Then discovery runs again.',
    permission: 'admin.slot.approve',
    audit: 'node.disk.own',
    freshSignIn: true,
    params: node,
    body: Closed({ serial: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }), reason: Reason }),
    status: 202,
    response: DiskOwnership,
    location: '/api/v1/admin/nodes/{node_id}/disks',
    errors: ['conflict', 'already_exists'],
  },
  adminNodeDiskExclude: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/disks/exclude',
    summary: 'Exclude a disk from wiping, by serial, so that the whole node can be allocated',
    description:
      'A node is not allocated as bare metal while its newest discovery shows a disk that is no boot disk, belongs to no slot and is neither wiped under an approval nor excluded. What a tenant writes to an excluded disk stays readable for the next one; its wipe certificate counts the disk. A disk that an allocation holds or used elsewhere is excluded only after a verified wipe.',
    permission: 'admin.slot.approve',
    audit: 'node.disk.exclude',
    freshSignIn: true,
    params: node,
    body: Closed({ serial: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }), reason: Reason }),
    status: 201,
    response: DiskOwnership,
    location: '/api/v1/admin/nodes/{node_id}/disks',
    errors: ['conflict', 'already_exists'],
  },
  adminNodeDiskRevoke: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/disks/{disk_ownership_id}/revoke',
    summary: 'Revoke the approval of a disk before the wipe starts, or end its exclusion',
    permission: 'admin.slot.approve',
    audit: 'node.disk.revoke',
    params: Closed({ node_id: Id('node'), disk_ownership_id: Id('disk_ownership') }),
    body: Closed({ reason: Reason }),
    status: 200,
    response: DiskOwnership,
    errors: ['conflict'],
  },
});
