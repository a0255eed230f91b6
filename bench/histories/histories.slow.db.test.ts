import '../../server/test/own-cluster.ts';
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { createBase } from './base.ts';
import { notReached, runHistories } from './histories.ts';
import { RARE } from './reached.ts';

const COMMANDS = 100;
const HISTORIES = 60;
/** The others follow a random seed: every run plays histories that nobody has seen. */
const FIXED = 40;
const FIRST_FIXED = 11;
const SEED_MAX = 1_000_000;
/** A failure is reported with a part that a person can read, in the minutes that a failed run may take longer. */
const SHRINK_TRIES_MAX = 30;

test('random histories of tenants, operators and faults are clean, and reach every command and state', async (t) => {
  const random = randomInt(1_000, SEED_MAX);
  console.log(`Seeds from ${FIRST_FIXED} and from ${random}.`);
  const said: string[] = [];
  const done = await runHistories(await createBase(t), {
    seeds: Array.from({ length: HISTORIES }, (_, index) =>
      index < FIXED ? FIRST_FIXED + index : random + index - FIXED,
    ),
    length: COMMANDS,
    at_once: 4,
    shrink_tries_max: SHRINK_TRIES_MAX,
    say: (text) => void said.push(text),
  });
  assert.deepEqual(
    done.failures.map(({ seed }) => seed),
    [],
    said.join('\n'),
  );
  const missing = notReached(done);
  console.log(`Not reached this time: ${missing.join(', ') || 'nothing'}.`);
  assert.deepEqual(
    missing.filter((one) => !RARE.has(one)),
    [],
    'the driver reaches all that is not rare',
  );
});
