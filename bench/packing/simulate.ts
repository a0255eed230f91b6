/** A loss system: a job that fits starts immediately and ends after its duration; one that does not fit is lost. */
import { GPUS_PER_NODE, type Job, NODES } from './workload.ts';

export type Spot = Readonly<{ node: number; mask: number }>;

/** Has its own state of the fleet; `take` may refuse with null. */
export type PackingPolicy = Readonly<{
  take(gpus: number, at: number): Spot | null;
  give(spot: Spot): void;
}>;

export type Served = Readonly<{
  /** GPUs in use, integrated over the window. */
  gpuTime: number;
  /** Empty nodes, averaged over the window. */
  emptyNodes: number;
}>;

type Window = Readonly<{ from: number; to: number }>;
type Running = Readonly<{ until: number; gpus: number; spot: Spot | null }>;

/** A binary heap by end time. */
const endings = () => {
  const heap: Running[] = [];
  const at = (index: number): number => heap[index]?.until ?? Number.POSITIVE_INFINITY;
  const swap = (a: number, b: number): void => {
    const [first, second] = [heap[a], heap[b]];
    if (first && second) [heap[a], heap[b]] = [second, first];
  };
  return {
    first: (): number => at(0),
    push: (running: Running): void => {
      heap.push(running);
      for (let index = heap.length - 1; index > 0; ) {
        const parent = (index - 1) >> 1;
        if (at(parent) <= at(index)) break;
        swap(parent, index);
        index = parent;
      }
    },
    pop: (): Running | undefined => {
      swap(0, heap.length - 1);
      const first = heap.pop();
      for (let index = 0; ; ) {
        const left = 2 * index + 1;
        const child = at(left + 1) < at(left) ? left + 1 : left;
        if (at(index) <= at(child)) return first;
        swap(index, child);
        index = child;
      }
    },
  };
};

/** The integral of GPUs in use and of the number of empty nodes. */
const meter = (window: Window) => {
  let last = window.from;
  let gpuTime = 0;
  let emptyTime = 0;
  return {
    advance: (to: number, used: number, empty: number): void => {
      const until = Math.min(to, window.to);
      if (until <= last) return;
      gpuTime += used * (until - last);
      emptyTime += empty * (until - last);
      last = until;
    },
    read: (): Served => ({ gpuTime, emptyNodes: emptyTime / (window.to - window.from) }),
  };
};

type Fleet = Readonly<{
  start(job: Job): Spot | null | 'refused';
  end(spot: Spot | null): void;
  empty(used: number): number;
}>;

const run = (jobs: readonly Job[], window: Window, fleet: Fleet): Served => {
  const running = endings();
  const measured = meter(window);
  let used = 0;
  const endUntil = (time: number): void => {
    while (running.first() <= time) {
      measured.advance(running.first(), used, fleet.empty(used));
      const ended = running.pop();
      used -= ended?.gpus ?? 0;
      fleet.end(ended?.spot ?? null);
    }
    measured.advance(time, used, fleet.empty(used));
  };
  for (const job of jobs) {
    endUntil(job.at);
    const spot = used + job.gpus > NODES * GPUS_PER_NODE ? 'refused' : fleet.start(job);
    if (spot === 'refused') continue;
    used += job.gpus;
    running.push({ until: job.at + job.duration, gpus: job.gpus, spot });
  }
  endUntil(window.to);
  return measured.read();
};

export const simulate = (jobs: readonly Job[], window: Window, policy: PackingPolicy): Served => {
  const inUse = new Uint8Array(NODES);
  let empty = NODES;
  return run(jobs, window, {
    start: (job) => {
      const spot = policy.take(job.gpus, job.at);
      if (spot === null) return 'refused';
      const before = inUse[spot.node] ?? 0;
      if ((before & spot.mask) !== 0) throw new Error('a GPU was given twice');
      if (before === 0) empty -= 1;
      inUse[spot.node] = before | spot.mask;
      return spot;
    },
    end: (spot) => {
      if (spot === null) return;
      const after = (inUse[spot.node] ?? 0) & ~spot.mask;
      inUse[spot.node] = after;
      if (after === 0) empty += 1;
      policy.give(spot);
    },
    empty: () => empty,
  });
};

/** No nodes, only a number of GPUs: the result of free repacking. */
export const simulatePool = (jobs: readonly Job[], window: Window): Served =>
  run(jobs, window, {
    start: () => null,
    end: () => undefined,
    empty: (used) => Math.floor((NODES * GPUS_PER_NODE - used) / GPUS_PER_NODE),
  });
