/**
 * How hardware becomes capacity: a node is registered, and a named operator approves the slots that a discovery found.
 * Approval says in plain words what is missing and then writes the slots complete, approved and for sale in one
 * transaction with the placement index. The database's own constraints stand behind it and are never relaxed.
 */
import { ID_PREFIXES } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { SLOTS_MAX } from '@gpuaas/scheduler';
import type { Tx } from '../db/client.ts';
import { findNode, insertNode, type NewNode, type NodeRow } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import {
  countSlots,
  insertApprovedSlots,
  listBindingConflicts,
  type NewSlot,
  type Partition,
  replacePartitions,
} from '../db/slot.ts';
import { AppError, conflict, type FieldError, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';

/** What discovery found in one slot: anything may be missing. */
export type CandidateSlot = Readonly<{
  /** Given only where ids must be the same every time. */
  id?: string;
  slot_index: number;
  gpu_pci_address: string | null;
  gpu_uuid: string | null;
  module_id: number | null;
  numa_node: number | null;
  nvme_serial: string | null;
  nvme_device: string | null;
  mac_address: string | null;
  private_ip: string | null;
  fabric_vf_pci_address: string | null;
  wipe_method: NewSlot['wipe_method'] | null;
}>;

export type Approval = Readonly<{
  node_id: string;
  slots: readonly CandidateSlot[];
  /** The board's fabric sets by module id; empty for a board without NVSwitch. */
  partitions: readonly Partition[];
  approved_by: string;
  discovery_task_id: string;
}>;

/** Puts a node into the inventory; false when it is there already. Without approved slots no slice is placed on it. */
export const registerNode = async (tx: Tx, node: NewNode): Promise<boolean> => {
  const isNew = await insertNode(tx, node);
  if (isNew) await refreshSummary(tx, node.id);
  return isNew;
};

const PCI = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const BINDINGS = [
  ['gpu_pci_address', 'GPU PCI address', PCI],
  ['nvme_serial', 'NVMe serial', /./],
  ['nvme_device', 'NVMe device by id', /^\/dev\/disk\/by-id\/[A-Za-z0-9._:-]+$/],
  ['mac_address', 'management MAC address', /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/],
  ['private_ip', 'private IP address', /^[0-9a-f.:]+$/],
  ['fabric_vf_pci_address', 'fabric VF PCI address', PCI],
  ['wipe_method', 'wipe policy', /./],
] as const;

const problem = (index: number, field: string, code: string, message: string): FieldError => ({
  pointer: `/slots/${index}/${field}`,
  code,
  message,
});

const bindingProblems = (slot: CandidateSlot, needsModule: boolean): FieldError[] => [
  ...BINDINGS.flatMap(([field, name, grammar]) => {
    const value = slot[field];
    if (value === null) return [problem(slot.slot_index, field, 'required', `Slot ${slot.slot_index} has no ${name}.`)];
    return grammar.test(value)
      ? []
      : [problem(slot.slot_index, field, 'malformed', `Slot ${slot.slot_index}: "${value}" is no ${name}.`)];
  }),
  ...(needsModule && slot.module_id === null
    ? [
        problem(
          slot.slot_index,
          'module_id',
          'required',
          `Slot ${slot.slot_index} has no module id, which its fabric needs.`,
        ),
      ]
    : []),
];

const ONCE_PER_NODE = [
  'slot_index',
  'gpu_pci_address',
  'fabric_vf_pci_address',
  'nvme_serial',
  'nvme_device',
  'mac_address',
  'private_ip',
  'module_id',
] as const;

const duplicateProblems = (slots: readonly CandidateSlot[]): FieldError[] =>
  ONCE_PER_NODE.flatMap((field) => {
    const seen = new Map<string | number, number>();
    return slots.flatMap((slot) => {
      const value = slot[field];
      if (value === null) return [];
      const first = seen.get(value);
      if (first === undefined) {
        seen.set(value, slot.slot_index);
        return [];
      }
      return [
        problem(slot.slot_index, field, 'duplicate', `Slots ${first} and ${slot.slot_index} share ${field} ${value}.`),
      ];
    });
  });

const nodeProblems = (node: NodeRow, { slots, partitions }: Approval): FieldError[] => {
  const modules = new Set(slots.map((slot) => slot.module_id));
  return [
    ...(node.host_role === 'worker_compute'
      ? []
      : [
          {
            pointer: '/node_id',
            code: 'not_compute',
            message: `The node is ${node.host_role}, not a compute host.`,
          },
        ]),
    ...(slots.length >= 1 && slots.length <= node.gpu_count
      ? []
      : [
          {
            pointer: '/slots',
            code: 'count',
            message: `The node has ${node.gpu_count} GPUs and ${slots.length} slots were given.`,
          },
        ]),
    ...slots
      .filter((slot) => !Number.isInteger(slot.slot_index) || slot.slot_index < 0 || slot.slot_index >= SLOTS_MAX)
      .map((slot) =>
        problem(
          slot.slot_index,
          'slot_index',
          'range',
          `Slot index ${slot.slot_index} is not between 0 and ${SLOTS_MAX - 1}.`,
        ),
      ),
    // With fewer slots than GPUs a partition may name a GPU that is not approved; it is then never legal.
    ...(slots.length < node.gpu_count
      ? []
      : partitions
          .filter(({ module_ids }) => module_ids.some((id) => !modules.has(id)))
          .map(({ partition_id }) => ({
            pointer: `/partitions/${partition_id}`,
            code: 'unknown_module',
            message: `Fabric partition ${partition_id} names a module that no slot has.`,
          }))),
  ];
};

const complete = (slot: CandidateSlot): NewSlot => {
  const of = <K extends keyof CandidateSlot>(field: K): NonNullable<CandidateSlot[K]> => {
    const value = slot[field];
    if (value === null || value === undefined) throw new Error(`slot ${slot.slot_index} was checked for ${field}`);
    return value;
  };
  return {
    id: slot.id ?? mintId(ID_PREFIXES.slot),
    slot_index: slot.slot_index,
    gpu_pci_address: of('gpu_pci_address'),
    gpu_uuid: slot.gpu_uuid,
    module_id: slot.module_id,
    numa_node: slot.numa_node,
    nvme_serial: of('nvme_serial'),
    nvme_device: of('nvme_device'),
    mac_address: of('mac_address'),
    private_ip: of('private_ip'),
    fabric_vf_pci_address: of('fabric_vf_pci_address'),
    wipe_method: of('wipe_method'),
  };
};

const refuseIfAny = (problems: readonly FieldError[]): void => {
  if (problems.length === 0) return;
  throw new AppError('invalid_request', problems.map(({ message }) => message).join(' '), { errors: problems });
};

/** Makes the slots of a node schedulable. The operator is named and the discovery cited in every row. */
export const approveSlots = async (tx: Tx, approval: Approval): Promise<readonly NewSlot[]> => {
  await lockSummary(tx, approval.node_id);
  const node = await findNode(tx, approval.node_id);
  if (node === undefined) throw notFound('node');
  refuseIfAny([
    ...nodeProblems(node, approval),
    ...approval.slots.flatMap((slot) => bindingProblems(slot, approval.partitions.length > 0)),
    ...duplicateProblems(approval.slots),
  ]);
  if ((await countSlots(tx, node.id)) > 0) throw conflict('The node has slots already; they are changed one by one.');
  // Whoever holds the whole node may have written to these disks, and no wipe of theirs has been asked for.
  if (node.occupancy !== 'free')
    throw conflict(`The node is ${node.occupancy}; slots are approved while nobody holds it.`);
  const slots = approval.slots.map(complete);
  refuseIfAny(
    (await listBindingConflicts(tx, node, slots)).map(({ slot_index, binding, value, node_id }) =>
      problem(
        slot_index,
        binding,
        'taken',
        `Slot ${slot_index}: ${binding} ${value} is bound to a slot of ${node_id}.`,
      ),
    ),
  );
  await insertApprovedSlots(
    tx,
    {
      id: node.id,
      region_name: node.region_name,
      approved_by: approval.approved_by,
      discovery_task_id: approval.discovery_task_id,
    },
    slots,
  );
  await replacePartitions(tx, node.id, approval.partitions);
  await refreshSummary(tx, node.id);
  return slots;
};
