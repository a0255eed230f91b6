import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp, type TestResponse } from '../../test/app.ts';
import { wholeSites } from '../../test/arbitrary-site.ts';
import { haveImages } from '../../test/available-images.ts';
import { demoSite } from '../../test/demo-site.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { canonicalSite, type Site } from '../domain/site.ts';
import { refreshSummary } from '../placement/summary.ts';

const SITE = '/api/v1/admin/site';
const ANY_HASH = '0'.repeat(16);
const PLACES = [
  ['acme', null],
  ['acme', 'default'],
  ['globex', null],
] as const;
const codes = ({ status, body }: TestResponse) => [status, body.code];

describe('the site as a file', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let root: Caller;
  let other: Caller;
  let sql: Client;

  const plan = (site: Site) => root.post(`${SITE}/plan`, { site });
  const changesOf = async (site: Site) => must(await plan(site), 200).body.changes;
  const apply = async (site: Site, by = root) => {
    const { hash } = must(await plan(site), 200).body;
    return by.post(`${SITE}/apply`, { site, hash });
  };
  const exported = async (): Promise<Required<Site>> => must(await root.get(SITE), 200).body;
  const placeKey = ({ organization, project }: { organization: string; project: string | null }): string =>
    `${organization}/${project ?? ''}`;
  /** Every limit by its place, from the table. */
  const limitsNow = async (): Promise<Map<string, number | null>> => {
    const { rows } = await sql.query(
      `select o.name || '/' || coalesce(p.name, '') as key, q.gpu_limit from quotas q join organizations o on o.id = q.organization_id
       left join projects p on p.id = nullif(q.project_id, '') where q.project_id = '' or p.deleted_at is null`,
    );
    return new Map(rows.map(({ key, gpu_limit }) => [key, gpu_limit]));
  };
  /** Digests are registered once, so each file has its own. */
  const withOwnDigests = <S extends Site>(site: S): S => ({
    ...site,
    images: site.images?.map((image) => ({ ...image, digest: `sha256:${randomBytes(32).toString('hex')}` })),
  });
  const files = (count: number) => fc.sample(wholeSites(Date.now()), count).map(withOwnDigests);

  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    [root, other] = [await test.admin(), await test.admin()];
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    for (const name of ['acme', 'globex'])
      must(
        await root.post('/api/v1/admin/organizations', { name, owner_email: `ada@${name}.test`, gpu_limit: 4 }),
        201,
      );
    await sql.query(
      `insert into projects (id, organization_id, name, display_name)
       select 'prj_' || right(id, 26), id, case name when 'acme' then 'default' else 'vision' end, 'Project' from organizations
       where name in ('acme', 'globex') on conflict do nothing`,
    );
  });
  after(async () => {
    try {
      await assertInvariants(test.db.database);
    } finally {
      await sql.end();
      for (const close of closers) await close();
    }
  });

  it('of the demo is as its file says, and an export of it changes nothing', async () => {
    assert.deepEqual(await changesOf({ ...demoSite(), policy: (await exported()).policy }), []);
    const file = await exported();
    assert.deepEqual(
      file.quotas.map((one) => [placeKey(one), one.gpu_limit]),
      [
        ['acme/', 4],
        ['globex/', 4],
      ],
      'the limits with which an operator created organizations',
    );
    assert.deepEqual(await changesOf(file), []);
    assert.deepEqual(must(await root.post(`${SITE}/apply`, { site: file, hash: ANY_HASH }), 200).body.changes, []);
  });

  it('removes no VM profile or image that a SKU needs which it leaves enabled', async () => {
    const { regions, skus, vm_profiles, images } = demoSite();
    assert.ok(regions && skus && vm_profiles && images);
    must(await apply({ version: 1, regions, skus, vm_profiles, images }), 200);
    await haveImages(sql, 'us-buffalo-1');
    const blockersOf = async (file: Site): Promise<string[]> =>
      must(await plan(file), 200).body.changes.flatMap(({ blockers }: { blockers: string[] }) => blockers);
    const [smaller, none] = [vm_profiles.filter(({ gpu_count }) => gpu_count !== 4), [] as typeof images];
    const use = 'is in use: 1 SKU \\(h200-sxm-slice\\)';
    const profile = await blockersOf({ version: 1, vm_profiles: smaller });
    assert.match(profile.join(), new RegExp(`^VM profile h200_4g_96c_256g ${use}`));
    const image = await blockersOf({ version: 1, images: none });
    assert.equal(image.length, images.length);
    assert.match(image.join(), new RegExp(`^Image H200-ubuntu-24.04-gpuaas-slice ${use}`));
    assert.deepEqual(await blockersOf({ version: 1, images: images.slice(1) }), [], 'another default image is left');
    const candidates = (some: typeof images) => some.map((one) => ({ ...one, channel: 'candidate' as const }));
    const changed = await blockersOf({ version: 1, images: candidates(images) });
    assert.match(changed.join(), new RegExp(`^Image H200-ubuntu-24.04-gpuaas-slice ${use}`));
    assert.equal((await apply({ version: 1, images: candidates(images) })).status, 409);
    assert.deepEqual(
      await blockersOf({ version: 1, images: [...candidates(images.slice(1)), ...images.slice(0, 1)] }),
      [],
      'one stays the default',
    );
    const metal = await plan({
      version: 1,
      images: images.map((one) => ({ ...one, sku_names: ['h200-sxm-baremetal-8g'] })),
    });
    assert.deepEqual(
      [metal.status, metal.body.errors[0].pointer, metal.body.errors[0].code],
      [400, '/body/site/images/0/sku_names/0', 'slices_only'],
    );
    const counts = (allowed_gpu_counts: number[]) =>
      skus.map((one) => (one.capacity_shape === 'gpu_slice' ? { ...one, allowed_gpu_counts } : one));
    const dropped = await plan({ version: 1, skus: counts([1, 2, 8]) });
    assert.equal(dropped.body.errors[0].pointer, '/body/site/skus/0/allowed_gpu_counts');
    must(await apply({ version: 1, skus: counts([1, 2, 8]), vm_profiles: smaller }), 200);
    const off = skus.map((one) => ({ ...one, enabled: false, disabled_reason: 'For a test.' }));
    must(await apply({ version: 1, skus: off, vm_profiles: [], images: none }), 200);
  });

  it('waits for a change of one image, which may take the other default image away', async () => {
    const { skus, images } = demoSite();
    assert.ok(skus && images);
    must(await apply({ version: 1, skus, images }), 200);
    await haveImages(sql, 'us-buffalo-1');
    const [kept, ...others] = images.map(({ name }) => name);
    const file: Site = { version: 1, images: images.filter(({ name }) => name !== kept) };
    const { hash } = must(await plan(file), 200).body;
    const change = new Client({ connectionString: test.db.ownerUrl });
    await change.connect();
    closers.unshift(() => change.end());
    await change.query('begin');
    await change.query("select from sku_catalog where name = 'h200-sxm-slice' for no key update");
    const applied = root.post(`${SITE}/apply`, { site: file, hash });
    await until('the file to wait for the lock', async () => {
      const { rows } = await sql.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%sku_catalog%'",
      );
      return rows.length > 0;
    });
    await change.query('update os_images set retired_at = clock_timestamp() where name = any ($1)', [others]);
    await change.query('commit');
    assert.deepEqual(codes(await applied), [409, 'conflict']);
    await sql.query('update os_images set retired_at = null where name = any ($1)', [others]);
  });

  it('becomes as any file says: the next plan is empty and the export is the file', async () => {
    let changed = 0;
    const wereSet = new Set((await exported()).quotas.map(placeKey));
    for (const file of files(12)) {
      const done = await apply(file);
      must(done, 200);
      changed += done.body.changes.length;
      assert.deepEqual(await changesOf(file), []);
      const now = await exported();
      const { pools, ...rest } = canonicalSite(now, Date.now()) as Required<Site>;
      const { pools: wanted, ...expected } = canonicalSite(file, Date.now()) as Required<Site>;
      assert.deepEqual(rest, expected);
      const stored = await limitsNow();
      for (const [organization, project] of PLACES) {
        const listed = file.quotas.find((one) => one.organization === organization && one.project === project);
        const key = placeKey({ organization, project });
        if (listed !== undefined) assert.equal(stored.get(key), listed.gpu_limit, key);
        // One that no file has set yet keeps what it had.
        else if (wereSet.has(key))
          assert.equal(stored.get(key), project === null ? file.policy.default_gpu_limit : null, key);
        wereSet.delete(key);
        if (listed !== undefined) wereSet.add(key);
      }
      assert.deepEqual(
        pools.filter(({ name }) => name !== 'shared'),
        wanted.filter(({ name }) => name !== 'shared'),
      );
      assert.deepEqual(await changesOf(now), []);
    }
    assert.ok(changed > 50, `${changed} changes`);
  });

  it('is not applied with a plan of another time', async () => {
    const [first, second] = files(2);
    assert.ok(first && second);
    must(await apply(first), 200);
    const stale = must(await plan(second), 200).body.hash;
    must(await apply({ version: 1, policy: { ...first.policy, contact: 'someone else' } }), 200);
    assert.deepEqual(codes(await root.post(`${SITE}/apply`, { site: second, hash: stale })), [409, 'conflict']);
    assert.deepEqual(await changesOf({ ...first, policy: { ...first.policy, contact: 'someone else' } }), []);
  });

  it('is that of one operator when two apply different files at once', async () => {
    for (const [index, one] of files(6).entries()) {
      const [two] = files(1);
      assert.ok(two);
      const [a, b] = [await plan(one), await plan(two)];
      const answers = await Promise.all([
        root.post(`${SITE}/apply`, { site: one, hash: a.body.hash }),
        other.post(`${SITE}/apply`, { site: two, hash: b.body.hash }),
      ]);
      const won = answers.findIndex(({ status }) => status === 200);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 409]), `round ${index}`);
      assert.deepEqual(await changesOf(won === 0 ? one : two), []);
    }
  });

  it('is as the file or untouched when a single resource changes meanwhile', async () => {
    for (let round = 0; round < 10; round++) {
      const [file] = files(1);
      assert.ok(file);
      const region = { name: 'r-raced', display_name: `Round ${round}` };
      must(await apply({ version: 1, regions: [region] }), 200);
      const next = { ...file, regions: [...file.regions, { ...region, wipe_minimum: 'purge' as const }] };
      const { hash } = must(await plan(next), 200).body;
      const path = `/api/v1/admin/regions/${region.name}`;
      const { version } = (await root.get(path)).body;
      const [applied, renamed] = await Promise.all([
        root.post(`${SITE}/apply`, { site: next, hash }),
        other.call('PATCH', path, { display_name: 'Renamed' }, { 'if-match': `"v${version}"` }),
      ]);
      const left: { name: string; fields: { name: string }[] }[] = await changesOf(next);
      if (applied.status === 200)
        // Whatever came after the file is the only difference.
        assert.deepEqual(
          left.map(({ name, fields }) => [name, fields.map((field) => field.name)]),
          renamed.status === 200 ? [[region.name, ['display_name']]] : [],
        );
      else {
        assert.ok([409, 412].includes(applied.status), JSON.stringify(applied.body));
        assert.equal((await root.get(path)).body.wipe_minimum, 'clear');
      }
    }
  });

  it('is not changed in part: a region with a node stays, and so does everything else', async () => {
    must(await apply({ version: 1, regions: [{ name: 'r-used', display_name: 'Used' }] }), 200);
    const { id } = await aNode(sql, { region_name: 'r-used', gpu_model: 'MODEL of a used region' });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    const [file] = files(1);
    assert.ok(file);
    const before = await exported();
    const planned = must(await plan(file), 200).body;
    const retired = planned.changes.find(({ name }: { name: string }) => name === 'r-used');
    assert.deepEqual([retired.action, retired.blockers.length], ['retire', 1]);
    const refused = await root.post(`${SITE}/apply`, { site: file, hash: planned.hash });
    assert.deepEqual(codes(refused), [409, 'conflict']);
    assert.match(refused.body.detail, /Region r-used is in use: 1 node/);
    assert.deepEqual(await exported(), before);
  });

  it('shows before it is applied that a pool with a node keeps its organization', async () => {
    const pool = { name: 'p-used', purpose: null, organization: null };
    const { pools: all } = await exported();
    const own = all.filter(({ name }) => name !== pool.name);
    must(await apply({ version: 1, pools: [...own, pool] }), 200);
    const { rows } = await sql.query<{ id: string }>("select id from pools where name = 'p-used'");
    must(
      await apply({ version: 1, regions: [...(await exported()).regions, { name: 'r-pool', display_name: 'R' }] }),
      200,
    );
    const { id } = await aNode(sql, {
      ...{ region_name: 'r-pool', gpu_model: 'MODEL of a used pool', slots: false },
      pool_id: rows[0]?.id ?? '',
    });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    const file: Site = { version: 1, pools: [...own, { ...pool, purpose: 'Research', organization: 'acme' }] };
    const planned = must(await plan(file), 200).body;
    const sentence = 'Pool p-used has 1 node. Move them to another pool before its organization changes.';
    assert.deepEqual(planned.changes.find(({ name }: { name: string }) => name === 'p-used').blockers, [sentence]);
    const refused = await root.post(`${SITE}/apply`, { site: file, hash: planned.hash });
    assert.deepEqual(codes(refused), [409, 'conflict']);
    assert.ok(refused.body.detail.includes(sentence), refused.body.detail);
    const purposeOnly = await changesOf({ version: 1, pools: [...own, { ...pool, purpose: 'Research' }] });
    assert.deepEqual(purposeOnly[0]?.blockers, [], 'another purpose moves nothing');
    await sql.query("update nodes set state = 'deleted' where id = $1", [id]);
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    assert.deepEqual(
      (await changesOf(file)).map(({ blockers }: { blockers: string[] }) => blockers),
      [[]],
    );
  });

  it('keeps the price of what runs, and sets the next one at its time', async () => {
    const sku = {
      ...{ name: 's-priced', display_name: 'Priced', vendor: 'NVIDIA', gpu_model: 'PRICED' },
      ...{ capacity_shape: 'gpu_slice' as const, gpus_per_node: 8, allowed_gpu_counts: [1] },
    };
    const { skus, prices } = await exported();
    const price = { sku_name: sku.name, gpu_hourly_price_minor: 450, currency: 'USD' };
    const later = {
      ...price,
      gpu_hourly_price_minor: 400,
      valid_from: new Date(Date.now() + 86_400_000).toISOString(),
    };
    const with_ = (...some: (typeof price)[]) => ({ version: 1, skus: [...skus, sku], prices: [...prices, ...some] });
    must(await apply(with_(price, later)), 200);
    const first: { state: string }[] = (await root.get(`/api/v1/admin/prices?sku_name=${sku.name}`)).body.items;
    assert.deepEqual(first.map(({ state }) => state).toSorted(), ['current', 'future']);
    must(await apply(with_({ ...price, gpu_hourly_price_minor: 500 })), 200);
    const then: { state: string }[] = (await root.get(`/api/v1/admin/prices?sku_name=${sku.name}`)).body.items;
    assert.deepEqual(then.map(({ state }) => state).toSorted(), ['cancelled', 'current', 'past']);
  });

  it('records a limit in the audit log of its tenant', async () => {
    const quotas = [{ organization: 'acme', project: null, gpu_limit: 17 }];
    must(await apply({ version: 1, quotas }), 200);
    const { rows } = await sql.query(
      `select a.action, a.metadata from audit_logs a join organizations o on o.id = a.organization_id
       where o.name = 'acme' and a.policy = 'site.apply' and a.metadata->>'gpu_limit' = '17'`,
    );
    assert.deepEqual(rows, [{ action: 'quota.update', metadata: { gpu_limit: 17 } }]);
  });

  it('lists the limits that operators set; one that it leaves out is that of the policy again', async () => {
    const own = { version: 1, policy: { ...(await exported()).policy, default_gpu_limit: 3 } };
    must(await apply({ ...own, quotas: [{ organization: 'acme', project: null, gpu_limit: 17 }] }), 200);
    const made = must(
      await root.post('/api/v1/admin/organizations', { name: 'later', owner_email: 'a@later.test' }),
      201,
    );
    must(await apply({ version: 1, policy: { ...own.policy, default_gpu_limit: 5 } }), 200);
    assert.deepEqual((await exported()).quotas, [{ organization: 'acme', project: null, gpu_limit: 17 }]);
    const body = { organization_id: made.body.organization.id, gpu_limit: 5 };
    must(await root.call('PUT', '/api/v1/admin/quotas', body, { 'if-match': '"v1"' }), 200);
    assert.deepEqual(
      (await exported()).quotas.map(placeKey),
      ['acme/', 'later/'],
      'also one that is as the policy says',
    );
    const [deleted] = must(
      await apply({ version: 1, quotas: [{ organization: 'later', project: null, gpu_limit: 5 }] }),
      200,
    ).body.changes;
    assert.deepEqual(
      [deleted.action, deleted.name, deleted.fields],
      ['delete', 'acme', [{ name: 'gpu_limit', before: '17', after: '5' }]],
    );
    assert.equal((await limitsNow()).get('acme/'), 5);
    const { rows } = await sql.query(
      `select a.metadata from audit_logs a join organizations o on o.id = a.organization_id
       where o.name = 'acme' and a.action = 'quota.update' order by a.id desc limit 1`,
    );
    assert.deepEqual(rows, [{ metadata: { gpu_limit: 5 } }]);
    must(await apply({ version: 1, quotas: [] }), 200);
  });

  it('keeps a limit that was set between plan and application', async () => {
    const quotas = [{ organization: 'acme', project: null, gpu_limit: 17 }];
    must(await apply({ version: 1, quotas }), 200);
    const { hash } = must(await plan({ version: 1, quotas: [] }), 200).body;
    must(await apply({ version: 1, quotas: [{ ...quotas[0], gpu_limit: 40 }] as typeof quotas }), 200);
    assert.deepEqual(codes(await root.post(`${SITE}/apply`, { site: { version: 1, quotas: [] }, hash })), [
      409,
      'conflict',
    ]);
    assert.equal((await limitsNow()).get('acme/'), 40);
  });

  it('keeps a limit that was set while it is applied', async () => {
    const quotas = [{ organization: 'acme', project: null, gpu_limit: 17 }];
    const { policy } = await exported();
    must(await apply({ version: 1, policy, quotas }), 200);
    const next: Site = {
      version: 1,
      policy: { ...policy, contact: 'desk@example.com' },
      quotas: [{ ...quotas[0], gpu_limit: 64 }] as typeof quotas,
    };
    const { hash } = must(await plan(next), 200).body;
    const held = new Client({ connectionString: test.db.ownerUrl });
    await held.connect();
    closers.unshift(() => held.end());
    await held.query('begin');
    await held.query('select from site_policy for update');
    const applied = root.post(`${SITE}/apply`, { site: next, hash });
    await until('the file to wait', async () => {
      const { rows } = await sql.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length > 0;
    });
    await sql.query(
      `update quotas q set gpu_limit = 0, version = q.version + 1 from organizations o
       where o.id = q.organization_id and o.name = 'acme' and q.project_id = ''`,
    );
    await held.query('commit');
    assert.deepEqual(codes(await applied), [409, 'conflict']);
    assert.equal((await limitsNow()).get('acme/'), 0);
  });

  it('names every row that is wrong, and changes nothing', async () => {
    const before = await exported();
    const site = {
      version: 1,
      pools: [{ name: 'p-x', organization: 'nobody' }],
      regions: [{ name: 'r-x', display_name: 'X', enabled: false }],
    };
    const refused = await plan(site);
    assert.deepEqual(codes(refused), [400, 'invalid_request']);
    assert.deepEqual(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted(), [
      '/body/site/pools/0/organization',
      '/body/site/regions/0/disabled_reason',
    ]);
    assert.deepEqual(codes(await root.post(`${SITE}/apply`, { site, hash: ANY_HASH })), [400, 'invalid_request']);
    assert.deepEqual(codes(await plan({ version: 2 })), [400, 'invalid_request']);
    assert.deepEqual(await exported(), before);
  });
});
