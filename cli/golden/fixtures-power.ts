/** A slice during a power change, and the result. */

import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { progressOf } from '../../server/src/domain/progress.ts';
import { START_SLICE, STOP_SLICE } from '../../server/src/domain/workflow-steps.ts';
import { allocation, withActions } from './fixtures-allocation.ts';

const RUN = 'wfr_01k9zv3m8q4t6w2x5y7r0s1n1a';
const since = '2026-11-15T11:20:00.000Z';

type Power = NonNullable<Allocation['power']>;

export const withPower = (power: Partial<Power>): Allocation =>
  withActions({
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

/** A protected allocation cannot be reinstalled. */
const reinstalling = withActions({ ...changing('reinstalling'), is_protected: false });

export const stopping: Allocation = {
  ...changing('stopping'),
  progress: progressOf(
    {
      workflow: STOP_SLICE.name,
      step: 'stopVm',
      capacity_shape: 'gpu_slice',
      started_at: since,
      percent: null,
      bytes_per_s: null,
      note: null,
      medians_s: { [STOP_SLICE.steps.stopVm.task]: 9 },
      history: [],
    },
    Date.parse(since) + 2_000,
  ),
};
export const off = withPower({ state: 'off' });
export const lost = withPower({
  state: 'unknown',
  reason: `${START_SLICE.steps.awaitSsh.failed} The VM was started. Open its console, reboot it, or stop it.`,
});

const entry = (
  sequence: number,
  step: keyof typeof STOP_SLICE.steps,
  outcome: TimelineEntry['outcome'],
): TimelineEntry => ({
  sequence,
  workflow: STOP_SLICE.name,
  workflow_label: STOP_SLICE.label,
  phase: STOP_SLICE.phase,
  step,
  label: STOP_SLICE.steps[step].label,
  attempt: 1,
  outcome,
  detail: null,
  started_at: since,
  finished_at: '2026-11-15T11:20:07.000Z',
  duration_ms: 7_000,
});
export const stopEntries: readonly TimelineEntry[] = [entry(1, 'stopVm', 'next'), entry(2, 'markOff', 'done')];

export const powerAnswers = {
  allocationStop: changing('stopping'),
  allocationStart: changing('starting'),
  allocationReboot: changing('rebooting'),
  allocationReinstall: reinstalling,
};
