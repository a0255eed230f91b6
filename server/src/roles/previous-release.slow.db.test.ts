/**
 * An upgrade without an interruption: the new server waits on the old schema, the old one goes on while the schema is
 * migrated and on the new one, both work side by side, and then the new one works alone. The old one is the commit in
 * server/previous-release.txt; CONTRIBUTING.md states when that moves.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { silentLog, systemClock } from '@gpuaas/kit';
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

it('the previous release and this one share the migrated database under launches and releases, and this one waits until it is migrated', {
  skip: requires('history'),
}, async () => {
  const commit = (await readFile(join(ROOT, 'server/previous-release.txt'), 'utf8')).trim();
  const root = await extract(commit);
  const oldDir = join(root, 'server/migrations');
  const url = await emptyDatabase(t);
  const log = silentLog();
  await migrate({ url, log, dir: oldDir });
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
  await until('work of both', () => traffic.released() >= ENOUGH * 2, WITHIN_MS);
  const done = traffic.released();
  servers.shift();
  await previous.stop();
  await until('work of this release alone', () => traffic.released() >= done + ENOUGH, WITHIN_MS);
  await traffic.finish();
  assert.equal(traffic.count(500), 0);
  await current.stop();
});
