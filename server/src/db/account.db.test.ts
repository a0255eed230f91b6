import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { findAccountPowers } from './account.ts';

it('production starts with an application role, and refuses one that bypasses row-level security', async (context) => {
  const closers: (() => Promise<unknown>)[] = [];
  context.after(async () => {
    for (const close of closers) await close();
  });
  const t = { after: (fn: () => Promise<unknown>) => void closers.unshift(fn) };
  const db = await testDatabase(t);
  const owner = new Client({ connectionString: db.ownerUrl });
  await owner.connect();
  t.after(() => owner.end());
  const name = `app_${randomBytes(6).toString('hex')}`;
  const account = async (suffix: string, rights: string): Promise<string> => {
    await owner.query(`create role ${name}${suffix} login password 'x' ${rights}`);
    t.after(() => owner.query(`drop role ${name}${suffix}`));
    const url = new URL(db.ownerUrl);
    url.username = `${name}${suffix}`;
    url.password = 'x';
    return url.href;
  };
  const plain = await account('', 'in role gpuaas_app');
  const bypassing = await account('_bypass', 'bypassrls in role gpuaas_app');
  assert.deepEqual(await findAccountPowers(plain), {
    ...{ account: name, is_superuser: false, bypasses_rls: false, owns_tables: false },
  });
  assert.equal((await findAccountPowers(bypassing)).bypasses_rls, true);
  // Any holder of the connection can reset the application role taken after signing in.
  for (const [database_url, app_database_url] of [
    [db.ownerUrl, null],
    [db.url, null],
    [plain, bypassing],
    [db.ownerUrl, plain],
  ] as const)
    await assert.rejects(
      startTestApp(t, { mode: 'production', database_url, app_database_url }, { db }),
      /signs in as \w+, which (owns the tables|bypasses row-level security)/,
    );
  await startTestApp(t, { mode: 'production', database_url: plain, roles: ['gpuaas-outbox-relay'] }, { db });
});
