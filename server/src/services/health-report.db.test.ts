import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { HealthAlert } from '@gpuaas/contract/node';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { anEnrolledNode, discover, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { must, type User } from '../../test/tenants.ts';
import { recordHealth } from '../agents/node-health.ts';
import { PLATFORM } from '../db/client.ts';

let app: TestApp;
let root: User;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
  root = await app.admin();
});
after(async () => {
  await assertInvariants(app.db.database);
  for (const close of closers) await close();
});

const sql = (text: string, values: unknown[] = []) =>
  app.db.database.write(PLATFORM, (tx) => tx.query<Record<string, unknown>>(text, values));
const at = (id: string, rest = ''): string => `/api/v1/admin/nodes/${id}${rest}`;
const aHost = async (): Promise<string> => {
  const id = await anEnrolledNode(
    app.db.database,
    { query: sql },
    { region_name: 'us-buffalo-1', capacity_mode: 'slice' },
  );
  await discover(app.db.database, id);
  const { map } = must(await root.get(at(id, '/slice-topology/discovery')), 200).body;
  must(await root.post(at(id, '/resource-slots/approve'), { map_hash: map.map_hash }), 200);
  await proveFirstWipes(app.db.database, id);
  return id;
};
let clock = Date.parse('2026-11-15T12:00:00Z');
const tick = (): number => {
  clock += 1000;
  return clock;
};
const report = (nodeId: string, alerts: readonly HealthAlert[], observed = tick()) =>
  app.db.database.write(PLATFORM, (tx) =>
    recordHealth(tx, nodeId, {
      source: 'agent',
      observed_at: new Date(observed).toISOString(),
      successes: ['gpu_count'],
      alerts: [...alerts],
    }),
  );
const alert = (target: string, over: Partial<HealthAlert> = {}): HealthAlert => ({
  id: 'gpu_off_the_bus',
  target,
  since: '2026-11-15T12:00:00Z',
  message: 'It fell off the bus.',
  tenant_message: null,
  classifications: ['prevent_allocations'],
  ...over,
});
const node = async (id: string) => must(await root.get(at(id)), 200).body;
const slots = async (id: string) => must(await root.get(at(id, '/resource-slots')), 200).body.items;

test('an alert about one GPU makes one slot unschedulable, and its end makes it schedulable again', async () => {
  const id = await aHost();
  const [first] = await slots(id);
  await report(id, [alert(first.gpu_pci_address)]);
  assert.deepEqual(
    (await slots(id)).map((slot: { health: string }) => slot.health),
    ['unhealthy', ...Array(7).fill('ok')],
  );
  assert.equal((await node(id)).free_gpus, 7);
  assert.equal((await slots(id))[0].health_detail.alerts[0].id, 'gpu_off_the_bus');
  await report(id, []);
  assert.equal((await node(id)).free_gpus, 8);
});

test('a late report does not undo a later one', async () => {
  const id = await aHost();
  await report(id, [alert('node')]);
  assert.equal(await report(id, [], clock - 60_000), false);
  assert.equal((await node(id)).health, 'unhealthy');
});

test('an operator may override health until the override ends', async () => {
  const id = await aHost();
  await report(id, [alert('node')]);
  const override = {
    mode: 'merge',
    alerts: [],
    muted_alert_ids: ['gpu_off_the_bus'],
    expires_at: null,
    reason: 'Known',
  };
  must(await root.call('PUT', at(id, '/health/overrides/agent'), override), 200);
  assert.equal((await node(id)).health, 'ok');
  await sql('update node_health_overrides set expires_at = clock_timestamp() where node_id = $1', [id]);
  await report(id, [alert('node')]);
  assert.equal((await node(id)).health, 'unhealthy');
});

test('an alert may block destructive tasks on a host', async () => {
  const id = await aHost();
  await report(id, [alert('node', { classifications: ['prevent_host_changes'] })]);
  const [slot] = await slots(id);
  const path = at(id, `/resource-slots/${slot.id}/repair`);
  const refused = await root.post(path, { reason: 'Tried' }, { 'if-match': `"v${slot.version}"` });
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /blocks host changes/);
});

test('many bad reports trip the circuit breaker: hosts stay schedulable until an operator resets it', async () => {
  await sql('update nodes set fell_ill_at = null');
  const hosts: string[] = [];
  for (let n = 0; n < 6; n++) hosts.push(await aHost());
  for (const id of hosts) await report(id, [alert('node')]);
  const healths = async () => Promise.all(hosts.map(async (id) => (await node(id)).health));
  assert.deepEqual(await healths(), [...Array(4).fill('unhealthy'), 'ok', 'ok']);
  const breaker = must(await root.get('/api/v1/admin/health/breaker'), 200).body;
  assert.equal(breaker.is_tripped, true);
  assert.match(breaker.reason, /^5 of \d+ hosts became unhealthy within 10 minutes\.$/);
  // Its report is still stored and shown.
  assert.equal(must(await root.get(at(hosts[5] ?? '', '/health')), 200).body.alerts.length, 1);
  await report(hosts[0] ?? '', []);
  assert.equal((await node(hosts[0] ?? '')).health, 'ok');
  const reset = await root.post(
    '/api/v1/admin/health/breaker/reset',
    { reason: 'They really are ill' },
    { 'if-match': `"v${breaker.version}"` },
  );
  assert.equal(must(reset, 200).body.is_tripped, false);
  await report(hosts[5] ?? '', [alert('node')]);
  assert.equal((await node(hosts[5] ?? '')).health, 'unhealthy');
});

test('a disk that the host uses makes its idle slot unschedulable until it is free', async () => {
  await sql('update nodes set fell_ill_at = null');
  const id = await aHost();
  const third = (await slots(id))[2];
  await report(id, [alert(third.nvme_serial, { id: 'disk_in_use', message: 'It is mounted at /data.' })]);
  assert.deepEqual(
    (await slots(id)).map((slot: { health: string }) => slot.health),
    ['ok', 'ok', 'unhealthy', ...Array(5).fill('ok')],
  );
  assert.deepEqual([(await node(id)).free_gpus, (await node(id)).health], [7, 'ok']);
  await report(id, []);
  assert.equal((await node(id)).free_gpus, 8);
});
