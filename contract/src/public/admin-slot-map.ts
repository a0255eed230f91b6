/** The fleet as a map: every node with its slots as tiles, enough to locate faults. */
import Type from 'typebox';
import { Closed, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { CAPACITY_MODES, FoundDisk, HEALTHS, NODE_STATES, OCCUPANCIES } from './admin-node.ts';
import { APPROVALS, SLOT_STATUSES } from './admin-slot.ts';
import { operatorReads } from './operator.ts';

/** A slot as a tile of the map: enough to locate faults. */
const operatorRead = operatorReads('Nodes');

const SlotTile = Closed({
  id: Id('slot'),
  slot_index: Type.Integer(),
  approval: StringEnum(APPROVALS),
  status: StringEnum(SLOT_STATUSES),
  status_reason: Nullable(Type.String()),
  status_since: Time('When this status began.'),
  health: StringEnum(HEALTHS),
  numa_node: Nullable(Type.Integer()),
  has_hardware_change: Type.Boolean(),
  allocation_id: Nullable(Type.String()),
  wiped_at: Nullable(Time('Last verified wipe.')),
});

/** A row of the map. Further details of a node are read one by one. */
export const SlotMapRow = Closed({
  node_id: Id('node'),
  name: Type.String(),
  region_name: Type.String(),
  pool_name: Type.String(),
  gpu_model: Type.String(),
  gpu_count: Type.Integer(),
  state: StringEnum(NODE_STATES),
  state_reason: Nullable(Type.String()),
  capacity_mode: StringEnum(CAPACITY_MODES),
  occupancy: StringEnum(OCCUPANCIES),
  health: StringEnum(HEALTHS),
  is_held: Type.Boolean(),
  is_connected: Type.Boolean(),
  has_hardware_change: Type.Boolean(),
  gpu_model_conflict: Nullable(Type.String({ description: 'Why the GPUs found are not of gpu_model.' })),
  unapproved_disks: Type.Array(FoundDisk, {
    description: 'Disks that keep the node from being allocated as bare metal.',
  }),
  reboot_required: Type.Boolean(),
  finding_count: Type.Integer(),
  free_gpus: Type.Integer({ description: 'GPUs that can be launched now, as slices or as the whole node.' }),
  largest_set: Type.Integer({ description: 'Largest GPU count that one allocation can get on this node now.' }),
  slots: Type.Array(SlotTile, { description: 'By index; empty before the first approval.' }),
});

export const adminSlotMapApi = define({
  adminSlotMapList: {
    ...operatorRead,
    tag: 'Placement',
    path: '/api/v1/admin/slot-map',
    summary: 'List every node with its slots, by name',
    permission: 'admin.node.read',
    query: Closed({ ...PageQuery, region_name: Type.Optional(Name()) }),
    response: Page(SlotMapRow),
  },
});
