import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { anEnrolledNode } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { must, type User } from '../../test/tenants.ts';
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
const at = (id: string, rest: string): string => `/api/v1/admin/nodes/${id}/images${rest}`;
const DIGEST = `sha256:${'d'.repeat(64)}`;

const aHost = async (kinds: readonly string[] = ['image.pull', 'image.evict', 'image.verify']): Promise<string> => {
  const id = await anEnrolledNode(app.db.database, { query: sql }, { region_name: 'us-buffalo-1' });
  await sql('update node_agents set kinds = $2 where node_id = $1', [id, kinds]);
  return id;
};
const catalog = async () => must(await root.get('/api/v1/os-images'), 200).body.items[0];

test('an image is pulled by the digest of its newest version, and requested once', async () => {
  const node = await aHost();
  const image = await catalog();
  const first = must(await root.post(at(node, '/pull'), { image_name: image.name }), 202).body;
  const second = must(await root.post(at(node, '/pull'), { image_name: image.name }), 202).body;
  assert.equal(second.id, first.id);
  const { rows } = await sql('select kind, params from node_tasks where id = $1', [first.id]);
  assert.deepEqual(rows, [
    { kind: 'image.pull', params: { image: { name: image.name, digest: image.versions[0].digest } } },
  ]);
  assert.equal((await root.post(at(node, '/pull'), { image_name: 'nobodys' })).status, 404);
  assert.equal((await root.post(at(node, '/pull'), { image_name: image.name, digest: DIGEST })).status, 404);
});

test('an image in use for creating a VM is not evicted', async () => {
  const node = await aHost();
  const params = { image: { name: 'ubuntu', digest: DIGEST } };
  await sql(
    `insert into node_tasks (id, node_id, kind, params, correlation_id, expires_at, state, started_at, dispatched_at)
     values ('tsk_cloning', $1, 'slice.image_clone', $2, 'c-test', clock_timestamp() + interval '1 hour', 'running', now(), now())`,
    [node, JSON.stringify(params)],
  );
  const refused = await root.post(at(node, '/evict'), { digest: DIGEST });
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /is being created from this image/);
  await sql("update node_tasks set state = 'completed', finished_at = now() where id = 'tsk_cloning'");
  const { kind } = must(await root.post(at(node, '/evict'), { digest: DIGEST }), 202).body;
  assert.equal(kind, 'image.evict');
});

test('a host without an image store is not asked, and one without a report has no images', async () => {
  const bare = await aHost(['diag.health_probe']);
  assert.equal((await root.post(at(bare, '/verify'), { digest: DIGEST })).status, 409);
  const unseen = await aHost();
  const empty = must(await root.get(at(unseen, '')), 200).body;
  assert.deepEqual([empty.observed_at, empty.images], [null, []]);
});
