/**
 * What is said while something is under way: which step, how far, since when and how long it usually takes. Nothing is shown
 * as working without the time that it has been working.
 */
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { span } from '../../format/time.ts';

export type Work = 'launch' | 'power' | 'cleanup';
type Step = Readonly<{ step: string; label: string }>;

const step = (name: string, label: string): Step => ({ step: name, label });
const COPY = step('cloneImage', 'Copy the image');
const STOP = step('stopVm', 'Stop the machine');
const BOOT = step('awaitReady', 'Boot');
const START = [step('startVm', 'Start the machine'), BOOT];
const HAND_OVER = step('settleOn', 'Hand it over');

/** The steps that each workflow takes when nothing goes wrong. */
const PATHS: Readonly<Record<string, readonly Step[]>> = {
  'provision-slice': [step('leaseBundle', 'Set the GPUs aside'), COPY, ...START, step('activate', 'Hand it over')],
  'provision-baremetal': [step('provisionUser', 'Set up access'), step('activate', 'Hand it over')],
  'stop-slice': [STOP, step('settleOff', 'Keep it for you')],
  'start-slice': [...START, HAND_OVER],
  'reboot-slice': [step('rebootVm', 'Reboot the machine'), BOOT, HAND_OVER],
  'reinstall-slice': [STOP, COPY, ...START, HAND_OVER],
  'release-allocation': [
    step('stopRuntime', 'Stop what runs'),
    step('wipe', 'Erase the disks'),
    step('prove', 'Check the erasure'),
  ],
};

export const workOf = (workflow: string): Work | 'other' => {
  if (workflow.startsWith('provision-')) return 'launch';
  if (workflow === 'release-allocation') return 'cleanup';
  return ['stop-slice', 'start-slice', 'reboot-slice', 'reinstall-slice'].includes(workflow) ? 'power' : 'other';
};

const POWER_MOVING: readonly string[] = ['stopping', 'starting', 'rebooting', 'reinstalling'];
const POWER_TITLES: Readonly<Record<string, string>> = {
  stopping: 'Stopping the machine',
  starting: 'Starting the machine',
  rebooting: 'Rebooting the machine',
  reinstalling: 'Installing it anew',
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
  return progress !== null && workOf(progress.workflow) === 'cleanup' ? 'cleanup' : null;
};

export const workTitle = (facts: Facts, work: Work): string => {
  if (work === 'launch') return 'Starting it';
  if (work === 'cleanup') return 'Giving it back: wiping its disks';
  return POWER_TITLES[facts.power?.state ?? ''] ?? 'Changing its power';
};

/** Since when, by the clock of the server. */
export const workSince = (facts: Facts, work: Work): string => {
  if (work === 'launch') return facts.created_at;
  if (work === 'power') return facts.power?.since ?? facts.state_since;
  return facts.state === 'releasing' ? (facts.release_requested_at ?? facts.state_since) : facts.state_since;
};

export type ShownStep = Readonly<{
  key: string;
  label: string;
  is: 'done' | 'now' | 'to come';
  /** What a step that is done took. */
  took_ms: number | null;
}>;

/** What the steps that are over took, in this run and none before it. */
const tookOf = (timeline: readonly TimelineEntry[], workflow: string, name: string, sinceMs: number): number | null => {
  const mine = timeline.filter(
    (one) => one.workflow === workflow && one.step === name && Date.parse(one.finished_at) >= sinceMs,
  );
  const [first, last] = [mine[0], mine.at(-1)];
  return first === undefined || last === undefined
    ? null
    : Math.max(0, Date.parse(last.finished_at) - Date.parse(first.started_at));
};

/** The named steps, as far as they are known here; a path of another length is one that this page does not know. */
export const stepsOf = (
  progress: NonNullable<Allocation['progress']>,
  timeline: readonly TimelineEntry[],
  since: string,
): readonly ShownStep[] => {
  const path = PATHS[progress.workflow] ?? [];
  const at = path.findIndex((one) => one.step === progress.step);
  if (at === -1 || path.length !== progress.step_count)
    return [{ key: progress.step, label: progress.label, is: 'now', took_ms: null }];
  return path.map((one, index) => ({
    key: one.step,
    label: index === at ? progress.label : one.label,
    is: index < at ? 'done' : index === at ? 'now' : 'to come',
    took_ms: index < at ? tookOf(timeline, progress.workflow, one.step, Date.parse(since)) : null,
  }));
};

/** `62 %, 12 s so far, usually 40 s`: what is known of the step that runs. */
export const stepWords = (progress: NonNullable<Allocation['progress']>, nowMs: number): string => {
  const elapsedMs = Math.max(0, nowMs - Date.parse(progress.started_at));
  const { percent, bytes_per_s: speed, expected_s: expected } = progress;
  const isLate = expected !== null && elapsedMs > expected * 1_500;
  return [
    percent === null ? null : `${percent} %`,
    speed === null ? null : `${bytes(speed)}/s`,
    `${span(elapsedMs)} so far`,
    expected === null ? null : `usually ${span(expected * 1000)}${isLate ? ', longer than usual' : ''}`,
  ]
    .filter((part) => part !== null)
    .join(', ');
};

/** For a row of a list: the step, and the percent of the whole. */
export const briefly = ({ label, overall_percent }: NonNullable<Allocation['progress']>): string =>
  `${label}, ${overall_percent} %`;

export const inFull = (progress: NonNullable<Allocation['progress']>): string =>
  `Step ${progress.step_number} of ${progress.step_count}, ${progress.overall_percent} % of all`;
