/** Waits for a condition instead of a time, and names the condition when it does not become true. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** Long enough to leave the CPU to the awaited work. */
const LOOK_AGAIN_MS = 5;

export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> => {
  for (const deadline = performance.now() + withinMs; !(await condition()); await pause(LOOK_AGAIN_MS))
    assert.ok(performance.now() < deadline, `${what} within ${withinMs} ms`);
};
