import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { createDatabase } from '../db/client.ts';
import { readMigrations } from '../db/migrate.ts';
import { createReadiness } from './readiness.ts';

it('a role that bypasses row-level security is not ready', async (t) => {
  const { database, ownerUrl } = await testDatabase({ after: (fn) => t.after(fn) });
  const last = (await readMigrations()).at(-1)?.name ?? '';
  assert.deepEqual(await createReadiness(database, last)(), { ready: true, checks: { database: 'ok', schema: 'ok' } });

  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  const { ready, checks } = await createReadiness(owner, last)();
  assert.equal(ready, false);
  assert.match(checks['database'] ?? '', /row-level security/);
});

it('a schema that lacks the last migration is not ready', async (t) => {
  const { database } = await testDatabase({ after: (fn) => t.after(fn) });
  const { ready, checks } = await createReadiness(database, '9999_future.sql')();
  assert.deepEqual([ready, checks['schema']], [false, 'migration 9999_future.sql is missing']);
});
