import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { haveImages } from '../../test/available-images.ts';
import { aNode } from '../../test/placement.ts';
import { newImage } from '../../test/scenarios-image.ts';
import { PLATFORM } from '../db/client.ts';
import { findGuestImage } from '../db/guest.ts';
import { refreshSummary } from '../placement/summary.ts';

const REGION = 'us-buffalo-1';
const IMAGES = '/api/v1/admin/os-images';
type Person = Awaited<ReturnType<TestApp['user']>>;
const slice = (image_name?: string) => ({
  name: `s-${randomUUID()}`,
  sku_name: 'h200-sxm-slice',
  region_name: REGION,
  gpu_count: 1,
  ...(image_name === undefined ? {} : { image_name }),
});

describe('an image', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let ada: Person;
  let ops: Person;
  let sql: Client;
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    ada = await test.user('ada');
    ops = await test.user('olga');
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    await sql.query("update users set platform_role = 'ops' where id = $1", [ops.me.id]);
    const { id } = await aNode(sql, { region_name: REGION });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  });
  after(async () => {
    await sql.end();
    for (const close of closers) await close();
  });
  const launch = (image_name?: string) => ada.post(`/api/v1/projects/${ada.project_id}/allocations`, slice(image_name));
  const get = async (name: string) => (await ada.get(`/api/v1/os-images/${name}`)).body;

  it('is pinned by digest at launch, and a later version changes nothing for existing allocations', async () => {
    const first = newImage('H200-debian-12');
    const made = await ops.post(IMAGES, first);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const before = await launch(first.name);
    assert.deepEqual([before.status, before.body.image_digest], [202, first.digest]);
    const second = { ...newImage(first.name), readiness_checks: ['gpu_driver'] };
    assert.equal((await ops.post(IMAGES, second)).status, 201);
    const after = await launch(first.name);
    assert.equal(after.body.image_digest, second.digest);
    const guest = await test.db.database.read(PLATFORM, (reader) =>
      findGuestImage(reader, { image_name: first.name, image_digest: before.body.image_digest }),
    );
    assert.deepEqual(guest, {
      name: first.name,
      digest: first.digest,
      boot_kind: 'uefi',
      readiness_checks: first.readiness_checks,
    });
    assert.deepEqual(
      (await get(first.name)).versions.map(({ digest }: { digest: string }) => digest),
      [second.digest, first.digest],
    );
  });

  it('defaults to the first stable and verified one of the SKU, pinned too', async () => {
    const put = async (change: object) => {
      const { version } = await get('H200-debian-12');
      const headers = { 'if-match': `"v${version}"` };
      assert.equal((await ops.call('PATCH', `${IMAGES}/H200-debian-12`, change, headers)).status, 200);
    };
    const standard = 'H200-ubuntu-24.04-gpuaas-slice';
    assert.equal((await launch()).body.image_name, standard, 'a new image is unverified');
    await put({ trust: 'verified', channel: 'candidate' });
    assert.equal((await launch()).body.image_name, standard, 'a candidate is no default');
    await put({ channel: 'stable' });
    assert.equal((await launch()).body.image_name, standard, 'no host has fetched it');
    await haveImages(sql, REGION);
    const { body } = await launch();
    assert.equal(body.image_name, 'H200-debian-12');
    assert.match(body.image_digest, /^sha256:/);
  });

  it('falls back when a version is retired, and a retired digest cannot be registered again', async () => {
    const [first, second] = [newImage('falls-back'), newImage('falls-back')];
    for (const image of [first, second]) assert.equal((await ops.post(IMAGES, image)).status, 201);
    const retire = (digest: string) => ops.post(`${IMAGES}/falls-back/retire`, { digest, reason: 'A bad build.' });
    const back = await retire(second.digest);
    assert.deepEqual([back.body.enabled, back.body.digest], [true, first.digest]);
    assert.equal((await retire(second.digest)).status, 409);
    assert.equal((await retire(`sha256:${'0'.repeat(64)}`)).status, 404);
    assert.equal((await retire(first.digest)).body.enabled, false);
    assert.equal((await launch('falls-back')).status, 400);
    assert.equal((await ops.post(IMAGES, first)).status, 409);
    assert.equal((await ops.post(IMAGES, newImage('falls-back'))).body.enabled, true);
  });

  it('is retired as a whole, and registered again with the version it had', async () => {
    const image = newImage('retires-whole');
    assert.equal((await ops.post(IMAGES, image)).status, 201);
    const retire = () => ops.post(`${IMAGES}/${image.name}/retire`, { reason: 'Replaced.' });
    const gone = await retire();
    assert.deepEqual([gone.status, gone.body.enabled, gone.body.versions[0].retired_at], [200, false, null]);
    assert.equal((await retire()).status, 409);
    assert.equal((await ada.get(`/api/v1/os-images/${image.name}`)).status, 404);
    assert.equal((await launch(image.name)).status, 400);
    const names = async (query: string) =>
      (await ops.get(`${IMAGES}?limit=200${query}`)).body.items.map(({ name }: { name: string }) => name);
    assert.deepEqual(
      [(await names('')).includes(image.name), (await names('&include_retired=true')).includes(image.name)],
      [false, true],
    );
    const back = await ops.post(IMAGES, image);
    assert.deepEqual([back.status, back.body.retired_at, back.body.enabled], [201, null, true]);
    assert.equal((await launch(image.name)).status, 202);
  });

  it('is refused with a name that differs only in case, for an unknown or bare-metal SKU, and to tenants', async () => {
    assert.equal((await ops.post(IMAGES, newImage('h200-DEBIAN-12'))).status, 409);
    assert.equal((await ops.post(IMAGES, { ...newImage('lost'), sku_names: ['none'] })).status, 400);
    const metal = { ...newImage('lost'), sku_names: ['h200-sxm-slice', 'h200-sxm-baremetal-8g'] };
    const refused = await ops.post(IMAGES, metal);
    assert.deepEqual(
      [refused.status, refused.body.errors[0]?.pointer, refused.body.errors[0]?.code],
      [400, '/body/sku_names', 'slices_only'],
    );
    assert.match(refused.body.detail, /h200-sxm-baremetal-8g: images are for slices/);
    assert.equal((await ada.get('/api/v1/os-images/lost')).status, 404);
    assert.equal((await ada.post(IMAGES, newImage())).status, 403);
  });

  it('records in the audit log who registered or retired it', async () => {
    const { rows } = await sql.query(
      `select action, actor_id, metadata from audit_logs where action like 'image.%' and result = 'success' and metadata ->> 'image_name' = 'falls-back' order by id`,
    );
    assert.deepEqual(
      rows.map((row) => row.action),
      ['image.register', 'image.register', 'image.retire', 'image.retire', 'image.register'],
    );
    assert.ok(rows.every((row) => row.actor_id === ops.me.id));
    assert.equal(rows[0].metadata.digest_authority, 'the operators of this site');
  });
});
