/** Waits for a condition instead of for a time, and says what it waited for when it does not come. */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';

export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> => {
  for (const deadline = performance.now() + withinMs; !(await condition()); await turn())
    assert.ok(performance.now() < deadline, `${what} within ${withinMs} ms`);
};
