/** One allocation in its states, and the responses to a launch. */

import { type Allocation, EXPECTED_REASON, type Operations } from '@gpuaas/sdk';
import { allocationActions } from '../../server/src/domain/allocation-actions.ts';
import { expectedSentence } from '../../server/src/domain/expected-capacity.ts';
import { fabricOf } from '../../server/src/domain/fabric.ts';
import { launchChoices } from '../../server/src/domain/launch-choice.ts';
import { progressOf } from '../../server/src/domain/progress.ts';
import { PROVISION_SLICE } from '../../server/src/domain/workflow-steps.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const time = '2026-11-15T10:03:21.000Z';
const usd = (amount_minor: number) => ({ amount_minor, currency: 'USD' });
const project_id = id('prj', '1a');

export const placementIds = { allocation: id('alc', '1a'), node: id('nod', '1a') };

/** The alternatives that the server returns for it. */
export const withActions = (row: Allocation): Allocation => ({
  ...row,
  actions: allocationActions({ ...row, node_id: placementIds.node, power_state: row.power?.state ?? null }, () => true),
});

const active: Allocation = {
  id: placementIds.allocation,
  project_id,
  name: 'train',
  capacity_shape: 'gpu_slice',
  sku_name: 'h200-sxm-slice',
  region_name: 'eu-north-1',
  image_name: 'ubuntu-24.04-h200-cuda',
  image_digest: `sha256:${'ab'.repeat(32)}`,
  gpu_count: 4,
  placement: {
    gpu_count: 4,
    vm_profile: 'h200_4g_96c_256g',
    vcpu_count: 96,
    memory_mib: 262_144,
    gpu_hourly_price: usd(450),
  },
  storage: 'formatted',
  network: 'private_nat',
  fabric: fabricOf({ capacity_shape: 'gpu_slice', fabric_isolation: 'none' }),
  state: 'active',
  state_reason: null,
  state_since: time,
  state_deadline_at: null,
  progress: null,
  notices: [],
  power: {
    state: 'on',
    reason: null,
    since: '2026-11-15T10:04:02.000Z',
    workflow_run_id: null,
    is_charged: true,
    install_number: 0,
  },
  ssh_key_ids: [id('key', '1a')],
  ssh: { username: 'ubuntu', address: '10.100.0.11', port: 22, host_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB' },
  tags: { team: 'vision', stage: 'trial' },
  is_protected: true,
  max_duration_s: 14_400,
  release_at: '2026-11-15T14:04:02.000Z',
  activated_at: '2026-11-15T10:04:02.000Z',
  release_requested_at: null,
  released_at: null,
  cost_so_far: usd(2_731),
  requested_by: id('usr', '1a'),
  correlation_id: 'corr-2',
  version: 4,
  created_at: time,
  actions: [],
};
export const allocation = withActions(active);
export const noticed: Allocation = {
  ...allocation,
  max_duration_s: null,
  notices: [
    { message: 'A GPU of this allocation is too hot\u001b[2J and throttles.', since: '2026-11-15T10:20:00.000Z' },
    { message: 'Repairs begin at 18:00.', since: '2026-11-15T11:00:00.000Z' },
  ],
};
export const requested: Allocation = withActions({
  ...active,
  state: 'requested',
  power: null,
  ssh: null,
  activated_at: null,
  release_at: null,
  is_protected: false,
  cost_so_far: usd(0),
});
const copying = progressOf(
  {
    workflow: PROVISION_SLICE.name,
    step: 'cloneImage',
    capacity_shape: 'gpu_slice',
    started_at: '2026-11-15T10:03:24.000Z',
    percent: 40,
    bytes_per_s: 1_250_000_000,
    note: null,
    medians_s: { [PROVISION_SLICE.steps.cloneImage.task]: 34 },
    history: [],
  },
  0,
);
/** Progress up to the copy of the image. */
export const provisioning: Allocation = {
  ...requested,
  state: 'provisioning',
  progress: copying,
};
export const releasing = withActions({
  ...active,
  state: 'releasing',
  power: null,
  ssh: null,
  is_protected: false,
  release_requested_at: time,
});
export const released = withActions({ ...releasing, state: 'released', released_at: '2026-11-15T10:31:09.000Z' });

export const estimate: Operations['allocationEstimate']['response'] = {
  fits_now: true,
  fits_on_nodes: 12,
  largest_set: 8,
  price_per_hour: usd(1_800),
  price_per_day: usd(43_200),
  price_per_month: usd(1_314_000),
  quota_gpus_after: 40,
  code: null,
  reasons: [],
  alternatives: [],
  ...launchChoices({ capacity_shape: 'gpu_slice', gpu_count: 4, fabric_isolation: 'none' }),
  fabric: fabricOf({ capacity_shape: 'gpu_slice', fabric_isolation: 'none' }),
  expected: null,
};
const EXPECTED = { gpus: 12, at: '2026-11-15T10:45:00.000Z', kind: 'release' } as const;

/** The reasons of a refused launch, in the words of the scheduler. */
export const refused = {
  reasons: [
    {
      code: 'one_node',
      gpus: 11,
      detail: '11 GPUs are free, but no single node fits 4; the largest set is 2.',
    },
    { code: 'claimed', gpus: 20, detail: '20 GPUs in use.' },
    { code: 'cleaning', gpus: 1, detail: '1 GPU being wiped before reuse.' },
    { code: 'filters', nodes_total: 4, survivors: { region: 4, count_on_one_node: 0 }, free_gpus: 11 },
    {
      code: EXPECTED_REASON,
      ...EXPECTED,
      detail: expectedSentence(EXPECTED),
    },
  ],
  alternatives: [
    { capacity_shape: 'gpu_slice' as const, sku_name: 'h200-sxm-slice', region_name: 'eu-north-1', gpu_count: 2 },
    { capacity_shape: 'gpu_slice' as const, sku_name: 'h200-sxm-slice', region_name: 'eu-west-1', gpu_count: 4 },
    {
      capacity_shape: 'baremetal' as const,
      sku_name: 'h200-sxm-baremetal-8g',
      region_name: 'eu-north-1',
      gpu_count: 8,
    },
  ],
};
