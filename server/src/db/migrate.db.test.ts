import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { emptyDatabase } from '../../test/database.ts';
import { aNode } from '../../test/placement.ts';
import { createDatabase, PLATFORM } from './client.ts';
import { APP_ROLE, MIGRATIONS_DIR, migrate, readMigrations } from './migrate.ts';

const log = silentLog();

const withClient = async <T>(url: string, fn: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await fn(client);
  } finally {
    await client.end();
  }
};

const migrationsWith = async (t: TestContext, name: string, sql: string): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-migrations-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await cp(MIGRATIONS_DIR, dir, { recursive: true });
  await writeFile(join(dir, name), sql);
  return dir;
};

const migrationsBefore = async (t: TestContext, number: number): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-migrations-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const isBefore = (file: string): boolean => !/\/\d{4}_/.test(file) || Number(/\/(\d{4})_/.exec(file)?.[1]) < number;
  await cp(MIGRATIONS_DIR, dir, { recursive: true, filter: isBefore });
  return dir;
};

describe('migrations', () => {
  it('run once, even when several processes start at the same time', async (t) => {
    const url = await emptyDatabase(t);
    const applied = await Promise.all([1, 2, 3].map(() => migrate({ url, log })));
    assert.deepEqual(
      applied.flat().sort((a, b) => a.localeCompare(b)),
      (await readMigrations()).map(({ name }) => name),
    );
    assert.deepEqual(await migrate({ url, log }), []);
  });

  it('rename the steps of live runs, so that they continue', async (t) => {
    const url = await emptyDatabase(t);
    await migrate({ url, log, dir: await migrationsBefore(t, 19) });
    const steps = await withClient(url, async (client) => {
      await client.query(
        `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, deadline_ms, deadline_at)
         values ('wfr_00000000000000000000000001', 'provision-slice', 1, 'alc_1', 'c-upgrade-1', '{leaseBundle,awaitReady,abandon}', 'awaitReady', 1000, now()),
                ('wfr_00000000000000000000000002', 'repair-slot', 1, 'slt_1', 'c-upgrade-2', '{rebind,wipe}', 'wipe', 1000, now()),
                ('wfr_00000000000000000000000003', 'own-disk', 1, 'dsk_1', 'c-upgrade-3', '{wipe,giveUp}', 'giveUp', 1000, now())`,
      );
      await migrate({ url, log });
      const { rows } = await client.query('select workflow, step, steps from workflow_runs order by id');
      return rows;
    });
    assert.deepEqual(steps, [
      { workflow: 'provision-slice', step: 'awaitSsh', steps: ['leaseBundle', 'awaitSsh', 'abort'] },
      { workflow: 'repair-slot', step: 'wipe', steps: ['rebind', 'wipe'] },
      { workflow: 'wipe-disk', step: 'abort', steps: ['wipe', 'abort'] },
    ]);
  });

  it('set the size of an approved disk from the newest discovery, and none where it found none', async (t) => {
    const url = await emptyDatabase(t);
    await migrate({ url, log, dir: await migrationsBefore(t, 21) });
    await withClient(url, async (client) => {
      const disk = (serial: string) => ({ serial, device: `/dev/disk/by-id/${serial}` });
      const { id } = await aNode(client, { slots: false });
      await client.query('update nodes set data_disks = $1', [JSON.stringify([disk('SEEN'), disk('UNSEEN')])]);
      const found = (size_bytes: number) => ({ disks: { value: [{ serial: 'SEEN', size_bytes }] } });
      for (const [task, facts] of Object.entries({ tsk_1: found(5), tsk_2: found(7) })) {
        await client.query(
          `insert into node_tasks (id, node_id, kind, params, correlation_id, expires_at)
           values ($1, $2, 'slice.topology_discover', '{}', 'c-upgrade', now())`,
          [task, id],
        );
        await client.query(
          `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required)
           values ($1, $2, repeat('0', 64), $3, '{}', false)`,
          [task, id, JSON.stringify(facts)],
        );
      }
      await client.query(
        `insert into wipe_proofs (id, node_id, disk_serial, task_id, method, is_verified, evidence, correlation_id, sequence, previous_hash, proof_hash)
         values ('wpf_upgrade', $1, 'SEEN', 'tsk_1', 'blkdiscard', true, '{}', 'c-upgrade', 1, wipe_chain_genesis($1), '')`,
        [id],
      );
      for (const serial of ['SEEN', 'UNSEEN'])
        await client.query(
          `insert into disk_ownerships (id, node_id, region_name, serial, device, state, approved_by, reason, wipe_proof_id, correlation_id)
           values ('dsk_' || $2, $1, 'r', $2, '/dev/disk/by-id/' || $2, 'owned', 'usr_1', 'Test.', 'wpf_upgrade', 'c-upgrade')`,
          [id, serial],
        );
      await migrate({ url, log });
      const { rows } = await client.query('select serial, size_bytes::int from disk_ownerships order by serial');
      assert.deepEqual(rows, [
        { serial: 'SEEN', size_bytes: 7 },
        { serial: 'UNSEEN', size_bytes: null },
      ]);
      const prices = await client.query(
        'select sku_name, gpu_hourly_price_minor::int, currency from sku_prices order by 1',
      );
      assert.deepEqual(
        prices.rows.map(({ gpu_hourly_price_minor, currency }) => [gpu_hourly_price_minor, currency]),
        [
          [450, 'USD'],
          [450, 'USD'],
        ],
        'a SKU keeps its price',
      );
      const nodes = await client.query('select data_disks from nodes');
      assert.deepEqual(nodes.rows[0].data_disks, [
        { ...disk('SEEN'), size_bytes: 7 },
        { ...disk('UNSEEN'), size_bytes: null },
      ]);
    });
  });

  it('need no superuser: an owner that may create roles is enough', async (t) => {
    const url = new URL(await emptyDatabase(t));
    const owner = `owner_${randomBytes(4).toString('hex')}`;
    await withClient(url.href, async (client) => {
      await client.query(`create role ${owner} login createrole`);
      await client.query(`alter database ${url.pathname.slice(1)} owner to ${owner}`);
      await client.query(`grant all on schema public to ${owner}`);
      await client.query(`grant ${APP_ROLE} to ${owner}`).catch(() => {});
    });
    const superuser = url.href;
    url.username = owner;
    await migrate({ url: url.href, log });
    const database = createDatabase({ url: url.href, log, role: APP_ROLE });
    const seen = await database.read(PLATFORM, (reader) =>
      reader.query<{ who: string }>('select current_user as who from users right join (select 1) x on true'),
    );
    await database.end();
    assert.deepEqual(seen.rows, [{ who: APP_ROLE }]);
    await withClient(superuser, (client) =>
      client.query(`reassign owned by ${owner} to current_user; drop owned by ${owner}; drop role ${owner}`),
    );
  });

  it('refuse a file that was changed after it was applied', async (t) => {
    const url = await emptyDatabase(t);
    await migrate({ url, log });
    const dir = await migrationsWith(t, '0002_catalog.sql', 'select 1');
    await assert.rejects(migrate({ url, log, dir }), /0002_catalog.sql was changed after it was applied/);
  });

  it('leave nothing behind when one fails, and continue after it is fixed', async (t) => {
    const url = await emptyDatabase(t);
    const broken = await migrationsWith(t, '9999_next.sql', 'create table half (id int); select 1/0;');
    await assert.rejects(migrate({ url, log, dir: broken }), /division by zero/);
    const tables = await withClient(url, (client) => client.query("select from pg_tables where tablename = 'half'"));
    assert.equal(tables.rowCount, 0);
    const mended = await migrationsWith(t, '9999_next.sql', 'create table half (id int);');
    assert.deepEqual(await migrate({ url, log, dir: mended }), ['9999_next.sql']);
  });
});
