import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { startRun } from '../workflows/engine/run.ts';
import { wipeDisk } from '../workflows/wipe-disk.ts';

describe('a server on a schema that is older than its build', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  it('is alive and not ready, claims no run and refuses requests with 503, and starts without a restart once it is migrated', async () => {
    const db = await testDatabase(t);
    const sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    t.after(() => sql.end());
    const { id } = await db.database.write(PLATFORM, (tx) =>
      startRun(tx, {
        ...{ workflow: wipeDisk, subject_id: 'dsk_none', correlation_id: 'cor_test' },
        ...{ organization_id: null, project_id: null },
      }),
    );
    const stateOf = async () =>
      (await sql.query('select state, lease_number from workflow_runs where id = $1', [id])).rows;
    const untouched = await stateOf();
    const last = await sql.query(
      'delete from schema_migrations where name = (select max(name) from schema_migrations) returning *',
    );

    const logs: Record<string, unknown>[] = [];
    const starting = startTestApp(t, {}, { db, logs });
    starting.catch(() => {});
    const isWaiting = ({ message }: Record<string, unknown>) =>
      String(message).startsWith('the schema lacks a migration');
    await until('the process to wait', () => logs.some(isWaiting));
    const url = `http://127.0.0.1:${logs.find(isWaiting)?.['port']}`;
    const ready = await fetch(`${url}/readyz`);
    assert.equal(ready.status, 503);
    assert.deepEqual(await ready.json(), {
      ready: false,
      checks: { database: 'ok', schema: `migration ${last.rows[0].name} is missing`, loops: 'ok' },
    });
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    const refused = await fetch(`${url}/api/v1/me`);
    assert.deepEqual(
      [refused.status, refused.headers.get('retry-after'), ((await refused.json()) as { code: string }).code],
      [503, '5', 'unavailable'],
    );
    assert.deepEqual(await stateOf(), untouched);

    await sql.query('insert into schema_migrations select * from json_populate_record(null::schema_migrations, $1)', [
      JSON.stringify(last.rows[0]),
    ]);
    const { bearer } = await starting;
    await until('readiness', async () => (await bearer(null).get('/readyz')).status === 200);
    await until('the run to be claimed', async () => (await stateOf())[0].lease_number > untouched[0].lease_number);
  });
});
