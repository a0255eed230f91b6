/**
 * Where the work on an allocation is, in words and numbers for its tenant. The steps of a workflow that lead somewhere
 * are its path; giving up is not progress. How much a step weighs in the whole is what it took lately, so that the
 * whole moves evenly; a step without host work weighs nothing.
 */
type Shape = 'baremetal' | 'gpu_slice';
type Step = Readonly<{ step: string; label: string; kind: Readonly<Record<Shape, string>> | null }>;

const both = (kind: string): Step['kind'] => ({ gpu_slice: kind, baremetal: kind });

const COPY: Step = { step: 'cloneImage', label: 'Copy the image', kind: both('slice.image_clone') };
const BOOT: Step = { step: 'awaitReady', label: 'Boot', kind: both('slice.vm_readiness') };
const START: readonly Step[] = [{ step: 'startVm', label: 'Start the machine', kind: both('slice.vm_start') }, BOOT];

/** For users: nothing that names a host, a device or an address. */
const PATHS: Readonly<Record<string, readonly Step[]>> = {
  'provision-slice': [
    { step: 'leaseBundle', label: 'Set the GPUs aside', kind: both('slice.bundle_lease') },
    COPY,
    ...START,
    { step: 'activate', label: 'Hand it over', kind: null },
  ],
  'provision-baremetal': [
    { step: 'provisionUser', label: 'Set up access', kind: both('allocation.provision_user') },
    { step: 'activate', label: 'Hand it over', kind: null },
  ],
  'stop-slice': [
    { step: 'stopVm', label: 'Stop the machine', kind: both('slice.vm_stop') },
    { step: 'settleOff', label: 'Keep it for you', kind: null },
  ],
  'start-slice': [...START, { step: 'settleOn', label: 'Hand it over', kind: null }],
  'reboot-slice': [
    { step: 'rebootVm', label: 'Reboot the machine', kind: both('slice.vm_reboot') },
    BOOT,
    { step: 'settleOn', label: 'Hand it over', kind: null },
  ],
  'reinstall-slice': [
    { step: 'stopVm', label: 'Stop the machine', kind: both('slice.vm_stop') },
    COPY,
    ...START,
    { step: 'settleOn', label: 'Hand it over', kind: null },
  ],
  'release-allocation': [
    {
      step: 'stopRuntime',
      label: 'Stop what runs',
      kind: { gpu_slice: 'slice.vm_stop', baremetal: 'allocation.deprovision_user' },
    },
    { step: 'wipe', label: 'Erase the disks', kind: { gpu_slice: 'slice.cleanup', baremetal: 'node.cleanup' } },
    { step: 'prove', label: 'Check the erasure', kind: null },
  ],
};

const ASIDE: Readonly<Record<string, string>> = {
  abandon: 'Give it up',
  block: 'Leave it to an operator',
  leaveUnknown: 'Leave it open',
  tell: 'Tell the machine its keys',
  giveUp: 'Give it up',
  rebind: 'Bind the devices anew',
  wipe: 'Erase the disks',
  awaitFree: 'Wait until nobody is on the node',
  rediscover: 'Discover the hardware',
};

export const PROGRESS_WORKFLOWS: readonly string[] = Object.keys(PATHS);
export const PROGRESS_KINDS: readonly string[] = [
  ...new Set(
    Object.values(PATHS)
      .flat()
      .flatMap(({ kind }) => (kind === null ? [] : Object.values(kind))),
  ),
];

/** A step of any workflow in words; its own name where there are none. */
export const stepLabel = (workflow: string, step: string): string =>
  PATHS[workflow]?.find((one) => one.step === step)?.label ?? ASIDE[step] ?? step;

/** Whether a host does the work of a step. */
export const isHostStep = (workflow: string, step: string): boolean =>
  step === 'tell' || PATHS[workflow]?.some((one) => one.step === step && one.kind !== null) === true;

export type ProgressFacts = Readonly<{
  workflow: string;
  step: string;
  capacity_shape: Shape;
  started_at: string;
  percent: number | null;
  bytes_per_s: number | null;
  /** What tasks took lately, as a median in seconds, by kind. */
  medians_s: Readonly<Record<string, number>>;
}>;

export type Progress = Readonly<{
  workflow: string;
  step: string;
  label: string;
  step_number: number;
  step_count: number;
  percent: number | null;
  bytes_per_s: number | null;
  started_at: string;
  expected_s: number | null;
  overall_percent: number;
}>;

/** Nobody knows that it is nearly done when it takes longer than usual. */
const FRACTION_MAX = 0.95;
const OVERALL_MAX = 99;

/** How much of the step is done: as the host says, else by the time it usually takes. */
const fractionOf = ({ percent, started_at }: ProgressFacts, median: number | undefined, nowMs: number): number => {
  if (percent !== null) return percent / 100;
  if (median === undefined || median <= 0) return 0;
  return Math.min(FRACTION_MAX, Math.max(0, (nowMs - Date.parse(started_at)) / 1000 / median));
};

export const progressOf = (facts: ProgressFacts, nowMs: number): Progress | null => {
  const path = PATHS[facts.workflow] ?? [];
  const index = path.findIndex(({ step }) => step === facts.step);
  const at = path[index];
  if (at === undefined) return null;
  const medianOf = ({ kind }: Step): number | undefined =>
    kind === null ? 0 : facts.medians_s[kind[facts.capacity_shape]];
  const known = path.flatMap((step) => (step.kind === null ? [] : (medianOf(step) ?? [])));
  const usual = known.length === 0 ? 1 : known.reduce((sum, seconds) => sum + seconds, 0) / known.length;
  const weights = path.map((step) => medianOf(step) ?? usual);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const median = at.kind === null ? undefined : medianOf(at);
  const done = sum(weights.slice(0, index)) + sum(weights.slice(index, index + 1)) * fractionOf(facts, median, nowMs);
  return {
    workflow: facts.workflow,
    step: at.step,
    label: at.label,
    step_number: index + 1,
    step_count: path.length,
    percent: facts.percent,
    bytes_per_s: facts.bytes_per_s,
    started_at: facts.started_at,
    expected_s: median === undefined ? null : Math.max(1, Math.round(median)),
    overall_percent: Math.min(OVERALL_MAX, Math.floor((done / Math.max(sum(weights), Number.EPSILON)) * 100)),
  };
};
