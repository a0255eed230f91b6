import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createIdentityFile } from './identity-file.ts';

const change = (sequence: number) => ({
  ...{ chain: 'org_1', sequence, at: '2026-01-01T00:00:00Z', action: 'ssh_key.delete', target_kind: 'ssh_key' },
  ...{ target_id: 'key_1', actor_id: 'usr_1', organization_id: 'org_1' },
});

test('changes are read as they were appended, by their owner alone, and a half-written line is skipped', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'identities-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'below', 'heads.identities');
  const file = createIdentityFile(path);
  assert.deepEqual(await file.read(), []);
  await file.append([change(1), change(2)]);
  await appendFile(path, '{"chain":"org_1","seq');
  await file.append([change(3)]);
  await file.append([]);
  assert.deepEqual(await file.read(), [change(1), change(2), change(3)]);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test('a full file is renamed, a new one is begun, and all of them are read in their order', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'identities-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'heads.identities');
  const file = createIdentityFile(path, 300);
  const changes = Array.from({ length: 12 }, (_, n) => change(n + 1));
  for (const one of changes) await file.append([one]);
  assert.deepEqual((await readdir(dir)).toSorted().slice(0, 3), [
    'heads.identities',
    'heads.identities.000000000000001',
    'heads.identities.000000000000002',
  ]);
  for (const name of await readdir(dir)) assert.ok((await stat(join(dir, name))).size < 700, name);
  assert.deepEqual(await file.read(), changes);
});
