/** Which image a launch gets that names none: only one that hosts of the region can fetch. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { TaskErrorCode } from '@gpuaas/contract/node';
import { silentLog, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { report, takeQueued } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { newImage } from '../../test/scenarios-image.ts';
import { must, type User } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { fetchImages } from '../reconcilers/fetch-images.ts';
import { record } from './inventory.ts';

const REGION = 'us-buffalo-1';
const IMAGES = '/api/v1/admin/os-images';
const STANDARD = 'H200-ubuntu-24.04-gpuaas-slice';

describe('the default image', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let ada: User;
  let root: User;
  let sql: Client;
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    ada = await test.user('ada');
    root = await test.admin();
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    await assertInvariants(test.db.database);
    await sql.end();
    for (const close of closers) await close();
  });

  /** A node whose agent is connected; its host has the images of the demo site. */
  const aHost = async (): Promise<string> => {
    const { id } = await aNode(sql, { region_name: REGION });
    await sql.query(
      `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
       values ($1, clock_timestamp() + interval '1 hour', '0.1.0', 'b', now(), '{image.pull,image.verify}')`,
      [id],
    );
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    return id;
  };
  const launch = async (image_name?: string) =>
    ada.post(`/api/v1/projects/${ada.project_id}/allocations`, {
      ...{ name: `s-${randomUUID()}`, sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 1 },
      ...(image_name === undefined ? {} : { image_name }),
    });
  const pinned = async () => must(await launch(), 202).body.image_digest;
  let images = 0;
  /** Each sorts before the earlier ones, so that it is the default as soon as it can be. */
  const aVerifiedImage = async (over: object = {}) => {
    const image = {
      ...newImage(`A${String(99 - images++).padStart(2, '0')}-image`),
      trust: 'verified' as const,
      ...over,
    };
    return { name: image.name, digest: image.digest, made: must(await root.post(IMAGES, image), 201).body };
  };
  const stateOf = async (name: string) => {
    const { default_regions, default_blockers } = must(await root.get(`${IMAGES}/${name}`), 200).body;
    return { default_regions, default_blockers };
  };
  const AVAILABLE = { default_regions: [REGION], default_blockers: [] };
  const hasInCache = (node: string, digests: readonly string[]) =>
    record({ database: test.db.database, clock: systemClock, log: silentLog() }, node, {
      inventory: {
        ...{
          observed_at: new Date().toISOString(),
          boot_id: 'b',
          vms: [],
          leases: [],
          drift: [],
          leftovers: [],
          repaired: [],
        },
        images: { value: digests.map((digest) => ({ digest, name: null, size_bytes: 1 })) },
      },
    });
  /** The host does its open tasks; null fails them. */
  const works = async (output: ((digest: string) => object) | null, code: TaskErrorCode | null = null) => {
    const done = [];
    for (const task of await takeQueued(test.db.database)) {
      const params = task.params as { digest?: string; image?: { digest: string } };
      const digest = params.image?.digest ?? params.digest ?? '';
      await report(test.db.database, task, output === null ? null : { ...output(digest) }, null, code);
      done.push({ node_id: task.node_id, kind: task.kind, digest });
    }
    return done;
  };
  const fetched = (digest: string) => ({ digest, size_bytes: 1 });
  const pull = async (node: string, image_name: string) =>
    must(await root.post(`/api/v1/admin/nodes/${node}/images/pull`, { image_name }), 202);

  it('is one that a host of the region reports in its cache, and before that no launch gets it', async () => {
    const node = await aHost();
    const { name, digest, made } = await aVerifiedImage();
    assert.deepEqual(made.default_regions, []);
    assert.match(made.default_blockers.join(), /^No host in us-buffalo-1 has fetched it yet\./);
    assert.equal(must(await launch(), 202).body.image_name, STANDARD);
    assert.equal((await launch(name)).status, 202, 'a launch may name it, and its host fetches it then');
    await hasInCache(node, [digest]);
    assert.deepEqual(await stateOf(name), AVAILABLE);
    assert.equal(await pinned(), digest);
  });

  it('is one that a host of the region has pulled or verified', async () => {
    const node = await aHost();
    const pulled = await aVerifiedImage();
    await pull(node, pulled.name);
    await works(fetched);
    assert.deepEqual([await stateOf(pulled.name), await pinned()], [AVAILABLE, pulled.digest]);
    const verified = await aVerifiedImage();
    const verify = () => root.post(`/api/v1/admin/nodes/${node}/images/verify`, { digest: verified.digest });
    must(await verify(), 202);
    await works(() => ({ is_intact: false, size_bytes: 1 }));
    assert.deepEqual((await stateOf(verified.name)).default_regions, []);
    must(await verify(), 202);
    await works(() => ({ is_intact: true, size_bytes: 1 }));
    assert.deepEqual([await stateOf(verified.name), await pinned()], [AVAILABLE, verified.digest]);
  });

  it('states why the last host could not fetch it, and is none any more where its source has lost it', async () => {
    const [node, other] = [await aHost(), await aHost()];
    const { name, digest } = await aVerifiedImage();
    await pull(node, name);
    await works(null, 'bad_image');
    const { default_regions, default_blockers } = await stateOf(name);
    assert.deepEqual(default_regions, []);
    assert.match(
      default_blockers.join(),
      /^node-\S+ in us-buffalo-1 could not fetch it: .*gpuaas admin node image pull NODE A\d\d-image$/,
    );

    await hasInCache(other, [digest]);
    await pull(node, name);
    await works(null, 'bad_image');
    assert.deepEqual(await stateOf(name), AVAILABLE, 'another host has it');
    await hasInCache(other, []);
    await pull(node, name);
    await works(null, 'no_space');
    assert.deepEqual(await stateOf(name), AVAILABLE, 'a full disk says nothing about the image');
    await pull(node, name);
    await works(null, 'bad_image');
    assert.deepEqual((await stateOf(name)).default_regions, []);
    assert.notEqual(await pinned(), digest);
  });

  it('stays an older version until a host has fetched the new one', async () => {
    const node = await aHost();
    const older = await aVerifiedImage();
    await hasInCache(node, [older.digest]);
    const newer = await aVerifiedImage({ name: older.name });
    assert.equal(await pinned(), older.digest);
    assert.equal(must(await launch(older.name), 202).body.image_digest, newer.digest);
    await hasInCache(node, [older.digest, newer.digest]);
    assert.equal(await pinned(), newer.digest);
  });

  it('is fetched by one host of each region that lacks it, and a failed attempt is repeated later', async () => {
    const { name, digest } = await aVerifiedImage();
    const unverified = await aVerifiedImage({ trust: 'unverified' });
    const turn = () => fetchImages({ database: test.db.database }, new AbortController().signal);
    const ofImage = async () => (await works(null, 'host_error')).filter((task) => task.digest === digest);
    await Promise.all([turn(), turn()]);
    await turn();
    const asked = await ofImage();
    assert.deepEqual(
      asked.map(({ kind }) => kind),
      ['image.pull'],
      'once, while the task is open',
    );
    await turn();
    assert.deepEqual(await ofImage(), [], 'it failed just now');
    await sql.query(
      "update os_image_availability set failed_at = failed_at - interval '16 minutes' where digest = $1",
      [digest],
    );
    await turn();
    const again = (await works(fetched)).filter((task) => task.digest === digest);
    assert.notEqual(again[0]?.node_id, asked[0]?.node_id, 'another host is asked');
    assert.deepEqual(await stateOf(name), AVAILABLE);
    await turn();
    assert.deepEqual(await works(fetched), [], 'nothing is missing any more');
    assert.deepEqual((await stateOf(unverified.name)).default_regions, []);
  });

  it('is missing: the launch is refused with the field to fill, and operators see the blocker at the SKU', async () => {
    const body = {
      name: 'lone-slice',
      display_name: 'Lone',
      vendor: 'NVIDIA',
      gpu_model: 'H200 SXM',
      capacity_shape: 'gpu_slice',
    };
    must(await root.post('/api/v1/admin/skus', { ...body, gpus_per_node: 8, allowed_gpu_counts: [1] }), 201);
    const price = { sku_name: 'lone-slice', gpu_hourly_price_minor: 1, currency: 'USD' };
    must(await root.post('/api/v1/admin/prices', price), 201);
    const profile = {
      name: 'lone_1g',
      sku_name: 'lone-slice',
      gpu_count: 1,
      vcpu_count: 1,
      memory_mib: 1024,
      is_default: true,
    };
    must(await root.post('/api/v1/admin/vm-profiles', profile), 201);
    const blockers = async () => must(await root.get('/api/v1/admin/skus/lone-slice'), 200).body.blockers;
    const offered = async () => must(await ada.get('/api/v1/skus/lone-slice'), 200).body;
    assert.deepEqual(await blockers(), ['It has no image yet.']);
    assert.deepEqual([(await offered()).enabled, (await offered()).disabled_reason], [false, 'It has no image yet.']);

    const { name, digest } = await aVerifiedImage({ sku_names: ['lone-slice'] });
    assert.match((await blockers()).join(), /^None of its images can be the default/);
    assert.equal((await offered()).enabled, true);
    const request = { name: 'a', sku_name: 'lone-slice', region_name: REGION, gpu_count: 1 };
    for (const path of ['allocations', 'allocations:estimate']) {
      const { name: _, ...estimate } = request;
      const refused = await ada.post(
        `/api/v1/projects/${ada.project_id}/${path}`,
        path === 'allocations' ? request : estimate,
      );
      assert.equal(refused.status, 400, JSON.stringify(refused.body));
      assert.equal(refused.body.errors[0].pointer, '/body/image_name');
      assert.match(
        refused.body.detail,
        /lone-slice has no default image in us-buffalo-1\. Choose one: gpuaas image list/,
      );
    }
    await hasInCache(await aHost(), [digest]);
    assert.deepEqual([await blockers(), (await stateOf(name)).default_regions], [[], [REGION]]);
    assert.equal((await ada.post(`/api/v1/projects/${ada.project_id}/allocations`, request)).status, 202);
  });
});
