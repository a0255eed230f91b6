/** The checks and the setup of a site against a real database and real listeners. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { gather, within } from './doctor.ts';

type Check = Readonly<{ key: string; state: string; detail: string; cure: string | null }>;

const never = () => new Promise<never>(() => undefined);

describe('a site', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let site: TestApp;
  let admin: Awaited<ReturnType<TestApp['admin']>>;
  const checks = async (): Promise<ReadonlyMap<string, Check>> => {
    const { body } = must(await admin.get('/api/v1/admin/doctor'), 200);
    return new Map((body.checks as Check[]).map((check) => [check.key, check]));
  };
  const steps = async (): Promise<ReadonlyMap<string, string>> => {
    const { body } = must(await admin.get('/api/v1/admin/setup'), 200);
    return new Map((body.steps as { key: string; state: string }[]).map(({ key, state }) => [key, state]));
  };
  const record = (taken_at: string, location = 's3://backups') =>
    admin.post('/api/v1/admin/backups', { taken_at, location });

  before(async () => {
    site = await startTestApp(t, {
      nats_url: 'nats://127.0.0.1:9',
      audit_archive_dir: null,
      site: { backup_max_age_h: 2, wildcard_tls_name: null },
    });
    admin = await site.admin();
  });
  after(async () => {
    for (const close of closers) await close();
  });

  it('is checked against what is there: a dead NATS and a missing role fail, with their cures', async () => {
    const found = await checks();
    for (const key of ['schema', 'writable', 'clock', 'issuer', 'outbox', 'sealer'])
      assert.equal(found.get(key)?.state, 'ok', `${key}: ${found.get(key)?.detail}`);
    assert.match(found.get('database')?.detail ?? '', /^PostgreSQL \d+/);
    assert.match(
      found.get('issuer')?.detail ?? '',
      /answered in \d+ ms with 1 key\. Clients gpuaas-console, gpuaas-cli/,
    );
    assert.deepEqual([found.get('nats')?.state, found.get('processes')?.state], ['failed', 'failed']);
    assert.match(found.get('nats')?.detail ?? '', /ECONNREFUSED/);
    assert.match(found.get('processes')?.detail ?? '', /No process runs gpuaas-node-api/);
    assert.ok(found.get('nats')?.cure);
    assert.deepEqual(
      [found.get('audit_archive')?.state, found.get('audit_archive')?.detail.slice(0, 34)],
      ['warning', 'No archive directory is set: every'],
    );
  });

  it('notices an issuer that is down', async () => {
    site.issuer.setDown(true);
    try {
      assert.equal((await checks()).get('issuer')?.state, 'failed');
    } finally {
      site.issuer.setDown(false);
    }
  });

  it('notices a missing migration, a backup that is late, and none', async () => {
    const { database } = site.db;
    assert.match((await checks()).get('backup')?.detail ?? '', /No backup/);
    must(await record(new Date(Date.now() - 3 * 3_600_000).toISOString()), 201);
    assert.match((await checks()).get('backup')?.detail ?? '', /3 hours old.*At most 2 hours/);
    must(await record(new Date(Date.now() - 60_000).toISOString()), 201);
    assert.equal((await checks()).get('backup')?.state, 'ok');
    assert.ok(database);
  });

  it('records a backup once, refuses one from the future, and lists the newest data first', async () => {
    const taken_at = new Date(Date.now() - 30_000).toISOString();
    const first = must(await record(taken_at, 'tape'), 201).body;
    const again = must(await record(taken_at, 'tape'), 201).body;
    assert.equal(again.id, first.id);
    const future = await record(new Date(Date.now() + 3_600_000).toISOString());
    assert.deepEqual([future.status, future.body.errors[0].pointer], [400, '/body/taken_at']);
    const page = must(await admin.get('/api/v1/admin/backups?limit=1'), 200).body;
    assert.equal(page.items[0].id, first.id);
    const rest = must(await admin.get(`/api/v1/admin/backups?cursor=${page.next_cursor}`), 200).body;
    assert.ok(rest.items.length >= 2);
    assert.ok(rest.items.every((row: { taken_at: string }) => row.taken_at <= taken_at));
  });

  it('derives its setup from its data: the next step is the first that is open', async () => {
    const states = await steps();
    assert.deepEqual(
      [...states].filter(([, state]) => state === 'done').map(([key]) => key),
      ['sign_in', 'superadmin', 'trust_keys', 'backups', 'catalog', 'sign_up'],
    );
    assert.equal(states.get('node_created'), 'next');
    assert.equal(states.get('first_launch'), 'blocked');
    const [region] = must(await admin.get('/api/v1/regions'), 200).body.items;
    const node = {
      name: 'j22u15',
      region_name: region.name,
      gpu_model: 'H200 SXM',
      gpu_count: 8,
      capacity_mode: 'slice',
    };
    const made = must(await admin.post('/api/v1/admin/nodes', node), 201).body.node;
    assert.deepEqual([(await steps()).get('node_created'), (await steps()).get('node_enrolled')], ['done', 'next']);
    must(await admin.post(`/api/v1/admin/nodes/${made.id}/retire`, { reason: 'Another host' }), 200);
    assert.equal((await steps()).get('node_created'), 'next', 'a retired node counts for nothing');
  });

  it('counts no retired image, and its catalog waits for a VM profile and an image that can be the default', async () => {
    const { database } = site.db;
    const sql = (text: string) => database.write(PLATFORM, (tx) => tx.query(text));
    const catalog = async () => {
      const { body } = must(await admin.get('/api/v1/admin/setup'), 200);
      return (body.steps as { key: string; detail: string }[]).find(({ key }) => key === 'catalog')?.detail;
    };
    const complete = 'Regions and SKUs with prices, VM profiles and images are there.';
    assert.equal(await catalog(), complete);
    await sql('update sku_vm_profiles set is_default = false where gpu_count = 4');
    assert.equal(await catalog(), 'Missing: a default VM profile for each GPU count of h200-sxm-slice.');
    await sql('update sku_vm_profiles set is_default = true where gpu_count = 4');
    await sql("update os_images set trust = 'unverified'");
    assert.equal(await catalog(), 'Missing: a stable and verified image for h200-sxm-slice.');
    await sql("update os_images set trust = 'verified', retired_at = now()");
    assert.equal(await catalog(), 'Missing: a stable and verified image for h200-sxm-slice.');
    assert.match((await checks()).get('images')?.detail ?? '', /^No image is registered/);
    await sql('update os_images set retired_at = null');
    assert.equal(await catalog(), complete);
  });

  it('is not shown to tenants', async () => {
    const user = await site.user('ada');
    for (const path of ['doctor', 'setup', 'backups'])
      assert.ok([403, 404].includes((await user.get(`/api/v1/admin/${path}`)).status), path);
  });
});

it('a dependency that never answers makes its own fact unknown within the limit', async () => {
  const facts = await gather({ nats: never, outbox: async () => ({ unsent: 0, oldest_age_s: 0 }) } as never, 20);
  assert.match(JSON.stringify(facts.nats), /did not respond within 0\.02 s/);
  assert.deepEqual(facts.outbox, { value: { unsent: 0, oldest_age_s: 0 } });
  assert.deepEqual(await within(async () => Promise.reject(new Error('no rights')), 20), { unknown: 'no rights' });
});

it('a listener that accepts and stays silent is given up in time', async (t) => {
  const { reachNats, reachTls } = await import('../ports/network/reach.ts');
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => void silent.close());
  const { port } = silent.address() as { port: number };
  for (const reached of [
    await reachNats(`nats://127.0.0.1:${port}`, 50),
    await reachTls({ host: '127.0.0.1', port }, 50),
  ])
    assert.deepEqual(reached, { ok: false, reason: 'no answer within 0.05 s' });
});
