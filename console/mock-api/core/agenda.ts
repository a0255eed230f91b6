/**
 * What will happen, in order of time. Nothing runs by itself: whoever reads the world first lets happen what is due, each
 * thing at its own moment, so that a page that was asleep for an hour finds the same history as one that watched.
 */
export type Agenda = Readonly<{
  /** The moment that the world is at: of what is happening now, else of the clock. */
  now(): number;
  /** Calls back `ms` from now. */
  after(ms: number, work: () => void): void;
  /** Lets everything happen that is due; tells whether anything did. */
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
      // Kept sorted: few things are ever planned at once.
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
