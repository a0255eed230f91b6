import assert from 'node:assert/strict';

/** Generated cases that never reach the point of a property prove nothing: each count must reach `least`. */
export const assertReached = (counts: Readonly<Record<string, number>>, least = 20): void => {
  for (const [what, count] of Object.entries(counts)) assert.ok(count >= least, `${what}: only ${count} cases`);
};
