/** Notices: what the tenants of a host learn of its alerts, and what they do not. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { HealthAlert } from '@gpuaas/contract/node';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestNode } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { recordHealth } from '../agents/node-health.ts';
import { PLATFORM } from '../db/client.ts';
import { GENERAL_NOTICE } from '../domain/notice.ts';

let app: TestApp;
let root: User;
let [ada, bob]: User[] = [];
let sql: Client;
const closers: (() => Promise<unknown>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
  sql = new Client({ connectionString: app.db.ownerUrl });
  await sql.connect();
  closers.unshift(() => sql.end());
  root = await app.admin();
  ada = await app.user('ada');
  bob = await app.user('bob');
});
after(async () => {
  await assertInvariants(app.db.database);
  for (const close of closers) await close();
});

const user = (which: User | undefined): User => {
  assert.ok(which);
  return which;
};
const SINCE = '2026-11-15T12:00:00.000Z';
let clock = Date.parse(SINCE);
const alert = (target: string, tenant_message: string | null, id = 'gpu_hot'): HealthAlert => ({
  ...{ id, target, since: SINCE, message: 'At 0000:10:00.0 of j22u15.', tenant_message },
  classifications: [],
});
const report = (node: TestNode, alerts: HealthAlert[]) => {
  clock += 1000;
  const observed_at = new Date(clock).toISOString();
  return app.db.database.write(PLATFORM, (tx) =>
    recordHealth(tx, node.id, { source: 'agent', observed_at, successes: [], alerts }),
  );
};
const slotsOf = async (node: TestNode) =>
  (
    await sql.query<{ id: string; gpu: string; disk: string }>(
      'select id, gpu_pci_address as gpu, nvme_serial as disk from node_resource_slots where node_id = $1 order by slot_index',
      [node.id],
    )
  ).rows;
const launch = (node: TestNode, who: User, state: 'active' | 'provisioning' = 'active', shape?: 'baremetal') =>
  anAllocation(sql, { node, state, tenant: who, ...(shape === undefined ? {} : { shape }) });
const messages = async (who: User, id: string) =>
  must(await who.get(`/api/v1/projects/${who.project_id}/allocations/${id}`), 200).body.notices.map(
    ({ message }: { message: string }) => message,
  );
const events = async (id: string) =>
  (
    await sql.query(
      `select organization_id, project_id, data -> 'began' as began, data -> 'ended' as ended from outbox_events
       where event_type = 'allocation.notices_changed' and subject = $1 order by id`,
      [id],
    )
  ).rows;

test('a notice reaches the tenant of the GPU, no neighbor, and ends with the alert', async () => {
  const node = await aNode(sql);
  const [mine, other] = [await launch(node, user(ada)), await launch(node, user(bob))];
  const [slot] = await slotsOf(node);
  await report(node, [alert(slot?.gpu ?? '', 'A GPU of this allocation is hot.')]);
  const path = `/api/v1/projects/${user(ada).project_id}/allocations`;
  const { body } = must(await user(ada).get(`${path}/${mine.id}`), 200);
  assert.deepEqual(body.notices, [{ message: 'A GPU of this allocation is hot.', since: SINCE }]);
  assert.doesNotMatch(JSON.stringify(body), /j22u15|0000:10|gpu_hot/);
  const [listed] = must(await user(ada).get(`${path}?limit=1`), 200).body.items;
  assert.deepEqual(listed.notices, body.notices);
  assert.deepEqual(await messages(user(bob), other.id), []);
  assert.equal((await user(bob).get(`${path}/${mine.id}`)).status, 404);
  await report(node, []);
  assert.deepEqual(await messages(user(ada), mine.id), []);
  const { organization_id, project_id } = user(ada);
  assert.deepEqual(await events(mine.id), [
    { organization_id, project_id, began: ['A GPU of this allocation is hot.'], ended: [] },
    { organization_id, project_id, began: [], ended: ['A GPU of this allocation is hot.'] },
  ]);
  assert.deepEqual(await events(other.id), []);
});

test('a notice about the whole host reaches its active allocations only', async () => {
  const node = await aNode(sql);
  const [active, starting] = [await launch(node, user(ada)), await launch(node, user(bob), 'provisioning')];
  await report(node, [alert('node', 'Repairs begin soon.'), alert('node', null, 'fans')]);
  assert.deepEqual(await messages(user(ada), active.id), ['Repairs begin soon.']);
  assert.deepEqual(await messages(user(bob), starting.id), []);
  assert.deepEqual(await events(starting.id), []);
  // A device outside every slot belongs to no slice.
  await report(node, [alert('0000:ff:00.0', 'A GPU of this allocation is hot.')]);
  assert.deepEqual(await messages(user(ada), active.id), []);
});

test('the tenant of a whole node gets the notices of every part', async () => {
  const node = await aNode(sql, { capacity_mode: 'baremetal', slots: false });
  const { id } = await launch(node, user(ada), 'active', 'baremetal');
  await report(node, [alert('S1', 'A disk of this allocation fails.'), alert('0000:10:00.0', 'A GPU is hot.')]);
  assert.deepEqual((await messages(user(ada), id)).sort(), ['A GPU is hot.', 'A disk of this allocation fails.']);
});

test('a text that names the host never reaches a tenant: from agents it is replaced, from operators refused', async () => {
  const node = await aNode(sql, { name: 'rack9-h200' });
  const { id } = await launch(node, user(ada));
  const [slot] = await slotsOf(node);
  await report(node, [alert(slot?.disk ?? '', `Disk ${slot?.disk} of RACK9-H200 fails.`)]);
  assert.deepEqual(await messages(user(ada), id), [GENERAL_NOTICE]);
  assert.doesNotMatch(JSON.stringify(await events(id)), /rack9|NVME/i);
  const path = `/api/v1/admin/nodes/${node.id}/health/overrides/agent`;
  const override = (text: string) => ({
    ...{ mode: 'replace', muted_alert_ids: [], expires_at: null, reason: 'Planned work' },
    alerts: [alert('node', text, 'work')],
  });
  const refused = await root.call('PUT', path, override('We restart rack9-h200.'));
  assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_request']);
  assert.match(refused.body.detail, /names a host, a device or an address/);
  must(await root.call('PUT', path, override('Repairs begin at 18:00.')), 200);
  assert.deepEqual(await messages(user(ada), id), ['Repairs begin at 18:00.']);
  const long = await root.call('PUT', path, override('x'.repeat(201)));
  assert.equal(long.status, 400);
});
