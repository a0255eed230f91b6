/**
 * Scheduled changes, in order of time. There is no timer: the next read applies everything that is due, each at its own
 * time, so that a page that was asleep for an hour sees the same history as one that was open.
 */
export type Agenda = Readonly<{
  /** The current time of the simulation: that of the change being applied, else of the clock. */
  now(): number;
  /** Calls back `ms` from now. */
  after(ms: number, work: () => void): void;
  /** Applies everything that is due; returns whether anything was. */
  catchUp(): boolean;
}>;

type Entry = Readonly<{ at: number; order: number; work: () => void }>;

export const createAgenda = (clock: () => number): Agenda => {
  const entries: Entry[] = [];
  let happening: number | null = null;
  let order = 0;
  const now = (): number => happening ?? clock();
  return {
    now,
    after: (ms, work) => {
      const at = now() + ms;
      order += 1;
      // Kept sorted: few changes are scheduled at once.
      const index = entries.findLastIndex((entry) => entry.at <= at) + 1;
      entries.splice(index, 0, { at, order, work });
    },
    catchUp: () => {
      if (happening !== null) return false;
      const until = clock();
      let moved = false;
      for (let entry = entries[0]; entry !== undefined && entry.at <= until; entry = entries[0]) {
        entries.shift();
        happening = entry.at;
        moved = true;
        try {
          entry.work();
        } finally {
          happening = null;
        }
      }
      return moved;
    },
  };
};
