/**
 * Machines for tests: six H200 hosts of one region in a shared pool, without agents, approved as any other would be.
 * The layout is a real host's: four GPUs per NUMA node, module ids that do not follow the PCI bus, and NVIDIA's fifteen
 * fabric partitions. Everything is derived from the host's number, so that seeding again finds it there.
 */
import { ID_PREFIXES } from '@gpuaas/contract';
import { type Database, PLATFORM, type Tx } from '../src/db/client.ts';
import { type CapacityMode, insertDiscovery, insertPool } from '../src/db/node.ts';
import { findUserBySubject } from '../src/db/principal.ts';
import type { Partition } from '../src/db/slot.ts';
import { insertUser } from '../src/db/user.ts';
import { approveSlots, type CandidateSlot, registerNode } from '../src/services/approval.ts';

const REGION = 'us-buffalo-1';
const GPU_MODEL = 'H200 SXM';
const MODES: readonly CapacityMode[] = ['slice', 'slice', 'slice', 'flexible', 'flexible', 'baremetal'];

/** GPU bus, its module id, and the bus of the network card beside it, in PCI order. */
const LAYOUT = [
  { gpu: '1b', module_id: 2, nic: '18' },
  { gpu: '3c', module_id: 4, nic: '3a' },
  { gpu: '4b', module_id: 3, nic: '4d' },
  { gpu: '5c', module_id: 1, nic: '5d' },
  { gpu: '9a', module_id: 5, nic: '9b' },
  { gpu: 'bb', module_id: 7, nic: 'ba' },
  { gpu: 'cd', module_id: 6, nic: 'cc' },
  { gpu: 'dc', module_id: 8, nic: 'db' },
] as const;

/** Fabric Manager's sets of an 8-GPU board, by module id. */
export const HGX_PARTITIONS: readonly Partition[] = [
  [1, 2, 3, 4, 5, 6, 7, 8],
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [1, 3],
  [2, 4],
  [5, 7],
  [6, 8],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((module) => [module]),
].map((module_ids, partition_id) => ({ partition_id, module_ids }));

const OPERATOR = { issuer: 'gpuaas', subject: 'demo-operator' };

const demoId = (kind: 'node' | 'slot' | 'pool' | 'node_task' | 'user', number: number): string =>
  `${ID_PREFIXES[kind]}_${String(number).padStart(26, '0')}`;

const hex = (value: number): string => value.toString(16).padStart(2, '0');

/** The eight slots of demo host `number`, as a discovery would have found them. */
export const demoSlots = (number: number): readonly CandidateSlot[] =>
  LAYOUT.map(({ gpu, module_id, nic }, slot_index) => {
    const nvme_serial = `DEMO${String(number).padStart(4, '0')}N${slot_index}`;
    return {
      id: demoId('slot', number * 100 + slot_index),
      slot_index,
      gpu_pci_address: `0000:${gpu}:00.0`,
      gpu_uuid: `GPU-00000000-0000-0000-${String(number).padStart(4, '0')}-${String(slot_index).padStart(12, '0')}`,
      module_id,
      numa_node: slot_index < 4 ? 0 : 1,
      nvme_serial,
      nvme_device: `/dev/disk/by-id/nvme-DEMO_${nvme_serial}`,
      mac_address: `02:67:70:${hex(number >> 8)}:${hex(number & 255)}:${hex(slot_index)}`,
      private_ip: `10.90.0.${10 + slot_index}`,
      fabric_vf_pci_address: `0000:${nic}:00.1`,
      wipe_method: 'blkdiscard',
    };
  });

const demoOperator = async (tx: Tx): Promise<string> => {
  const known = await findUserBySubject(tx, OPERATOR.issuer, OPERATOR.subject);
  if (known !== undefined) return known.id;
  const id = demoId('user', 1);
  await insertUser(tx, {
    id,
    ...OPERATOR,
    name: 'Demo operator',
    email: null,
    email_verified: false,
    platform_role: null,
  });
  return id;
};

const seedNode = async (tx: Tx, number: number, capacity_mode: CapacityMode, approvedBy: string): Promise<void> => {
  const id = demoId('node', number);
  const slots = demoSlots(number);
  const isNew = await registerNode(tx, {
    id,
    name: `demo-h200-${String(number).padStart(2, '0')}`,
    region_name: REGION,
    pool_id: demoId('pool', 1),
    gpu_model: GPU_MODEL,
    gpu_count: LAYOUT.length,
    host_role: 'worker_compute',
    state: 'active',
    capacity_mode,
    health: 'ok',
    booted_at: null,
    runtime_checked_at: new Date().toISOString(),
    is_runtime_passed: true,
    data_disks: slots.map(({ nvme_serial, nvme_device }) => ({ serial: nvme_serial ?? '', device: nvme_device ?? '' })),
  });
  if (!isNew) return;
  const discovery = demoId('node_task', number);
  await insertDiscovery(tx, { id: discovery, node_id: id, output: { slots }, correlation_id: 'seed-demo' });
  await approveSlots(tx, {
    node_id: id,
    slots,
    partitions: HGX_PARTITIONS,
    approved_by: approvedBy,
    discovery_task_id: discovery,
  });
};

export const seedFleet = (database: Database): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    await insertPool(tx, { id: demoId('pool', 1), name: 'shared', organization_id: null });
    const operator = await demoOperator(tx);
    for (const [index, mode] of MODES.entries()) await seedNode(tx, index + 1, mode, operator);
  });
