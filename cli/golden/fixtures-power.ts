/** A slice whose power is being changed, and how that ends. */
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { allocation } from './fixtures-allocation.ts';

const RUN = 'wfr_01k9zv3m8q4t6w2x5y7r0s1n1a';
const since = '2026-11-15T11:20:00.000Z';

type Power = NonNullable<Allocation['power']>;

export const withPower = (power: Partial<Power>): Allocation => ({
  ...allocation,
  power: {
    state: 'on',
    reason: null,
    workflow_run_id: null,
    is_charged: true,
    install_number: 0,
    ...power,
    since,
  },
});

const changing = (state: Power['state']): Allocation => withPower({ state, workflow_run_id: RUN });

export const stopping: Allocation = {
  ...changing('stopping'),
  progress: {
    workflow: 'stop-slice',
    step: 'stopVm',
    label: 'Stop the machine',
    step_number: 1,
    step_count: 2,
    percent: null,
    bytes_per_s: null,
    started_at: since,
    expected_s: 9,
    overall_percent: 20,
  },
};
export const off = withPower({ state: 'off' });
export const lost = withPower({
  state: 'unknown',
  reason: 'The machine did not become ready. It was started and is left as it is: look at it, reboot it, or stop it.',
});

const entry = (sequence: number, step: string, label: string, outcome: string): TimelineEntry => ({
  sequence,
  workflow: 'stop-slice',
  step,
  label,
  attempt: 1,
  outcome,
  detail: null,
  started_at: since,
  finished_at: '2026-11-15T11:20:07.000Z',
  duration_ms: 7_000,
});
export const stopEntries: readonly TimelineEntry[] = [
  entry(1, 'stopVm', 'Stop the machine', 'next'),
  entry(2, 'settleOff', 'Keep it for you', 'done'),
];

export const powerAnswers = {
  allocationStop: changing('stopping'),
  allocationStart: changing('starting'),
  allocationReboot: changing('rebooting'),
  allocationReinstall: changing('reinstalling'),
};
