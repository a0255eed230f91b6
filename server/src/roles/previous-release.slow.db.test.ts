/**
 * An upgrade without an interruption: the new server waits on the old schema, the old one goes on while the schema is
 * migrated and on the new one, both work side by side, and then the new one works alone. It can be taken back: the old
 * one continues what the new one began, until the next upgrade. The old one is the commit in
 * server/previous-release.txt; CONTRIBUTING.md states when that moves.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { silentLog, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { requires } from '../../../tools/test/requires.ts';
import { emptyDatabase } from '../../test/database.ts';
import { applyDemoSite } from '../../test/demo-site.ts';
import { startTestIssuer } from '../../test/issuer.ts';
import { TEST_KEYS, testSecrets } from '../../test/secrets.ts';
import { callerOf, type ServerProcess, startServerProcess } from '../../test/server-process.ts';
import { startTraffic } from '../../test/traffic.ts';
import { until } from '../../test/until.ts';
import { ensureTrustKeys } from '../agents/trust.ts';
import { createDatabase, PLATFORM } from '../db/client.ts';
import { APP_ROLE, migrate } from '../db/migrate.ts';
import { readMigrations } from '../db/migration-file.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PARTS = ['contract', 'kit', 'scheduler', 'server'];
const WITHIN_MS = 120_000;
const ENOUGH = 3;
const ENDED: ReadonlySet<string> = new Set(['done', 'cancelled', 'stuck']);

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

/** The build of a commit, with the packages of this one. */
const extract = async (commit: string): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-previous-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const archive = join(dir, 'source.tar');
  execFileSync('git', ['archive', '--output', archive, commit, 'package.json', ...PARTS], { cwd: ROOT });
  execFileSync('tar', ['--extract', '--file', archive, '--directory', dir]);
  await mkdir(join(dir, 'node_modules/@gpuaas'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '@gpuaas') await symlink(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name));
  for (const part of PARTS) await symlink(join(dir, part), join(dir, 'node_modules/@gpuaas', part));
  return dir;
};

it('the previous release and this one share the migrated database under launches and releases, and either continues what the other began', {
  skip: requires('history'),
}, async () => {
  const commit = (await readFile(join(ROOT, 'server/previous-release.txt'), 'utf8')).trim();
  const root = await extract(commit);
  const oldDir = join(root, 'server/migrations');
  const url = await emptyDatabase(t);
  const log = silentLog();
  await migrate({ url, log, dir: oldDir });
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await owner.query("update site_policy set sign_up = 'open', default_gpu_limit = null");
  await owner.end();
  const issuer = await startTestIssuer(t);
  const start = (of: string): Promise<ServerProcess> =>
    startServerProcess(t, { root: of, database_url: url, issuer_url: issuer.url });
  const isReady = async (server: ServerProcess) => (await server.status('/readyz')) === 200;
  const [previous, current] = await Promise.all([start(root), start(ROOT)]);
  const servers = [previous];
  const ada = callerOf(servers, await issuer.sign({ sub: 'ada', name: 'ada', email: 'ada@example.com' }));
  await until('the previous release to be ready', () => isReady(previous), WITHIN_MS);
  const me = (await ada.get('/api/v1/me')).body;
  const create = (name: string) => ada.post(`/api/v1/organizations/${me.organizations[0].id}/projects`, { name });

  const names = new Set((await readMigrations(oldDir)).map(({ name }) => name));
  const added = (await readMigrations()).filter(({ name }) => !names.has(name));
  if (added.length > 0) {
    assert.equal(current.hasLogged('the schema lacks a migration'), true);
    assert.deepEqual([await current.status('/healthz'), await current.status('/readyz')], [200, 503]);
  }
  // The previous release works while its schema changes below it.
  let isMigrating = true;
  const statuses = new Set<number>();
  const working = (async () => {
    for (let count = 0; isMigrating || count < ENOUGH; count++) statuses.add((await create(`p-${count}`)).status);
  })();
  const applied = await migrate({ url, log });
  isMigrating = false;
  await working;
  assert.equal(applied.length, added.length);
  assert.deepEqual([...statuses], [201]);
  await until('this release to be ready', () => isReady(current), WITHIN_MS);
  assert.ok(await isReady(previous));

  const database = createDatabase({ url, role: APP_ROLE, log, poolMax: 4 });
  t.after(() => database.end());
  await applyDemoSite(database);
  const secrets = testSecrets('trust', TEST_KEYS.trust_keys);
  await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock: systemClock }));
  servers.push(current);
  const tenant = { ...ada, project_id: me.projects[0].id };
  const traffic = await startTraffic({ t, tenant, ownerUrl: url, database, nodes: 1, tenants: 3 });
  const moreWork = async (of: string): Promise<void> => {
    const done = traffic.released();
    await until(`work of ${of}`, () => traffic.released() >= done + ENOUGH, WITHIN_MS);
  };
  /** No request is sent to a server that ends. */
  const leave = async (...ending: readonly ServerProcess[]): Promise<void> => {
    servers.splice(0, servers.length, ...servers.filter((server) => !ending.includes(server)));
    for (const server of ending) await server.stop();
  };
  const addServer = async (of: string): Promise<ServerProcess> => {
    const server = await start(of);
    await until('it to be ready', () => isReady(server), WITHIN_MS);
    servers.push(server);
    return server;
  };
  await moreWork('both');
  await leave(previous);
  await moreWork('this release alone');

  servers.length = 0;
  await current.kill();
  const stateOf = async (): Promise<ReadonlyMap<string, string>> => {
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ id: string; state: string }>('select id, state from workflow_runs'),
    );
    return new Map(rows.map(({ id, state }) => [id, state]));
  };
  const begun = [...(await stateOf())].filter(([, state]) => !ENDED.has(state)).map(([id]) => id);
  assert.notDeepEqual(begun, [], 'this release was killed in the middle of runs');
  const back = await addServer(root);
  await until(
    'the previous release to end the runs that this one began',
    async () => {
      const states = await stateOf();
      return begun.every((id) => ENDED.has(states.get(id) ?? ''));
    },
    WITHIN_MS,
  );
  const states = await stateOf();
  for (const id of begun) assert.notEqual(states.get(id), 'stuck', id);
  await moreWork('the previous release alone');

  const again = await addServer(ROOT);
  await moreWork('both again');
  await leave(back);
  await traffic.finish();
  assert.equal(traffic.count(500), 0);
  await leave(again);
});
