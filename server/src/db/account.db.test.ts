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
  const none = { is_superuser: false, bypasses_rls: false, owns_tables: false, creates_roles: false };
  assert.deepEqual(await findAccountPowers(plain), { account: name, ...none });
  assert.equal((await findAccountPowers(bypassing)).bypasses_rls, true);
  // What an account does not have itself it may take from a role that it is a member of, also over several.
  await owner.query(`create role ${name}_group nologin in role ${name}_bypass`);
  t.after(() => owner.query(`drop role ${name}_group`));
  const { rows } = await owner.query<{ owner: string }>('select current_user as owner');
  const indirect = {
    is_superuser: await account('_super', `in role gpuaas_app, "${rows[0]?.owner}"`),
    bypasses_rls: await account('_member', `noinherit in role gpuaas_app, ${name}_group`),
    creates_roles: await account('_creator', 'createrole in role gpuaas_app'),
  };
  for (const [power, url] of Object.entries(indirect))
    assert.equal((await findAccountPowers(url))[power as keyof typeof indirect], true, power);
  // Any holder of the connection can reset the application role taken after signing in.
  for (const [database_url, app_database_url] of [
    [db.ownerUrl, null],
    [db.url, null],
    [plain, bypassing],
    [db.ownerUrl, plain],
    [plain, indirect.bypasses_rls],
    [plain, indirect.creates_roles],
  ] as const)
    await assert.rejects(
      startTestApp(t, { mode: 'production', database_url, app_database_url }, { db }),
      /signs in as \w+, which (owns the tables|bypasses row-level security|creates roles)/,
    );
  await startTestApp(t, { mode: 'production', database_url: plain, roles: ['gpuaas-outbox-relay'] }, { db });
});
