/**
 * Concurrency of work. Work names its resources; work on the same resource runs in order, other work in parallel.
 * Exclusive work waits for everything before it and delays everything after it.
 */
export type Work = Readonly<{
  id: string;
  keys: readonly string[];
  is_exclusive: boolean;
  run: () => Promise<void>;
}>;

export type Queue = Readonly<{
  add(work: Work): void;
  /** True if it was still waiting and is now removed. */
  remove(id: string): boolean;
  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void>;
  /** No waiting work is started any more. */
  close(): void;
}>;

export const createQueue = (concurrentMax: number): Queue => {
  const waiting: Work[] = [];
  const running = new Set<Work>();
  const idlers: (() => void)[] = [];
  let isClosed = false;

  const isFree = (work: Work, before: readonly Work[]): boolean => {
    const others = [...running, ...before];
    if (work.is_exclusive) return others.length === 0;
    return !others.some((other) => other.is_exclusive || other.keys.some((key) => work.keys.includes(key)));
  };

  const pump = (): void => {
    for (let i = 0; i < waiting.length && !isClosed && running.size < concurrentMax; ) {
      const work = waiting[i];
      if (work === undefined || !isFree(work, waiting.slice(0, i))) {
        i += 1;
        continue;
      }
      waiting.splice(i, 1);
      running.add(work);
      const leave = (): void => {
        running.delete(work);
        pump();
      };
      work.run().then(leave, leave);
    }
    if (running.size === 0 && (waiting.length === 0 || isClosed)) for (const tell of idlers.splice(0)) tell();
  };

  return {
    add: (work) => {
      waiting.push(work);
      pump();
    },
    remove: (id) => {
      const index = waiting.findIndex((work) => work.id === id);
      if (index === -1) return false;
      waiting.splice(index, 1);
      pump();
      return true;
    },
    idle: () =>
      new Promise((resolve) => {
        idlers.push(resolve);
        pump();
      }),
    close: () => {
      isClosed = true;
      pump();
    },
  };
};
