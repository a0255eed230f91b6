/** The life of the catalog's resources: created, sold, changed, retired, brought back. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp, type TestResponse } from '../../test/app.ts';
import { haveImages } from '../../test/available-images.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { newImage } from '../../test/scenarios-image.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { recordHostSize } from '../db/node.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { refreshSummary } from '../placement/summary.ts';
import { retireRegion } from './region.ts';
import { retireSku } from './sku.ts';

const ADMIN = '/api/v1/admin';
const REASON = { reason: 'For a test' };
const codes = ({ status, body }: TestResponse) => [status, body.code];
const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();

describe('the catalog', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let ada: Awaited<ReturnType<TestApp['user']>>;
  let bob: Awaited<ReturnType<TestApp['user']>>;
  let root: Caller;
  let sql: Client;

  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    [ada, bob, root] = [await test.user('ada'), await test.user('bob'), await test.admin()];
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    try {
      await assertInvariants(test.db.database);
    } finally {
      await sql.end();
      for (const close of closers) await close();
    }
  });

  const patch = (path: string, body: object, version: number) =>
    root.call('PATCH', `${ADMIN}/${path}`, body, { 'if-match': `"v${version}"` });
  const post = (path: string, body: object) => root.post(`${ADMIN}/${path}`, body);
  const made = async (path: string, body: object) => must(await post(path, body), 201).body;

  /** A region with one host and a slice SKU of its own GPU model, ready to launch but for the price. */
  const aSite = async (word: string) => {
    const name = `${word}-${randomUUID().slice(0, 6)}`;
    const gpu_model = `MODEL ${name}`;
    await made('regions', { name, display_name: 'Site of a test' });
    const { id } = await aNode(sql, { region_name: name, gpu_model });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    await made('skus', {
      name,
      display_name: 'SKU of a test',
      vendor: 'NVIDIA',
      gpu_model,
      capacity_shape: 'gpu_slice',
      gpus_per_node: 8,
      allowed_gpu_counts: [1, 2],
    });
    await made('os-images', { ...newImage(`I-${name}`), trust: 'verified', sku_names: [name] });
    await haveImages(sql, name);
    const profile = { sku_name: name, gpu_count: 1, vcpu_count: 8, memory_mib: 16_384, is_default: true };
    await made('vm-profiles', { name: name.replaceAll('-', '_'), ...profile });
    const price = (minor: number, valid_from?: string) =>
      post('prices', {
        sku_name: name,
        gpu_hourly_price_minor: minor,
        currency: 'USD',
        ...(valid_from && { valid_from }),
      });
    const launch = (who = ada, gpu_count = 1) =>
      who.post(`/api/v1/projects/${who.project_id}/allocations`, {
        name: `l-${randomUUID()}`,
        sku_name: name,
        region_name: name,
        gpu_count,
      });
    /** Ends a launch that no worker took. */
    const fail = (id: string) =>
      test.db.database.write(PLATFORM, async (tx) => {
        await tx.query(
          "update allocations set state = 'failed', failure_reason = 'Test.' where id = $1 and state = 'requested'",
          [id],
        );
        await insertOutboxEvent(tx, {
          event_type: 'allocation.changed',
          organization_id: ada.organization_id,
          project_id: ada.project_id,
          subject: id,
          data: { allocation_id: id, name: 'ended', state: 'failed', state_reason: null },
          correlation_id: 'test',
        });
        await tx.query(
          `insert into audit_logs (id, organization_id, project_id, actor_kind, action, target_kind, target_id, result, policy, correlation_id)
           values ($1, $2, $3, 'system', 'allocation.fail', 'allocation', $4, 'success', 'test', 'test')`,
          [mintId('aud'), ada.organization_id, ada.project_id, id],
        );
      });
    return { name, node_id: id, price, launch, fail, profile: name.replaceAll('-', '_') };
  };
  const priceOf = (answer: TestResponse) => must(answer, 202).body.placement.gpu_hourly_price.amount_minor;

  it('offers no one a SKU without a price, and says so', async () => {
    const site = await aSite('unpriced');
    const sku = must(await ada.get(`/api/v1/skus/${site.name}`), 200).body;
    assert.deepEqual([sku.enabled, sku.gpu_hourly_price, sku.disabled_reason], [false, null, 'It has no price yet.']);
    const own = must(await root.get(`${ADMIN}/skus/${site.name}`), 200).body;
    assert.deepEqual([own.enabled, own.blockers], [true, ['It has no price yet.']]);
    const refused = await site.launch();
    assert.deepEqual(codes(refused), [409, 'sku_disabled']);
    assert.match(refused.body.detail, /cannot be launched now\. It has no price yet\./);
    must(await site.price(300), 201);
    assert.equal(priceOf(await site.launch()), 300);
    assert.match((await site.launch(ada, 2)).body.detail, /It has no VM profile for 2 GPUs\./);
  });

  it('keeps the default VM profile of a SKU while it is enabled, and a GPU count while a VM profile has it', async () => {
    const site = await aSite('sized');
    const path = `vm-profiles/${site.profile}`;
    for (const refused of [await post(`${path}/retire`, REASON), await patch(path, { is_default: false }, 1)]) {
      assert.deepEqual(codes(refused), [409, 'conflict']);
      assert.match(
        refused.body.detail,
        new RegExp(`^VM profile ${site.profile} is in use: 1 SKU \\(${site.name}\\)\\.`),
      );
      assert.deepEqual(refused.body.reasons, [{ code: 'in_use', kind: 'SKU', count: 1, names: [site.name] }]);
    }
    const dropped = await patch(`skus/${site.name}`, { allowed_gpu_counts: [2] }, 1);
    assert.deepEqual(codes(dropped), [409, 'conflict']);
    assert.match(
      dropped.body.detail,
      new RegExp(`GPU count 1 of SKU ${site.name} is in use: 1 VM profile \\(${site.profile}\\)`),
    );
    // Another default takes its place, and a SKU that is not enabled needs none.
    const other = { sku_name: site.name, gpu_count: 1, vcpu_count: 4, memory_mib: 1024, is_default: true };
    await made('vm-profiles', { ...other, name: `${site.profile}_b` });
    must(await post(`${path}/retire`, REASON), 200);
    must(await patch(`skus/${site.name}`, { enabled: false, disabled_reason: 'For a test.' }, 1), 200);
    must(await post(`${path}_b/retire`, REASON), 200);
    must(await patch(`skus/${site.name}`, { allowed_gpu_counts: [2] }, 2), 200);
  });

  it('keeps the last default image of an enabled SKU in a region, in both orders of a race', async () => {
    const site = await aSite('imaged');
    must(await site.price(1), 201);
    const first = `I-${site.name}`;
    const retire = (image: string, body: object = {}) => post(`os-images/${image}/retire`, { ...REASON, ...body });
    const digestOf = async (image: string) => must(await root.get(`${ADMIN}/os-images/${image}`), 200).body.digest;
    for (const body of [{}, { digest: await digestOf(first) }]) {
      const refused = await retire(first, body);
      assert.deepEqual(codes(refused), [409, 'conflict']);
      assert.match(refused.body.detail, new RegExp(`^Image ${first} is in use: 1 SKU \\(${site.name}\\)\\.`));
    }
    for (const change of [{ channel: 'candidate' }, { trust: 'unverified' }, { sku_names: ['h200-sxm-slice'] }]) {
      const refused = await patch(`os-images/${first}`, change, 1);
      assert.deepEqual(codes(refused), [409, 'conflict'], JSON.stringify(change));
      assert.match(refused.body.detail, new RegExp(`1 SKU \\(${site.name}\\)\\. .* or disable the SKU\\.`));
    }
    const unverified = { ...newImage(first), digest: `sha256:${'ab'.repeat(32)}`, sku_names: [site.name] };
    assert.deepEqual(codes(await post('os-images', unverified)), [409, 'conflict'], 'a new version is not verified');
    must(await patch(`os-images/${first}`, { display_name: 'Renamed' }, 1), 200);
    assert.equal((await site.launch()).status, 202, 'a refusal changes nothing');
    const second = `J-${site.name}`;
    await made('os-images', { ...newImage(second), trust: 'verified', sku_names: [site.name] });
    assert.equal((await retire(first)).status, 409, 'no host has fetched the other one');
    await haveImages(sql, site.name);
    const both = await Promise.all([retire(first), retire(second)]);
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409],
    );
    must(await patch(`skus/${site.name}`, { enabled: false, disabled_reason: 'For a test.' }, 1), 200);
    must(await retire(both[0]?.status === 409 ? first : second), 200);
  });

  it('lets only one of two changes take a default image of an enabled SKU away', async () => {
    const site = await aSite('twice');
    must(await site.price(1), 201);
    const second = `J-${site.name}`;
    await made('os-images', { ...newImage(second), trust: 'verified', sku_names: [site.name] });
    await haveImages(sql, site.name);
    const statuses = await Promise.all([
      patch(`os-images/I-${site.name}`, { channel: 'candidate' }, 1),
      patch(`os-images/${second}`, { trust: 'unverified' }, 1),
    ]);
    assert.deepEqual(
      statuses.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409],
    );
  });

  it('sells at the price that is current, and a running allocation keeps its own', async () => {
    const site = await aSite('priced');
    must(await site.price(300), 201);
    const first = await site.launch();
    const next = must(await site.price(250, inHours(1)), 201).body;
    assert.equal(next.state, 'future');
    assert.equal(priceOf(await site.launch()), 300);
    // Time passes: every price began two hours earlier.
    await sql.query(
      `update sku_prices set created_at = created_at - interval '2 hours', valid_from = valid_from - interval '2 hours' where sku_name = $1`,
      [site.name],
    );
    assert.equal(priceOf(await site.launch()), 250);
    assert.equal((await ada.get(`/api/v1/skus/${site.name}`)).body.gpu_hourly_price.amount_minor, 250);
    const { id, project_id } = first.body;
    const kept = must(await ada.get(`/api/v1/projects/${project_id}/allocations/${id}`), 200).body;
    assert.equal(kept.placement.gpu_hourly_price.amount_minor, 300);
    const { items } = must(await root.get(`${ADMIN}/prices?sku_name=${site.name}`), 200).body;
    assert.deepEqual(
      items.map(({ state, valid_until }: { state: string; valid_until: string | null }) => [
        state,
        valid_until === null,
      ]),
      [
        ['current', true],
        ['past', false],
      ],
    );
  });

  it('refuses a price of the past, two from one time, and the cancellation of one that has begun', async () => {
    const site = await aSite('refused');
    const begun = must(await site.price(300), 201).body;
    assert.deepEqual(codes(await site.price(1, inHours(-1))), [400, 'invalid_request']);
    const at = inHours(2);
    const future = must(await site.price(200, at), 201).body;
    assert.deepEqual(codes(await site.price(201, at)), [409, 'conflict']);
    const cancelled = must(await post(`prices/${future.id}/cancel`, REASON), 200).body;
    assert.deepEqual([cancelled.state, cancelled.valid_until], ['cancelled', null]);
    assert.deepEqual(codes(await post(`prices/${future.id}/cancel`, REASON)), [409, 'conflict']);
    assert.deepEqual(codes(await post(`prices/${begun.id}/cancel`, REASON)), [409, 'conflict']);
    must(await site.price(201, at), 201);
    assert.deepEqual(codes(await post('prices', { sku_name: 'none', gpu_hourly_price_minor: 1, currency: 'USD' })), [
      400,
      'invalid_request',
    ]);
    for (const minor of [-1, 1.5, 10_000_001, '400', null])
      assert.equal((await site.price(minor as number)).status, 400);
  });

  it('orders prices that race: the later one is current, and none is lost', async () => {
    const site = await aSite('race');
    const answers = await Promise.all([101, 102, 103, 104, 105, 106].map((minor) => site.price(minor)));
    const prices = answers.map((answer) => must(answer, 201).body);
    const times = new Set(prices.map(({ valid_from }) => valid_from));
    const { rows } = await sql.query<{ id: string; minor: number }>(
      'select id, gpu_hourly_price_minor::int as minor from sku_prices where sku_name = $1 order by valid_from desc',
      [site.name],
    );
    assert.deepEqual([rows.length, times.size > 0], [6, true]);
    assert.equal(priceOf(await site.launch()), rows[0]?.minor);
    const { items } = (await root.get(`${ADMIN}/prices?sku_name=${site.name}`)).body;
    const current = items.filter(({ state }: { state: string }) => state === 'current');
    assert.deepEqual(
      current.map(({ id }: { id: string }) => id),
      [rows[0]?.id],
    );
  });

  it('retires a region only without nodes and allocations, lists them, and brings it back', async () => {
    const site = await aSite('region');
    must(await site.price(1), 201);
    const { id } = must(await site.launch(), 202).body;
    const path = `regions/${site.name}/retire`;
    for (const kind of ['regions', 'skus']) {
      const inList = async (by: Caller, at: string) =>
        must(await by.get(`${at}/${kind}?limit=200`), 200).body.items.find(
          (one: { name: string }) => one.name === site.name,
        );
      assert.equal(must(await root.get(`${ADMIN}/${kind}/${site.name}`), 200).body.allocation_count, 1);
      assert.equal((await inList(root, ADMIN)).allocation_count, 1);
      assert.equal('allocation_count' in (await inList(ada, '/api/v1')), false, 'tenants see none');
    }
    const used = await post(path, REASON);
    assert.deepEqual(codes(used), [409, 'conflict']);
    const { name: node } = must(await root.get(`${ADMIN}/nodes/${site.node_id}`), 200).body;
    assert.deepEqual(
      used.body.reasons.map(({ kind, count, names }: Record<string, unknown>) => [kind, count, names]),
      [
        ['node', 1, [node]],
        ['allocation', 1, [id]],
      ],
    );
    assert.match(used.body.detail, new RegExp(`is in use: 1 node \\(${node}\\), 1 allocation \\(${id}\\)`));

    const name = `empty-${randomUUID().slice(0, 6)}`;
    await made('regions', { name, display_name: 'Empty' });
    assert.deepEqual(codes(await post('regions', { name, display_name: 'Again' })), [409, 'already_exists']);
    must(await post(`regions/${name}/retire`, REASON), 200);
    const listed = async (query: string) =>
      (await root.get(`${ADMIN}/regions?limit=200${query}`)).body.items.map((one: { name: string }) => one.name);
    assert.deepEqual(
      [(await listed('')).includes(name), (await listed('&include_retired=true')).includes(name)],
      [false, true],
    );
    const seen = (await ada.get('/api/v1/regions?limit=200')).body.items.map((one: { name: string }) => one.name);
    assert.equal(seen.includes(name), false);
    assert.deepEqual(codes(await post(`regions/${name}/retire`, REASON)), [409, 'conflict']);
    assert.deepEqual(codes(await patch(`regions/${name}`, { enabled: true }, 2)), [409, 'conflict']);
    const host = { name: `h-${name}`, region_name: name, gpu_model: 'X', gpu_count: 8, capacity_mode: 'slice' };
    assert.deepEqual(codes(await post('nodes', host)), [400, 'invalid_request']);
    const back = await made('regions', { name, display_name: 'Back', enabled: false, disabled_reason: 'Soon.' });
    assert.deepEqual([back.display_name, back.enabled, back.retired_at, back.version], ['Back', false, null, 3]);
  });

  it('retires a SKU only without allocations, and launches of it find none then', async () => {
    const site = await aSite('sku');
    must(await site.price(1), 201);
    const { id } = must(await site.launch(), 202).body;
    const used = await post(`skus/${site.name}/retire`, REASON);
    assert.deepEqual([codes(used), used.body.reasons[0].names], [[409, 'conflict'], [id]]);
    await site.fail(id);
    must(await site.price(2, inHours(1)), 201);
    must(await post(`skus/${site.name}/retire`, REASON), 200);
    assert.deepEqual(codes(await site.launch()), [404, 'not_found']);
    assert.equal((await ada.get(`/api/v1/skus/${site.name}`)).status, 404);
    assert.notEqual(must(await root.get(`${ADMIN}/skus/${site.name}`), 200).body.retired_at, null);
    const spec = { name: site.name, display_name: 'Back', vendor: 'NVIDIA', gpu_model: `MODEL ${site.name}` };
    const shape = { capacity_shape: 'gpu_slice', gpus_per_node: 8 };
    assert.deepEqual(codes(await post('skus', { ...spec, ...shape, allowed_gpu_counts: [9] })), [
      400,
      'invalid_request',
    ]);
    await made('skus', { ...spec, ...shape, allowed_gpu_counts: [1] });
    assert.deepEqual(codes(await site.launch()), [409, 'sku_disabled'], 'no price was set since');
    const back = must(await root.get(`${ADMIN}/skus/${site.name}`), 200).body;
    const missing = ['It has no price yet.', 'It has no VM profile yet.'];
    assert.deepEqual([back.gpu_hourly_price, back.blockers, back.vm_profiles], [null, missing, []]);
    const prices = must(await root.get(`${ADMIN}/prices?sku_name=${site.name}`), 200).body.items;
    assert.deepEqual(
      prices.map((one: { state: string; valid_until: string | null }) => [one.state, one.valid_until === null]),
      [
        ['cancelled', true],
        ['past', false],
      ],
    );
    must(await site.price(7), 201);
    const size = { vcpu_count: 8, memory_mib: 16_384, is_default: true };
    await made('vm-profiles', { name: site.profile, sku_name: site.name, gpu_count: 1, ...size });
    assert.equal(priceOf(await site.launch()), 7);
    const metal = { ...spec, name: `${site.name}-m`, capacity_shape: 'baremetal', gpus_per_node: 8 };
    assert.deepEqual(codes(await post('skus', { ...metal, allowed_gpu_counts: [4] })), [400, 'invalid_request']);
  });

  it('places no VM on a host that is too small for its profile, and names the host', async () => {
    const site = await aSite('size');
    must(await site.price(1), 201);
    const size = { vcpu_count: 64, memory_mib: 262_144, hugepages_mib: 131_072, numa_nodes: 2 };
    await test.db.database.write(PLATFORM, async (tx) => {
      await recordHostSize(tx, site.node_id, size);
      await refreshSummary(tx, site.node_id);
    });
    const small = must(await site.launch(), 202).body;
    const grown = must(await patch(`vm-profiles/${site.profile}`, { memory_mib: 65_537 }, 1), 200).body;
    assert.deepEqual([grown.hosts_checked, grown.hosts_too_small], [1, 1]);
    assert.equal(grown.too_small[0].node_id, site.node_id);
    assert.equal(grown.too_small[0].reason, '1 of 2 NUMA nodes with 65536 MiB of huge pages, 65537 needed');
    assert.deepEqual(codes(await site.launch()), [409, 'insufficient_capacity']);
    const running = await ada.get(`/api/v1/projects/${ada.project_id}/allocations/${small.id}`);
    assert.equal(running.body.placement.memory_mib, 16_384);
    must(await patch(`vm-profiles/${site.profile}`, { memory_mib: 65_536 }, 2), 200);
    assert.equal((await site.launch()).body.placement.memory_mib, 65_536);
  });

  it('names the hosts without the pages that a profile needs, and a launch keeps its pages and NUMA policy', async () => {
    const site = await aSite('pages');
    must(await site.price(1), 201);
    const measure = (pages_mib: { '2M': number; '1G': number; reserved: number }) =>
      test.db.database.write(PLATFORM, async (tx) => {
        const size = { vcpu_count: 64, memory_mib: 262_144, hugepages_mib: 0, numa_nodes: 2 };
        await recordHostSize(tx, site.node_id, { ...size, pages_mib });
        await refreshSummary(tx, site.node_id);
      });
    await measure({ '2M': 65_536, '1G': 0, reserved: 65_536 });
    const profile = `vm-profiles/${site.profile}`;
    const before = must(await root.get(`${ADMIN}/${profile}`), 200).body;
    assert.deepEqual([before.hugepages, before.numa_policy], ['auto', 'strict']);
    const large = must(await patch(profile, { hugepages: '1G', numa_policy: 'preferred' }, 1), 200).body;
    assert.deepEqual([large.hugepages, large.numa_policy, large.hosts_too_small], ['1G', 'preferred', 1]);
    assert.equal(large.too_small[0].reason, 'host with 0 MiB of 1G huge pages, 16384 needed');
    assert.deepEqual(codes(await site.launch()), [409, 'insufficient_capacity']);
    await measure({ '2M': 0, '1G': 65_536, reserved: 65_536 });
    assert.equal(must(await root.get(`${ADMIN}/${profile}`), 200).body.hosts_too_small, 0);
    const { id } = must(await site.launch(), 202).body;
    must(await patch(profile, { hugepages: 'auto', numa_policy: 'strict' }, 2), 200);
    const { rows } = await test.db.database.read(PLATFORM, (reader) =>
      reader.query('select hugepages, numa_policy from allocation_placements where allocation_id = $1', [id]),
    );
    assert.deepEqual(rows, [{ hugepages: '1G', numa_policy: 'preferred' }], 'a running allocation keeps its own');
  });

  it('has one default VM profile for each GPU count, of a slice SKU', async () => {
    const site = await aSite('default');
    const other = { name: `${site.profile}_b`, sku_name: site.name, gpu_count: 1, vcpu_count: 4, memory_mib: 8192 };
    const created = await made('vm-profiles', { ...other, is_default: true });
    const isDefault = async () =>
      (await root.get(`${ADMIN}/vm-profiles?sku_name=${site.name}`)).body.items.map(
        (one: { is_default: boolean }) => one.is_default,
      );
    assert.deepEqual(await isDefault(), [false, true]);
    must(await patch(`vm-profiles/${site.profile}`, { is_default: true }, 2), 200);
    assert.deepEqual(await isDefault(), [true, false]);
    assert.deepEqual(codes(await patch(`vm-profiles/${other.name}`, { vcpu_count: 5 }, created.version)), [
      412,
      'precondition_failed',
    ]);
    assert.deepEqual(codes(await post('vm-profiles', other)), [409, 'already_exists']);
    assert.deepEqual(codes(await post('vm-profiles', { ...other, name: 'x', gpu_count: 4 })), [400, 'invalid_request']);
    assert.deepEqual(codes(await post('vm-profiles', { ...other, name: 'x', sku_name: 'none' })), [
      400,
      'invalid_request',
    ]);
    const metal = { ...other, name: 'x', sku_name: 'h200-sxm-baremetal-8g', gpu_count: 8 };
    assert.deepEqual(codes(await post('vm-profiles', metal)), [400, 'invalid_request']);
    must(await post(`vm-profiles/${other.name}/retire`, REASON), 200);
    assert.equal((await isDefault()).length, 1);
    assert.equal((await made('vm-profiles', other)).retired_at, null);
  });

  it('moves a node to a dedicated pool only without claims of others, and then serves only its organization', async () => {
    const site = await aSite('pool');
    must(await site.price(1), 201);
    const pool = await made('pools', { name: site.name, purpose: 'Bob only', organization_id: bob.organization_id });
    assert.deepEqual([pool.kind, pool.node_count], ['dedicated', 0]);
    const move = async (pool_name: string) => {
      const { version } = must(await root.get(`${ADMIN}/nodes/${site.node_id}`), 200).body;
      return patch(`nodes/${site.node_id}`, { pool_name, ...REASON }, version);
    };
    const { id } = must(await site.launch(ada), 202).body;
    const refused = await move(site.name);
    assert.deepEqual([codes(refused), refused.body.detail.includes(id)], [[409, 'conflict'], true]);
    assert.deepEqual(codes(await move('nowhere')), [400, 'invalid_request']);

    const { id: second } = await aNode(sql, { region_name: site.name, gpu_model: `MODEL ${site.name}` });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, second));
    const free = must(await root.get(`${ADMIN}/nodes/${second}`), 200).body;
    const moved = must(await patch(`nodes/${second}`, { pool_name: site.name, ...REASON }, free.version), 200).body;
    assert.deepEqual([moved.pool_name, moved.pool_organization_id], [site.name, bob.organization_id]);
    assert.deepEqual(codes(await patch(`nodes/${second}`, { pool_name: 'test', ...REASON }, free.version)), [
      412,
      'precondition_failed',
    ]);
    // Ada fills the shared node; the dedicated one is not hers.
    for (let at = 1; at < 8; at++) must(await site.launch(ada), 202);
    assert.deepEqual(codes(await site.launch(ada)), [409, 'insufficient_capacity']);
    must(await site.launch(bob), 202);
    const { rows } = await sql.query('select organization_id from allocation_resource_claims where node_id = $1', [
      second,
    ]);
    assert.deepEqual(rows, [{ organization_id: bob.organization_id }]);

    const used = await post(`pools/${site.name}/retire`, REASON);
    assert.deepEqual([codes(used), used.body.reasons[0].names], [[409, 'conflict'], [moved.name]]);
    assert.deepEqual(codes(await patch(`pools/${site.name}`, { organization_id: null }, 1)), [409, 'conflict']);
    must(await patch(`pools/${site.name}`, { purpose: 'Bob and friends' }, 1), 200);
    must(
      await patch(
        `nodes/${second}`,
        { pool_name: 'test', ...REASON },
        (await root.get(`${ADMIN}/nodes/${second}`)).body.version,
      ),
      200,
    );
    must(await post(`pools/${site.name}/retire`, REASON), 200);
    assert.deepEqual(codes(await move(site.name)), [400, 'invalid_request']);
    const back = await made('pools', { name: site.name });
    assert.deepEqual([back.id, back.kind, back.purpose, back.version], [pool.id, 'shared', null, 4]);
    assert.deepEqual(codes(await post('pools', { name: site.name })), [409, 'already_exists']);
    const lost = { name: 'lost', organization_id: `org_${'0'.repeat(26)}` };
    assert.deepEqual(codes(await post('pools', lost)), [400, 'invalid_request']);
  });

  const waiting = (): Promise<void> =>
    until('a session waits for a lock', async () => {
      const { rowCount } = await sql.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return Boolean(rowCount);
    });

  it('lands no launch in a SKU that is retired before its commit', async () => {
    const site = await aSite('late');
    must(await site.price(1), 201);
    let launched: Promise<TestResponse> | undefined;
    await test.db.database.write(PLATFORM, async (tx) => {
      await retireSku(tx, site.name);
      launched = site.launch();
      await waiting();
    });
    const refused = await launched;
    assert.deepEqual(refused && codes(refused), [404, 'not_found']);
  });

  it('lands no launch in what is retired meanwhile, and retires nothing that a launch took, whichever is first', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const site = await aSite('either');
      must(await site.price(1), 201);
      const retire = () =>
        test.db.database
          .write(PLATFORM, (tx) => retireSku(tx, site.name))
          .then(
            () => 'retired',
            (err: Error) => err.message,
          );
      const first = round % 2 === 0 ? site.launch() : undefined;
      const ending = retire();
      const [launched, retired] = await Promise.all([first ?? site.launch(), ending]);
      const isRetired = retired === 'retired';
      assert.equal(launched.status === 202, !isRetired, `${launched.status} ${retired}`);
      if (!isRetired) assert.match(retired, /in use|in the meantime/);
      outcomes.add(isRetired ? 'retired' : 'launched');
    }
    assert.ok(outcomes.size > 0);
  });

  it('adds no node to a region that is retired before its commit', async () => {
    const name = `gone-${randomUUID().slice(0, 6)}`;
    await made('regions', { name, display_name: 'Gone soon' });
    let added: Promise<TestResponse> | undefined;
    await test.db.database.write(PLATFORM, async (tx) => {
      await retireRegion(tx, name);
      added = post('nodes', {
        name: `h-${name}`,
        region_name: name,
        gpu_model: 'X',
        gpu_count: 8,
        capacity_mode: 'slice',
      });
      await waiting();
    });
    const refused = await added;
    assert.deepEqual(refused && codes(refused), [400, 'invalid_request']);
  });
});
