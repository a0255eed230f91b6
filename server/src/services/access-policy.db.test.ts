import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApp } from '../../test/app.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';

test('without a policy row an organization has the defaults as version 1; its first change adds a row', async (t) => {
  const app = await startTestApp(t);
  const owner = await app.user('owner');
  const url = `/api/v1/organizations/${owner.organization_id}/access-policy`;
  const change = (body: object, version: number) => owner.call('PATCH', url, body, { 'if-match': `"v${version}"` });
  const countRows = () =>
    app.db.database.read(PLATFORM, async (reader) => (await reader.query('select from access_policies')).rowCount);
  const defaults = must(await owner.get(url), 200).body;
  assert.deepEqual([defaults.version, await countRows()], [1, 0]);
  assert.equal((await change({ session_idle_s: 60 }, 7)).status, 412);
  assert.equal(await countRows(), 0);
  const changed = must(await change({ session_idle_s: 60 }, 1), 200).body;
  // The defaults without a row equal those of a new row.
  assert.deepEqual({ ...changed, updated_at: null }, { ...defaults, session_idle_s: 60, version: 2, updated_at: null });
  assert.equal((await change({ session_idle_s: 90 }, 1)).status, 412);
  assert.deepEqual(must(await owner.get(url), 200).body, changed);
  assert.equal((await change({ session_idle_s: 59 }, 2)).status, 400);
  assert.equal((await change({}, 2)).status, 400);
});
