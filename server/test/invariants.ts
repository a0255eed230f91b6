/** The end of every test that touches placement: all invariants of the database hold. */
import assert from 'node:assert/strict';
import { type Database, PLATFORM } from '../src/db/client.ts';
import { INVARIANTS, listViolations } from '../src/db/invariant.ts';

export const findViolations = (database: Database) =>
  database.read(PLATFORM, async (reader) =>
    (await Promise.all(INVARIANTS.map((invariant) => listViolations(reader, invariant)))).flat(),
  );

export const assertInvariants = async (database: Database): Promise<void> =>
  assert.deepEqual(await findViolations(database), [], 'invariants');
