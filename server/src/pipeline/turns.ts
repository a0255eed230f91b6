/**
 * Shares a scarce resource: at most `max` at once, and one at a time per key. The next turn goes to the key that has
 * waited longest, so a key with thousands in line delays its own work and not that of others.
 */
export type Turns = <T>(key: string, fn: () => Promise<T>) => Promise<T>;

export const createTurns = (max: number): Turns => {
  const lines = new Map<string, (() => void)[]>();
  const ready: (() => void)[] = [];
  let busy = 0;

  const enter = (key: string): Promise<void> => {
    const line = lines.get(key);
    return new Promise((resolve) => {
      if (line !== undefined) return void line.push(resolve);
      lines.set(key, []);
      begin(resolve);
    });
  };
  const begin = (start: () => void): void => {
    if (busy === max) return void ready.push(start);
    busy += 1;
    start();
  };
  const leave = (key: string): void => {
    busy -= 1;
    const next = lines.get(key)?.shift();
    if (next === undefined) lines.delete(key);
    else ready.push(next);
    const start = ready.shift();
    if (start !== undefined) begin(start);
  };

  return async (key, fn) => {
    await enter(key);
    try {
      return await fn();
    } finally {
      leave(key);
    }
  };
};
