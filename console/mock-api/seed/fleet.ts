/** Nodes and their slots, without allocations. */
import { digestOf } from '../core/random.ts';
import type { Node, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { GPU_MODEL, REGION } from './catalog.ts';
import { bindingOf, PLACES } from './host.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The host that the demo has for a node. */
export const hostOf = (name: string, bound_at: string | null): Node['host'] => ({
  state: 'bound',
  product_serial: digestOf(`${name} serial`, 7).toUpperCase(),
  product_uuid: `${digestOf(`${name} uuid`, 8)}-0042-4710-8054-${digestOf(`${name} board`, 12)}`,
  machine_id: digestOf(`${name} machine`, 32),
  bound_at,
});

export const addNode = (world: World, name: string, number: number, over: Partial<Node> = {}): Node => {
  const at = world.now() - 90 * DAY_MS + number * 60_000;
  const created_at = new Date(at).toISOString();
  const booted_at = world.ago(21 * DAY_MS);
  const node: Node = {
    id: world.mint('node', at),
    name,
    number,
    region_name: REGION,
    pool_name: 'shared',
    pool_organization_id: null,
    gpu_model: GPU_MODEL,
    gpu_count: 8,
    host_role: 'worker_compute',
    state: 'active',
    state_reason: null,
    state_since: booted_at,
    capacity_mode: 'slice',
    is_held: false,
    held_reason: null,
    health: 'ok',
    launch_failures: 0,
    launch_failed_at: null,
    is_runtime_validated: true,
    reboot_required: false,
    reboot_reason: null,
    reconciled_at: world.ago(24_000),
    last_seen_at: world.ago(4_000),
    is_connected: true,
    version: 1,
    created_at,
    private_network: '10.100.0.0/24',
    host: hostOf(name, created_at),
    agent_version: '0.1.0',
    boot_id: `${digestOf(name, 8)}-4d2f-4c1e-9a55-${digestOf(`${name} boot`, 12)}`,
    booted_at,
    clock_skew_ms: (number % 7) - 3,
    certificates: [
      {
        serial_number: digestOf(`${name} certificate`, 16),
        not_before: world.ago(9 * HOUR_MS),
        not_after: world.ago(-15 * HOUR_MS),
        revoked_at: null,
        revoked_reason: null,
      },
    ],
    findings: [],
    vms: [],
    alerts: [],
    overrides: [],
    images: world.images.slice(0, 2).map((image) => ({
      digest: image.digest,
      name: image.name,
      size_bytes: image.size_bytes,
      verified_at: world.ago(3 * DAY_MS),
      last_used_at: world.ago(5 * HOUR_MS),
    })),
    found: new Map(),
    unmet: [],
    discovered_at: world.ago(20 * DAY_MS),
    discovery_task_id: null,
    ...over,
  };
  world.nodes.set(node.id, node);
  world.slotsOf.set(node.id, []);
  return node;
};

export const slotOf = (world: World, node: Node, slotIndex: number, approvedBy: string): Slot => {
  const place = PLACES[slotIndex] ?? PLACES[0];
  if (place === undefined) throw new Error('a host has places');
  const binding = bindingOf(node.number, place);
  const at = Date.parse(node.created_at) + slotIndex;
  const slot: Slot = {
    id: world.mint('slot', at),
    node_id: node.id,
    slot_index: slotIndex,
    approval: 'approved',
    status: 'available',
    status_reason: null,
    status_since: world.ago(30 * HOUR_MS + slotIndex * 60_000),
    health: 'ok',
    health_detail: {},
    generation: 3,
    host_generation: null,
    module_id: place.module_id,
    numa_node: place.numa_node,
    gpu_pci_address: place.gpu,
    nvme_serial: binding.nvme_serial,
    mac_address: binding.mac_address,
    private_ip: binding.private_ip,
    fabric_vf_pci_address: place.vf,
    allocation_id: null,
    last_claimed_at: world.ago(40 * HOUR_MS),
    wiped_at: world.ago(30 * HOUR_MS + slotIndex * 60_000),
    wipe_outcome: 'verified',
    wipe_proof_id: world.mint('wipe_proof', world.now() - 30 * HOUR_MS),
    drift: null,
    approved_by: approvedBy,
    approved_at: world.ago(20 * DAY_MS),
    version: 1,
  };
  return slot;
};

export const addSlots = (world: World, node: Node, approvedBy: string): readonly Slot[] => {
  const slots = PLACES.map((place) => slotOf(world, node, place.slot_index, approvedBy));
  for (const slot of slots) world.slots.set(slot.id, slot);
  world.slotsOf.set(node.id, slots);
  return slots;
};

/** The hosts of a rack by their unit: j22u05, j22u07, … */
export const rackNames = (rack: string, hosts: number): readonly string[] =>
  Array.from({ length: hosts }, (_, index) => `${rack}u${String(5 + 2 * index).padStart(2, '0')}`);
