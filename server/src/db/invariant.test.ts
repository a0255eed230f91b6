import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { INVARIANTS } from './invariant.ts';

const RUNBOOK = join(import.meta.dirname, '../../../doc/operations/runbooks/invariants-violated.md');

test('the runbook names every invariant once, and no other', async () => {
  const table = (await readFile(RUNBOOK, 'utf8')).split('\n').filter((line) => line.startsWith('| '));
  const kinds = table.map((line) => line.split('|')[2] ?? '');
  const named = kinds.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]));
  assert.equal(named.length, new Set(named).size);
  assert.deepEqual(new Set(named), new Set(INVARIANTS.map(({ name }) => name)));
});
