/**
 * The description of work in progress: the step, its progress, its start and its usual duration. Running work is always
 * shown with its elapsed time.
 */
import {
  type Allocation,
  type AllocationProgress,
  type AllocationProgressStep,
  MOVING_POWER_STATES,
} from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { span } from '../../format/time.ts';

export type Work = Extract<AllocationProgress['phase'], 'launch' | 'power' | 'cleanup'>;

const POWER_MOVING: readonly string[] = MOVING_POWER_STATES;
const POWER_TITLES: Readonly<Record<string, string>> = {
  stopping: 'Stopping the VM',
  starting: 'Starting the VM',
  rebooting: 'Rebooting the VM',
  reinstalling: 'Reinstalling the VM',
};

type Facts = Pick<
  Allocation,
  'state' | 'progress' | 'power' | 'created_at' | 'state_since' | 'release_requested_at' | 'released_at'
>;

/** The work in progress, or null. */
export const workNow = (facts: Facts): Work | null => {
  const { state, progress, power } = facts;
  if (state === 'requested' || state === 'provisioning') return 'launch';
  if (state === 'releasing') return 'cleanup';
  if (state === 'active') return power !== null && POWER_MOVING.includes(power.state) ? 'power' : null;
  // A failed allocation is cleaned up as well and stays failed.
  return progress?.phase === 'cleanup' ? 'cleanup' : null;
};

export const workTitle = (facts: Facts, work: Work): string => {
  if (work === 'launch') return 'Launching';
  if (work === 'cleanup') return 'Releasing: wiping disks';
  return POWER_TITLES[facts.power?.state ?? ''] ?? 'Changing power state';
};

/** The start time, by the clock of the server. */
export const workSince = (facts: Facts, work: Work): string => {
  if (work === 'launch') return facts.created_at;
  if (work === 'power') return facts.power?.since ?? facts.state_since;
  return facts.state === 'releasing' ? (facts.release_requested_at ?? facts.state_since) : facts.state_since;
};

/** `62 %, 12 s so far, usually 40 s`: the known values of the running step. */
const runningWords = (progress: AllocationProgress, nowMs: number): string => {
  const elapsedMs = Math.max(0, nowMs - Date.parse(progress.started_at));
  const { percent, bytes_per_s: speed, expected_s: expected, note } = progress;
  const isLate = expected !== null && elapsedMs > expected * 1_500;
  return [
    percent === null ? null : `${percent} %`,
    speed === null ? null : `${bytes(speed)}/s`,
    `${span(elapsedMs)} so far`,
    expected === null ? null : `usually ${span(expected * 1000)}${isLate ? ', longer than usual' : ''}`,
    note,
  ]
    .filter((part) => part !== null)
    .join(', ');
};

/** The text beside a step: all known values of the running one, the state of the others. */
export const stepWords = (step: AllocationProgressStep, progress: AllocationProgress, nowMs: number): string =>
  step.state === 'running' ? runningWords(progress, nowMs) : step.state;

/** For a row of a list: the step, and the total percentage. */
export const briefly = ({ label, overall_percent }: AllocationProgress): string => `${label}, ${overall_percent}%`;

export const inFull = (progress: AllocationProgress): string =>
  `Step ${progress.step_number} of ${progress.step_count}, ${progress.overall_percent}% complete`;
