/**
 * The steps of a launch or a release as they happen, on standard error. A completed step is one line with its result
 * and the duration reported by the server. The running step is a line that updates in place on a terminal, and
 * elsewhere one line when it starts. Time is an argument, so nothing here depends on the clock.
 */
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { clean, truncate } from './clean.ts';
import type { Screen } from './io.ts';
import { shortDuration } from './table.ts';

type Progress = NonNullable<Allocation['progress']>;
export type FinishedStep = Readonly<{ label: string; is_ok: boolean; duration_ms: number; detail: string | null }>;

const ENDS: Readonly<Record<string, boolean | undefined>> = {
  next: true,
  done: true,
  failed: false,
  stuck: false,
};
const LABEL_WIDTH = 18;
const BAR_WIDTH = 12;
const FRAMES = ['-', '\\', '|', '/'];

/** The newest run of the workflow, from its first entry. */
const newestRun = (entries: readonly TimelineEntry[], workflow: string): readonly TimelineEntry[] => {
  const own = entries.filter((entry) => entry.workflow === workflow);
  return own.slice(
    Math.max(
      0,
      own.findLastIndex(({ sequence }) => sequence === 1),
    ),
  );
};

/** Completed steps of a run. A step that waited or was retried has several entries and one line. */
export const finishedSteps = (run: readonly TimelineEntry[]): FinishedStep[] => {
  const groups: TimelineEntry[][] = [];
  for (const entry of run) {
    const last = groups.at(-1);
    if (last?.[0]?.step === entry.step) last.push(entry);
    else groups.push([entry]);
  }
  return groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    const is_ok = ENDS[last?.outcome ?? ''];
    if (first === undefined || last === undefined || is_ok === undefined) return [];
    const duration_ms = Date.parse(last.finished_at) - Date.parse(first.started_at);
    return [{ label: last.label, is_ok, duration_ms, detail: is_ok ? null : last.detail }];
  });
};

const took = (ms: number): string => (ms < 1_000 ? 'under 1s' : shortDuration(ms));

export const finishedLine = ({ label, is_ok, duration_ms, detail }: FinishedStep): string =>
  [
    `${is_ok ? '✓' : '✗'} ${clean(label).padEnd(LABEL_WIDTH)}`,
    took(duration_ms),
    ...(detail === null ? [] : [clean(detail)]),
  ]
    .join('  ')
    .trimEnd();

const bar = (percent: number): string => {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${percent} %`;
};

const rate = (bytes: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const shown = bytes / 1000 ** power;
  return `${shown >= 100 || power === 0 ? Math.round(shown) : shown.toFixed(1)} ${units[power]}/s`;
};

/** The running step: progress, speed, elapsed time and expected duration. */
export const liveLine = (progress: Progress, nowMs: number): string => {
  const elapsed = shortDuration(nowMs - Date.parse(progress.started_at));
  return [
    clean(progress.label).padEnd(LABEL_WIDTH),
    ...(progress.percent === null ? [] : [bar(progress.percent)]),
    ...(progress.bytes_per_s === null ? [] : [rate(progress.bytes_per_s)]),
    progress.expected_s === null ? elapsed : `${elapsed} of ~${shortDuration(progress.expected_s * 1000)}`,
    `${progress.step_number}/${progress.step_count}`,
    ...(progress.note === null ? [] : [clean(progress.note)]),
  ].join('  ');
};

/** For a log: that a step has started, printed once. */
export const beginLine = ({ label, step_number, step_count, expected_s }: Progress): string =>
  `- ${clean(label)}, step ${step_number} of ${step_count}${
    expected_s === null ? '' : `, about ${shortDuration(expected_s * 1000)}`
  }`;

export type StepsOptions = Readonly<{
  /** Without it only the running step is shown. */
  readTimeline?: (() => Promise<readonly TimelineEntry[]>) | undefined;
  /** The text while no step is running. */
  describe: (allocation: Allocation) => string;
  stream: Pick<Screen, 'write' | 'isTTY' | 'columns'>;
  now?: () => number;
}>;

export type Steps = Readonly<{ update(allocation: Allocation, hasEnded: boolean): Promise<void>; end(): void }>;

export const createSteps = ({ readTimeline, describe, stream, now = Date.now }: StepsOptions): Steps => {
  let shown: Allocation | undefined;
  let workflow: string | undefined;
  let key: string | undefined;
  let frame = 0;
  let told = { run: '', steps: 0 };
  const erase = () => (stream.isTTY ? '\r\u001b[2K' : '');
  const draw = () => {
    if (shown === undefined || !stream.isTTY) return;
    const text = shown.progress === null ? clean(describe(shown)) : liveLine(shown.progress, now());
    const line = `${FRAMES[frame++ % FRAMES.length]} ${text}`;
    stream.write(`${erase()}${truncate(line, (stream.columns || 80) - 1)}`);
  };
  const timer = stream.isTTY ? setInterval(draw, 200) : undefined;
  const writeLine = (line: string) => stream.write(`${erase()}${line}\n`);

  /** Lines of steps that ended since the last poll. A new run starts its own. */
  const printFinished = async () => {
    if (workflow === undefined) return;
    const run = newestRun((await readTimeline?.()) ?? [], workflow);
    const steps = finishedSteps(run);
    const begun = `${workflow} ${run[0]?.started_at}`;
    for (const step of steps.slice(begun === told.run ? told.steps : 0)) writeLine(finishedLine(step));
    told = { run: begun, steps: steps.length };
  };

  return {
    update: async (allocation, hasEnded) => {
      const { progress, state } = allocation;
      const next = progress === null ? state : `${progress.workflow} ${progress.step}`;
      if (next !== key) {
        const isFirst = key === undefined;
        key = next;
        // The previous run is finished before the next one is shown.
        if (!isFirst) await printFinished();
        if (progress !== null && progress.workflow !== workflow) {
          workflow = progress.workflow;
          if (progress.step_number > 1) await printFinished();
        }
        if (!stream.isTTY && !hasEnded)
          writeLine(progress === null ? clean(describe(allocation)) : beginLine(progress));
      }
      shown = hasEnded ? undefined : allocation;
      draw();
    },
    end: () => {
      clearInterval(timer);
      shown = undefined;
      stream.write(erase());
    },
  };
};
