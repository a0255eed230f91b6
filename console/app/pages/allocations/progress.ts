/**
 * What is said while something is under way: which step, how far, since when and how long it usually takes. Nothing is shown
 * as working without the time that it has been working.
 */
import type { Allocation, AllocationProgress, AllocationProgressStep } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { span } from '../../format/time.ts';

export type Work = Extract<AllocationProgress['phase'], 'launch' | 'power' | 'cleanup'>;

const POWER_MOVING: readonly string[] = ['stopping', 'starting', 'rebooting', 'reinstalling'];
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

/** What is being done to it now, or null where nothing is. */
export const workNow = (facts: Facts): Work | null => {
  const { state, progress, power } = facts;
  if (state === 'requested' || state === 'provisioning') return 'launch';
  if (state === 'releasing') return 'cleanup';
  if (state === 'active') return power !== null && POWER_MOVING.includes(power.state) ? 'power' : null;
  // What has failed is cleaned up as well; it stays failed.
  return progress?.phase === 'cleanup' ? 'cleanup' : null;
};

export const workTitle = (facts: Facts, work: Work): string => {
  if (work === 'launch') return 'Launching';
  if (work === 'cleanup') return 'Releasing: wiping disks';
  return POWER_TITLES[facts.power?.state ?? ''] ?? 'Changing power state';
};

/** Since when, by the clock of the server. */
export const workSince = (facts: Facts, work: Work): string => {
  if (work === 'launch') return facts.created_at;
  if (work === 'power') return facts.power?.since ?? facts.state_since;
  return facts.state === 'releasing' ? (facts.release_requested_at ?? facts.state_since) : facts.state_since;
};

/** `62 %, 12 s so far, usually 40 s`: what is known of the step that runs. */
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

/** What is said beside a step: of the one that runs everything that is known, of the others their state. */
export const stepWords = (step: AllocationProgressStep, progress: AllocationProgress, nowMs: number): string =>
  step.state === 'running' ? runningWords(progress, nowMs) : step.state;

/** For a row of a list: the step, and the percent of the whole. */
export const briefly = ({ label, overall_percent }: AllocationProgress): string => `${label}, ${overall_percent}%`;

export const inFull = (progress: AllocationProgress): string =>
  `Step ${progress.step_number} of ${progress.step_count}, ${progress.overall_percent}% complete`;
