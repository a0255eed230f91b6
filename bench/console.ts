/**
 * The slot map of 1,000 nodes and 8,000 slots in a real browser, compared with a bare table of as many tiles: the frame
 * time while scrolling through all of it. It also prints the time until the first row. A second line counts long tasks
 * of more than 200 ms; the goal is zero.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requires } from '../tools/test/requires.ts';
import { median, round } from './pairs.ts';
import type { Bench, Measurement } from './types.ts';

const MEASURE = fileURLToPath(new URL('../console/test/measure-slot-map.ts', import.meta.url));

type Seen = Readonly<{
  first_paint_ms: number;
  frame_p50_ms: number;
  frame_p95_ms: number;
  frame_max_ms: number;
  long_tasks: number;
}>;
type Measured = Readonly<{ ours: readonly Seen[]; bare: readonly Seen[] }>;

let measured: Promise<Measured> | undefined;
const measure = (): Promise<Measured> => {
  measured ??= promisify(execFile)(process.execPath, [MEASURE]).then(({ stdout }) => JSON.parse(stdout) as Measured);
  return measured;
};

const scrollBench: Bench = {
  name: 'console',
  lacks: () => requires('chromium'),
  run: async (): Promise<Measurement> => {
    const { ours, bare } = await measure();
    const mine = median(ours.map(({ frame_p95_ms }) => frame_p95_ms));
    const reference = median(bare.map(({ frame_p95_ms }) => frame_p95_ms));
    const longest = round(Math.max(...ours.map(({ frame_max_ms }) => frame_max_ms)));
    const half = round(median(ours.map(({ frame_p50_ms }) => frame_p50_ms)));
    const firstRow = round(median(ours.map(({ first_paint_ms }) => first_paint_ms)));
    return {
      name: 'console',
      ratio: round(mine / reference),
      // A bare table scrolls without any script: the ratio is our cost, frames and long tasks show whether scrolling is
      // smooth.
      goal: null,
      reference: `${round(reference)} ms a frame (95 %) of a bare table`,
      ours: `${round(mine)} ms a frame (95 %), ${half} (50 %), ${longest} at most; first row after ${firstRow} ms`,
      pairs: ours.length,
    };
  },
};

const longTaskBench: Bench = {
  name: 'console',
  lacks: () => requires('chromium'),
  run: async (): Promise<Measurement> => {
    const { ours } = await measure();
    const count = ours.reduce((sum, { long_tasks }) => sum + long_tasks, 0);
    return {
      name: 'console-long-tasks',
      ratio: count,
      goal: '<=0',
      reference: 'none over 200 ms',
      ours: `${count}`,
      pairs: ours.length,
    };
  },
};

export const consoleBenches: readonly Bench[] = [scrollBench, longTaskBench];
