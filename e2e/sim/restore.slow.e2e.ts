/**
 * An old copy of the database comes back under running agents. Since the copy, one host wiped the slots of an allocation and
 * gave them to another tenant, and one host ended an allocation that the copy still charges. Hosts keep what they have until
 * an operator releases them one by one, and the operator's end of the charge is what the lost database charged.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Client as Sql } from 'pg';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import type { State } from '../../node-agent/src/host/sim/state.ts';
import { HELD_TASK_KINDS } from '../../server/src/domain/task.ts';
import { emptyDatabase, testCluster } from '../../server/test/database.ts';
import { createStory, failureReport } from '../story.ts';
import { eventually, type Platform, startPlatform } from './platform.ts';

const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-restored-'));
const fleetDir = join(scratch, 'fleet');
const WORKER = 'gpuaas-provisioning-worker';
const HOST_NAMES = ['slice-0001', 'slice-0002'];

let platform: Platform;
let url: string;
let project_id: string;
const cleanups: (() => Promise<void>)[] = [];

const test = createStory(() => failureReport(platform.client));

const withSql = async <T>(at: string, fn: (sql: Sql) => Promise<T>): Promise<T> => {
  const sql = new Sql({ connectionString: at });
  await sql.connect();
  try {
    return await fn(sql);
  } finally {
    await sql.end();
  }
};
const rows = async (text: string, values: readonly unknown[] = [], at = url) =>
  (await withSql(at, (sql) => sql.query(text, [...values]))).rows;

const nameOf = (at: string): string => new URL(at).pathname.slice(1);
const beside = (suffix: string): string => {
  const other = new URL(url);
  other.pathname = `/${nameOf(url)}_${suffix}`;
  return other.href;
};
/** No process is connected meanwhile: they lose their connections, wait, and connect again. */
const whileOffline = async (fn: (cluster: Sql) => Promise<unknown>): Promise<void> => {
  const name = nameOf(url);
  await withSql(await testCluster(), async (cluster) => {
    await cluster.query(`alter database ${name} with allow_connections false`);
    await cluster.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await eventually('no process is connected', async () => {
      const { rowCount } = await cluster.query('select from pg_stat_activity where datname = $1', [name]);
      return rowCount === 0 || undefined;
    });
    await fn(cluster);
    await cluster.query(`alter database ${name} with allow_connections true`);
  });
};

before(async () => {
  url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  platform = await startPlatform({
    database_url: url,
    dir: scratch,
    processes: ['gpuaas-api,gpuaas-outbox-relay,gpuaas-node-api', WORKER],
    env: { GPUAAS_FRESH_SIGN_IN_MAX_AGE_S: '3600' },
  });
  await platform.ready(platform.hosts(['--nodes', '2', '--prefix', 'slice-', '--dir', fleetDir]), 2);
  project_id = (await platform.client.meGet()).projects[0]?.id ?? '';
});

after(async () => {
  await platform?.stop();
  for (const clean of cleanups) await clean();
  for (const suffix of ['backup', 'lost'])
    await withSql(await testCluster(), (cluster) =>
      cluster.query(`drop database if exists ${nameOf(beside(suffix))} with (force)`),
    );
  rmSync(scratch, { recursive: true, force: true });
});

const reaches = (id: string, state: string): Promise<true> =>
  eventually(`${id} is ${state}`, async () => {
    const found = await platform.client.allocationGet({ params: { project_id, allocation_id: id } });
    return found.state === state || undefined;
  });
const launch = async (name: string): Promise<string> => {
  const body = { name, sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count: 8 };
  const { id } = await platform.client.allocationCreate({ params: { project_id }, body });
  await reaches(id, 'active');
  return id;
};
const release = (id: string) =>
  platform.client.allocationRelease({ params: { project_id, allocation_id: id }, body: {} });
const nodeOf = async (id: string): Promise<string> =>
  (await platform.client.adminAllocationGet({ params: { allocation_id: id } })).node_id ?? '';
const stopWorker = async (): Promise<void> => platform.servers[1]?.kill('SIGKILL');
const runningOn = (name: string): string[] => {
  const state: State = JSON.parse(readFileSync(join(machineDir(fleetDir, name), 'state.json'), 'utf8'));
  return state.domains.filter((domain) => domain.state === 'running').map((domain) => domain.name);
};
const running = (): string[] => HOST_NAMES.flatMap(runningOn);
const vmOf = (id: string): string => `gpuaas-${id.replace('_', '-')}`;

