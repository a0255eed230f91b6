/** PostgreSQL on a file system that is really full. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { requires } from '../../../tools/test/requires.ts';
import { startTestApp } from '../../test/app.ts';
import { until } from '../../test/until.ts';
import { startEmbeddedPostgres } from '../ports/postgres/embedded.ts';
import { createDatabase, PLATFORM } from './client.ts';
import { APP_ROLE, migrate } from './migrate.ts';

const DISK_BYTES = 512 * 1024 * 1024;
const PIECE = Buffer.alloc(4_096);
const CREATES_MAX = 2_000;

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

it('while the volume of the database is full changes are 503 and leave nothing behind, reads go on, and with space changes do', {
  skip: requires('root'),
}, async () => {
  const disk = mkdtempSync(join(tmpdir(), 'gpuaas-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', disk]);
  chmodSync(disk, 0o1777);
  t.after(async () => {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });
  const postgres = await startEmbeddedPostgres({ dataDir: join(disk, 'data'), durability: 'safe' });
  t.after(() => postgres.stop());
  const ownerUrl = postgres.url;
  await migrate({ url: ownerUrl, log: silentLog() });
  const database = createDatabase({ url: ownerUrl, role: APP_ROLE, log: silentLog(), poolMax: 4 });
  t.after(() => database.end());
  const app = await startTestApp(
    t,
    { roles: ['gpuaas-api'] },
    { db: { ownerUrl, url: ownerUrl, database, drop: async () => {} } },
  );
  const ada = await app.user('ada');
  const projects = `/api/v1/organizations/${ada.organization_id}/projects`;
  const create = (name: string, key: string = randomUUID()) =>
    ada.post(projects, { name, display_name: 'x'.repeat(100) }, { 'idempotency-key': key });
  const named = async (name: string): Promise<number> =>
    (
      await database.read(PLATFORM, (reader) =>
        reader.query<{ count: number }>('select count(*) as count from projects where name = $1', [name]),
      )
    ).rows[0]?.count ?? 0;
  const newName = () => `p-${randomUUID().slice(0, 8)}`;
  assert.equal((await create(newName())).status, 201);

  const filler = join(disk, 'filler');
  const file = openSync(filler, 'w');
  assert.throws(
    () => {
      for (;;) writeSync(file, PIECE);
    },
    (err: NodeJS.ErrnoException) => err.code === 'ENOSPC',
  );
  closeSync(file);
  // Pages that exist take some more rows.
  let refused = { name: '', key: '' };
  for (let count = 0; refused.name === ''; count++) {
    assert.ok(count < CREATES_MAX, 'the volume is not full');
    const [name, key] = [newName(), randomUUID()];
    const { status, body } = await create(name, key);
    if (status === 201) continue;
    assert.deepEqual([status, body.code, body.retryable], [503, 'unavailable', true], JSON.stringify(body));
    refused = { name, key };
  }
  assert.equal(await named(refused.name), 0);
  assert.equal((await ada.get(projects)).status, 200, 'reads go on');

  rmSync(filler);
  await until('changes to be accepted', async () => (await create(newName())).status === 201);
  assert.equal((await create(refused.name, refused.key)).status, 201);
  assert.equal(await named(refused.name), 1);
});
