/** An active slice and its related resources, for the tests of this directory. */
import type { Allocation, AllocationProgress, AllocationProgressStep, TimelineEntry } from '@gpuaas/sdk';

export const AT = '2026-11-15T10:00:00.000Z';
export const NOW = Date.parse(AT);
export const later = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

export const allocation = (over: Partial<Allocation> = {}): Allocation => ({
  id: 'alc_1',
  project_id: 'prj_1',
  name: 'train',
  capacity_shape: 'gpu_slice',
  sku_name: 'h200-sxm-slice',
  region_name: 'us-buffalo-1',
  image_name: 'ubuntu-24.04',
  image_digest: null,
  gpu_count: 4,
  placement: {
    gpu_count: 4,
    vm_profile: 'standard',
    vcpu_count: 64,
    memory_mib: 1024,
    gpu_hourly_price: { amount_minor: 300, currency: 'USD' },
  },
  storage: 'formatted',
  network: 'private_nat',
  fabric: { available: false, detail: 'Not available: the region does not isolate tenants on its fabric.' },
  state: 'active',
  state_reason: null,
  state_since: AT,
  state_deadline_at: null,
  progress: null,
  notices: [],
  power: { state: 'on', reason: null, since: AT, workflow_run_id: null, is_charged: true, install_number: 0 },
  ssh_key_ids: ['key_1', 'key_2'],
  ssh: null,
  tags: { team: 'vision' },
  is_protected: false,
  max_duration_s: 14_400,
  release_at: later(7200),
  activated_at: AT,
  release_requested_at: null,
  released_at: null,
  cost_so_far: { amount_minor: 100, currency: 'USD' },
  requested_by: 'usr_1',
  correlation_id: 'cor_1',
  version: 3,
  created_at: AT,
  actions: [],
  ...over,
});

export const step = (over: Partial<AllocationProgressStep> = {}): AllocationProgressStep => ({
  key: 'cloneImage',
  label: 'Copy image',
  state: 'running',
  started_at: AT,
  took_ms: null,
  expected_s: 40,
  percent: 40,
  note: null,
  ...over,
});

export const progress = (over: Partial<AllocationProgress> = {}): AllocationProgress => ({
  workflow: 'provision-slice',
  workflow_label: 'Launch',
  phase: 'launch',
  step: 'cloneImage',
  label: 'Copy image',
  step_number: 2,
  step_count: 5,
  percent: 40,
  bytes_per_s: 2 * 1024 ** 3,
  started_at: AT,
  expected_s: 40,
  note: null,
  overall_percent: 31,
  steps: [step()],
  ...over,
});

export const entry = (over: Partial<TimelineEntry> = {}): TimelineEntry => ({
  sequence: 1,
  workflow: 'provision-slice',
  workflow_label: 'Launch',
  phase: 'launch',
  step: 'leaseBundle',
  label: 'Reserve GPUs',
  attempt: 1,
  outcome: 'next',
  detail: null,
  started_at: AT,
  finished_at: later(2),
  duration_ms: 2000,
  ...over,
});
