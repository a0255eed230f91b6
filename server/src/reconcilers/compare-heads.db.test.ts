/**
 * The time before a worker has compared the database with the heads outside it: a node API that starts first, or that keeps
 * running while the database is exchanged under it, sends nothing that destroys data.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import type { TestAgent } from '../../test/agent.ts';
import { startTestApp } from '../../test/app.ts';
import { type Channel, openChannel } from '../../test/channel.ts';
import { testCluster, testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { createDatabase, type Database, PLATFORM } from '../db/client.ts';
import { isCompared, noteCompared, readComparison } from '../db/statements/restore.ts';
import { COMPARED_WITHIN_S } from '../domain/restore.ts';
import { createHeadsFile, type HeadsFile } from '../ports/objects/heads-file.ts';
import { expireTasks } from './expire-tasks.ts';
import { compareHeads } from './seal-audit.ts';

const WIPE = { kind: 'node.cleanup', params: { allocation_id: null, disks: [], slots: [] } };

describe('before a worker has compared the database with the signed heads', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let channel: Channel;
  let agent: TestAgent;
  let heads: HeadsFile;

  before(async () => {
    channel = openChannel(await startTestApp(t, { roles: ['gpuaas-api', 'gpuaas-node-api'] }));
    agent = await channel.join();
    t.after(async () => agent.close());
    const dir = mkdtempSync(join(tmpdir(), 'gpuaas-heads-'));
    t.after(async () => rmSync(dir, { recursive: true, force: true }));
    heads = createHeadsFile({ file: join(dir, 'heads.jsonl'), seeds: () => [randomBytes(32)] });
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const received = async (): Promise<string[]> =>
    (await agent.wait({ wait_s: 0 })).body.tasks.map(
      ({ payload }: { payload: string }) => (JSON.parse(payload) as { task_id: string }).task_id,
    );
  const set = (compared: string): Promise<void> => channel.change(`update audit_sealer set ${compared}`);
  const counts = (): Promise<boolean> => channel.test.db.database.read(PLATFORM, isCompared);
  const compare = (): Promise<void> => compareHeads({ database: channel.test.db.database, heads });

  it('tasks that destroy data are neither sent, begun nor expired; the comparison gives them their whole time', async () => {
    const sent = await channel.ask(agent.node_id, WIPE);
    await until('it is sent', async () => (await received()).includes(sent));
    await set('compared_at = null, compared_in = null');
    const [wipe, probe] = [await channel.ask(agent.node_id, WIPE), await channel.ask(agent.node_id)];
    await until('the probe is sent', async () => (await received()).includes(probe));
    assert.equal((await channel.stateOf(wipe)).state, 'queued');
    const start = await agent.call('taskStart', { attempt: 1 }, { task_id: sent });
    assert.equal(start.body.may_start, false, 'what was sent before does not start');
    await channel.change("update node_tasks set expires_at = now() - interval '1 minute' where id = $1", [wipe]);
    await expireTasks({ database: channel.test.db.database });
    assert.equal((await channel.stateOf(wipe)).state, 'queued');
    await compare();
    await until('the wipe is sent', async () => (await received()).includes(wipe));
  });

  it('a comparison of another database, or one that is too old, does not count', async () => {
    const { database } = channel.test.db;
    const comparison = await database.read(PLATFORM, readComparison);
    for (const stale of [
      "compared_in = compared_in || '1'",
      `compared_at = clock_timestamp() - interval '${COMPARED_WITHIN_S + 1} s'`,
    ]) {
      await set(stale);
      assert.equal(await counts(), false, stale);
      await compare();
      assert.equal(await counts(), true, stale);
    }
    // It was exchanged between the comparison and its record.
    await database.write(PLATFORM, (tx) => noteCompared(tx, { ...comparison, name: 'the former database' }));
    assert.equal(await counts(), false);
    await compare();
  });

  it('a heads file that cannot be read gives no comparison', async () => {
    await set('compared_at = null, compared_in = null');
    const broken = { ...heads, lastLine: () => Promise.reject(new Error('EIO: i/o error')) };
    await assert.rejects(compareHeads({ database: channel.test.db.database, heads: broken }), /EIO/);
    assert.equal(await counts(), false);
    await compare();
    assert.equal(await counts(), true);
  });
});

it('a copy of a compared database, and one whose tables were put back, count as not compared', async (t) => {
  const db = await testDatabase(t);
  // It has no connection yet: a database in use cannot be copied.
  const cluster = new Client({ connectionString: await testCluster() });
  await cluster.connect();
  const name = new URL(db.ownerUrl).pathname.slice(1);
  const copy = `${name}_copy`;
  let opened: Database | undefined;
  t.after(async () => {
    await opened?.end();
    await cluster.query(`drop database if exists ${copy} with (force)`);
    await cluster.end();
  });
  await cluster.query(`create database ${copy} template ${name} strategy file_copy`);
  const url = new URL(db.ownerUrl);
  url.pathname = `/${copy}`;
  const database = createDatabase({ url: url.href, log: silentLog(), poolMax: 1 });
  opened = database;
  const counts = () => database.read(PLATFORM, isCompared);
  assert.equal(await counts(), false, 'the copy');
  await database.write(PLATFORM, async (tx) => noteCompared(tx, await readComparison(tx)));
  assert.equal(await counts(), true);
  await database.write(PLATFORM, async (tx) => {
    await tx.query('create table put_back (like audit_sealer including all)');
    await tx.query('insert into put_back select * from audit_sealer');
    await tx.query('drop table audit_sealer');
    await tx.query('alter table put_back rename to audit_sealer');
  });
  assert.equal(await counts(), false, 'the same rows in a new table');
});