test('a copy from before newer launches comes back: hosts keep their data until released, and nothing is charged twice', async () => {
  const gone = await launch('ended-later');
  const ending = await launch('ending');
  const [goneNode, endingNode] = [await nodeOf(gone), await nodeOf(ending)];
  assert.notEqual(goneNode, endingNode);
  await stopWorker();
  await release(ending);
  await whileOffline((cluster) =>
    cluster.query(`create database ${nameOf(beside('backup'))} template ${nameOf(url)} strategy file_copy`),
  );

  await platform.restart(WORKER);
  await reaches(ending, 'released');
  const newer = await launch('newer');
  assert.equal(await nodeOf(newer), endingNode, 'on the slots that the copy still holds for the other');
  await release(gone);
  await reaches(gone, 'released');
  await eventually('the heads cover the release', async () => {
    const open = await rows('select from audit_chains where headed_sequence < sequence');
    return open.length === 0 || undefined;
  });
  assert.deepEqual(running(), [vmOf(newer)]);
  await stopWorker();

  await whileOffline(async (cluster) => {
    await cluster.query(`alter database ${nameOf(url)} rename to ${nameOf(beside('lost'))}`);
    await cluster.query(`alter database ${nameOf(beside('backup'))} rename to ${nameOf(url)}`);
  });
  await withSql(await testCluster(), (cluster) =>
    cluster.query(`alter database ${nameOf(beside('lost'))} with allow_connections true`),
  );
  // The node API still runs, on a database that no worker has compared.
  const { at } = (await rows('select clock_timestamp()::text as at'))[0];
  const sentSince = () =>
    rows('select node_id, kind from node_tasks where kind = any ($1) and dispatched_at > $2', [HELD_TASK_KINDS, at]);
  // What ended within two minutes may be on its way, and is no finding.
  await rows("update node_tasks set finished_at = finished_at - interval '2 minutes' where finished_at is not null");

  await platform.restart(WORKER);
  const { restore } = await platform.client.adminRestoreGet();
  assert.equal(restore?.began_by, 'the control plane');
  await eventually('both hosts have reported what is on them', async () => {
    const { held_nodes } = await platform.client.adminRestoreGet();
    assert.equal(held_nodes.length, 2);
    return held_nodes.every(({ inventory_at, findings }) => inventory_at !== null && findings > 0) || undefined;
  });

  const lost = await rows(
    `select allocation_id, cost_minor::int, to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ended_at
     from usage_records where allocation_id = any ($1) order by 1`,
    [[gone, ending]],
    beside('lost'),
  );
  const charge_until = lost.find(({ allocation_id }) => allocation_id === gone)?.ended_at;
  await platform.client.adminAllocationForceRelease({
    params: { allocation_id: gone },
    body: { reason: 'gone from its host', charge_until },
  });
  await eventually('the wipe of the ended allocation waits', async () => {
    const waiting = await rows("select from node_tasks where node_id = $1 and state = 'queued' and kind = any ($2)", [
      goneNode,
      HELD_TASK_KINDS,
    ]);
    return waiting.length > 0 || undefined;
  });
  await eventually('the release that the copy had begun waits or is blocked', async () => {
    const waiting = await rows(
      `select from node_tasks where node_id = $1 and state = 'queued' and kind = any ($2)
       union all select from allocations where id = $3 and state = 'release_failed'`,
      [endingNode, HELD_TASK_KINDS, ending],
    );
    return waiting.length > 0 || undefined;
  });
  assert.deepEqual(await sentSince(), []);
  assert.deepEqual(running(), [vmOf(newer)], 'the VM of the other tenant runs');

  await platform.client.adminNodeRestoreRelease({
    params: { node_id: goneNode },
    body: { reason: 'compared', accepts_findings: true },
  });
  await reaches(gone, 'released');
  const sent = await sentSince();
  assert.ok(sent.length > 0);
  assert.deepEqual([...new Set(sent.map(({ node_id }) => node_id))], [goneNode], 'the other host is still held');
  assert.deepEqual(running(), [vmOf(newer)]);

  const now = await rows(
    'select allocation_id, cost_minor::int from usage_records where allocation_id = any ($1) order by 1',
    [[gone, ending]],
  );
  assert.deepEqual(
    now,
    lost.map(({ allocation_id, cost_minor }) => ({ allocation_id, cost_minor })),
  );
  const { violations } = await platform.client.adminInvariantCheck();
  assert.deepEqual(violations, []);
});
