/** Waits for a condition instead of for a time, and says what it waited for when it does not come. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** Long enough to leave the processor to what is waited for. */
const LOOK_AGAIN_MS = 5;

export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> => {
  for (const deadline = performance.now() + withinMs; !(await condition()); await pause(LOOK_AGAIN_MS))
    assert.ok(performance.now() < deadline, `${what} within ${withinMs} ms`);
};
