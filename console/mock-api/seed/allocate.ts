/** Allocations from before the start of the demo, with the runs, claims and usage that they would have left. */
import { workflowWords } from '../../../server/src/domain/workflow-steps.ts';
import { digestOf } from '../core/random.ts';
import type { Allocation, Node, Run, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { claimSlots } from '../simulation/allocation.ts';
import type { PathName } from '../simulation/paths.ts';
import { newRun } from '../simulation/run.ts';
import { BAREMETAL_SKU, REGION, SLICE_SKU } from './catalog.ts';

export type Past = Readonly<{
  name: string;
  organization_id: string;
  project_id: string;
  requested_by: string;
  gpu_count: number;
  node: Node;
  slots: readonly Slot[];
  hours: number;
  is_whole?: boolean;
  over?: Partial<Allocation>;
}>;

export const correlationOf = (name: string): string => `c-${digestOf(`launch ${name}`, 26)}`;

const profileFor = (world: World, count: number) =>
  world.vmProfiles.find((one) => one.gpu_count === count && one.is_default);

export const newAllocation = (world: World, past: Past): Allocation => {
  const at = world.now() - past.hours * 3_600_000;
  const created_at = new Date(at).toISOString();
  const isSlice = past.is_whole !== true;
  const profile = isSlice ? profileFor(world, past.gpu_count) : undefined;
  const image = world.images[1];
  const row: Allocation = {
    id: world.mint('allocation', at),
    project_id: past.project_id,
    organization_id: past.organization_id,
    node_id: past.node.id,
    slot_ids: [],
    name: past.name,
    capacity_shape: isSlice ? 'gpu_slice' : 'baremetal',
    sku_name: isSlice ? SLICE_SKU : BAREMETAL_SKU,
    region_name: REGION,
    image_name: isSlice ? (image?.name ?? null) : null,
    image_digest: isSlice ? (image?.digest ?? null) : null,
    gpu_count: past.gpu_count,
    placement: {
      gpu_count: past.gpu_count,
      vm_profile: profile?.name ?? null,
      vcpu_count: profile?.vcpu_count ?? null,
      memory_mib: profile?.memory_mib ?? null,
      gpu_hourly_price: { amount_minor: 450, currency: 'USD' },
    },
    storage: 'raw',
    network: isSlice ? 'private_nat' : null,
    state: 'active',
    state_reason: null,
    state_since: new Date(at + 95_000).toISOString(),
    state_deadline_at: null,
    power: null,
    ssh_key_ids: [],
    tags: {},
    is_protected: false,
    max_duration_s: null,
    release_at: null,
    activated_at: null,
    release_requested_at: null,
    released_at: null,
    requested_by: past.requested_by,
    correlation_id: correlationOf(past.name),
    version: 1,
    created_at,
    host_key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${btoa(digestOf(past.name, 32)).slice(0, 43)}`,
    private_ip: isSlice ? (past.slots[0]?.private_ip ?? null) : null,
    run_id: null,
    ...past.over,
  };
  world.allocations.set(row.id, row);
  return row;
};

/** A run that has ended, its steps one after the other from `atMs`. */
export const pastRun = (world: World, row: Allocation, path: PathName, atMs: number, stuckAt?: string): Run => {
  const run = newRun(world, { ...row, path, subject_id: row.id, allocation_id: row.id }, atMs);
  let at = atMs;
  for (const step of run.path) {
    const isStuck = step.step === stuckAt;
    const end = workflowWords(run.workflow).phase === 'launch' ? 'failed' : 'stuck';
    const started_at = new Date(at).toISOString();
    at += step.seconds * 8_000;
    run.step = step.step;
    run.steps.push({
      sequence: run.steps.length + 1,
      step: step.step,
      label: step.label,
      attempt: 1,
      outcome: isStuck ? end : step === run.path.at(-1) ? 'done' : 'next',
      detail: null,
      started_at,
      finished_at: new Date(at).toISOString(),
      duration_ms: step.seconds * 8_000,
    });
    if (isStuck) break;
  }
  run.state = stuckAt === undefined ? 'done' : 'stuck';
  run.state_since = new Date(at).toISOString();
  run.state_deadline_at = null;
  run.finished_at = stuckAt === undefined ? run.state_since : null;
  return run;
};

/** A running allocation: launched, activated and charged since. */
export const addActive = (world: World, past: Past): Allocation => {
  const row = newAllocation(world, past);
  claimSlots(world, row, past.slots, 'in_use');
  for (const slot of past.slots) slot.status_since = row.state_since;
  row.activated_at = row.state_since;
  if (row.max_duration_s !== null)
    row.release_at = new Date(Date.parse(row.activated_at) + row.max_duration_s * 1000).toISOString();
  if (row.capacity_shape === 'gpu_slice' && row.power === null)
    row.power = {
      state: 'on',
      reason: null,
      since: row.state_since,
      workflow_run_id: null,
      is_charged: true,
      install_number: 0,
    };
  pastRun(world, row, past.is_whole ? 'provision-baremetal' : 'provision-slice', Date.parse(row.created_at));
  addUsage(world, row, row.activated_at, null);
  past.node.vms.push({
    name: `gpuaas-${row.id.slice(-8)}`,
    allocation_id: row.id,
    is_managed: true,
    state: row.power?.state === 'off' ? 'shut_off' : 'running',
    ended_by: null,
    devices: past.slots.flatMap((slot) => [slot.gpu_pci_address ?? '', slot.nvme_serial ?? '']),
  });
  return row;
};

export const addUsage = (world: World, row: Allocation, started_at: string, ended_at: string | null): void => {
  const hours = ended_at === null ? 0 : (Date.parse(ended_at) - Date.parse(started_at)) / 3_600_000;
  world.usage.push({
    id: world.mint('usage_record', Date.parse(started_at)),
    project_id: row.project_id,
    allocation_id: row.id,
    sku_name: row.sku_name,
    gpu_count: row.gpu_count,
    gpu_hourly_price: row.placement.gpu_hourly_price,
    started_at,
    ended_at,
    cost_minor:
      ended_at === null ? null : Math.round(hours * row.gpu_count * row.placement.gpu_hourly_price.amount_minor),
  });
};
