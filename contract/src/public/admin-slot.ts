import Type from 'typebox';
import { Action, Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { WIPE_METHODS } from '../node/candidate.ts';
import { Hash } from './admin-discovery.ts';
import { HEALTHS, node } from './admin-node.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';
import { ACCEPTED_WIPE_OUTCOMES } from './wipe-certificate.ts';

export const SLOT_STATUSES = ['available', 'reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined'] as const;
export const APPROVALS = ['approved', 'disabled', 'needs_reapproval'] as const;

export const Slot = Closed({
  id: Id('slot'),
  node_id: Id('node'),
  slot_index: Type.Integer(),
  approval: StringEnum(APPROVALS),
  status: StringEnum(SLOT_STATUSES),
  status_reason: Nullable(Type.String()),
  status_since: Time('When this status began.'),
  status_deadline_at: Nullable(Time('When this status is overdue; null where it may last, or the slot is disabled.')),
  health: StringEnum(HEALTHS),
  health_detail: Type.Object({}, { additionalProperties: true }),
  generation: Type.Integer(),
  host_generation: Nullable(
    Type.Integer({
      description: 'Generation on the host if it is newer: this database was restored from a backup.',
    }),
  ),
  module_id: Nullable(Type.Integer()),
  numa_node: Nullable(Type.Integer()),
  gpu_pci_address: Nullable(Type.String()),
  nvme_serial: Nullable(Type.String()),
  mac_address: Nullable(Type.String()),
  private_ip: Nullable(Type.String()),
  fabric_vf_pci_address: Nullable(Type.String()),
  allocation_id: Nullable(Type.String({ description: 'Allocation of the live claim.' })),
  last_claimed_at: Nullable(Time('Last claim.')),
  wiped_at: Nullable(Time('Last accepted wipe.')),
  wipe_outcome: Nullable(
    StringEnum(ACCEPTED_WIPE_OUTCOMES, {
      description: 'How the last wipe was accepted. `overridden`: by two operators, without proof.',
    }),
  ),
  wipe_proof_id: Nullable(Type.String()),
  drift: Nullable(
    Type.Record(Type.String(), Closed({ approved: Type.Unknown(), found: Type.Unknown() }), {
      additionalProperties: false,
      description: 'Differences between the newest discovery and the approval, by field.',
    }),
  ),
  approved_by: Nullable(Type.String()),
  approved_at: Nullable(Time('When it was approved.')),
  version: Type.Integer(),
  actions: Type.Array(Action, { description: 'Actions available now, with the reason for each unavailable one.' }),
});

const SlotOverride = Closed({
  id: Id('slot_override'),
  slot_id: Id('slot'),
  kind: StringEnum(['mark_wiped']),
  reason: Type.String(),
  requested_by: Type.String(),
  requested_at: Time('When it was requested.'),
  expires_at: Time('Deadline for a second operator to confirm.'),
  confirmed_by: Nullable(Type.String()),
  confirmed_at: Nullable(Time('When it was confirmed.')),
});

const slot = Closed({ node_id: Id('node'), slot_id: Id('slot') });

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

const onSlot = {
  ...operatorChange,
  params: slot,
  body: Closed({ reason: Reason }),
  ifMatch: true,
  status: 200,
  response: Slot,
  errors: ['conflict'],
} as const;

export const adminSlotApi = define({
  adminNodeSlotList: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots',
    summary: 'List slots of a node with bindings, claim and wipe proof',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery }),
    response: Page(Slot),
  },
  adminNodeSlotGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}',
    summary: 'Get a slot',
    permission: 'admin.node.read',
    params: slot,
    response: Slot,
  },
  adminNodeSlotApprove: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/approve',
    summary: 'Approve candidates into slots: all, or those named',
    description:
      'The request names the discovery by its hash; a newer discovery returns 412. A refusal lists every blocker. A new slot is quarantined until its first wipe, which approval starts, is proven. A changed slot can be approved again only while it has no claim.',
    permission: 'admin.slot.approve',
    audit: 'node.slot.approve',
    freshSignIn: true,
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
    summary: 'Disable a slot; a running allocation is untouched',
    permission: 'admin.node.update',
    audit: 'node.slot.disable',
  },
  adminNodeSlotEnable: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/enable',
    summary: 'Enable a disabled slot if it still matches its approval',
    permission: 'admin.slot.approve',
    audit: 'node.slot.enable',
    freshSignIn: true,
  },
  adminNodeSlotQuarantine: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/quarantine',
    summary: 'Quarantine an unclaimed slot until it is repaired',
    permission: 'admin.node.update',
    audit: 'node.slot.quarantine',
  },
  adminNodeSlotRepair: {
    ...onSlot,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/repair',
    summary: 'Repair a slot: rebind devices, run discovery and wipe',
    description: 'The slot becomes available only with a wipe proof. Refused while an allocation holds the slot.',
    permission: 'admin.slot.approve',
    audit: 'node.slot.repair',
    freshSignIn: true,
    status: 202,
    location: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}',
  },
  adminNodeSlotMarkWiped: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/mark-wiped',
    summary: 'Two-person override: accept a wipe without proof; takes effect when a second operator confirms',
    description:
      'The first call requests it; a call by another operator within an hour confirms it. The wipe is recorded as overridden, never as verified: the slot becomes available only in a region that allows overrides. Refused while the slot has a claim.',
    permission: 'admin.slot.override',
    audit: 'node.slot.mark_wiped',
    freshSignIn: true,
    params: slot,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Closed({ override: SlotOverride, slot: Slot }),
    errors: ['conflict'],
  },
});
