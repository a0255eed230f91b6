import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { wholeSites } from '../../test/arbitrary-site.ts';
import { canonicalSite, fileOf, type PlannedChange, type Site, type WholeSite } from './site.ts';
import { changeView, movesPool } from './site-change.ts';
import { planSite, type SiteWorld } from './site-plan.ts';
import { changesImages, imagesAfter, usesInFile } from './site-uses.ts';

const NOW = Date.parse('2026-11-19T12:00:00.000Z');
const WORLD: SiteWorld = {
  now_ms: NOW,
  organizations: new Set(['acme', 'globex']),
  projects: new Set(['acme/default', 'globex/vision']),
  image_versions: [],
  digest: (text) => createHash('sha256').update(text).digest('hex'),
};
const EMPTY = canonicalSite(
  {
    ...{ version: 1, regions: [], skus: [], vm_profiles: [], prices: [], images: [], pools: [] },
    policy: { sign_up: 'invited', mail_domains: [], default_gpu_limit: 0, contact: null },
    ...{ quotas: [], group_mappings: [] },
  },
  NOW,
);

const whole = wholeSites(NOW);

const planned = (file: Site, actual: WholeSite) => {
  const plan = planSite(file, actual, WORLD);
  assert.ok('changes' in plan, JSON.stringify(plan.problems));
  return plan;
};

/** What the changes say, carried out on values. */
const carryOut = (actual: WholeSite, changes: readonly PlannedChange[]): WholeSite => {
  const next = structuredClone(actual) as Record<string, unknown>;
  for (const { section, before, after } of changes) {
    if (section === 'policy') {
      next['policy'] = after;
      continue;
    }
    const rows = next[section] as unknown[];
    const rest = rows.filter((row) => JSON.stringify(row) !== JSON.stringify(before));
    assert.equal(rest.length, rows.length - (before === null ? 0 : 1), 'what changes was there');
    next[section] = after === null ? rest : [...rest, after];
  }
  // The prices of a retired SKU are history.
  const site = next as WholeSite;
  const live = site.prices.filter(({ sku_name }) => site.skus.some(({ name }) => name === sku_name));
  return canonicalSite({ ...site, prices: live }, NOW);
};

/** What a file never removes. */
const kept = (actual: WholeSite, file: WholeSite): WholeSite => ({
  ...file,
  pools: [
    ...file.pools,
    ...actual.pools.filter(({ name }) => name === 'shared' && !file.pools.some((one) => one.name === name)),
  ],
});

describe('a site file', () => {
  it('applied to any site makes it as the file says: the next plan is empty', () => {
    let moved = 0;
    fc.assert(
      fc.property(whole, whole, (first, second) => {
        const one = carryOut(EMPTY, planned(first, EMPTY).changes);
        assert.deepEqual(planned(first, one).changes, []);
        const { changes } = planned(second, one);
        const two = carryOut(one, changes);
        assert.deepEqual(planned(second, two).changes, []);
        assert.deepEqual(two, canonicalSite(kept(one, second), NOW));
        if (changes.length > 0) moved++;
      }),
      { numRuns: 200 },
    );
    assert.ok(moved > 100, `${moved} of 200 pairs differed`);
  });

  it('is what an export of its site says', () => {
    fc.assert(
      fc.property(whole, (file) => {
        const site = carryOut(EMPTY, planned(file, EMPTY).changes);
        const exported = fileOf(site);
        assert.deepEqual(planned(exported, site).changes, []);
        assert.deepEqual(canonicalSite(exported, NOW), site);
      }),
    );
  });

  it('manages only the sections that it has', () => {
    const sections = ['regions', 'skus', 'vm_profiles', 'prices', 'images', 'pools', 'policy', 'quotas'] as const;
    fc.assert(
      fc.property(whole, whole, fc.subarray([...sections]), (first, second, some) => {
        const site = carryOut(EMPTY, planned(first, EMPTY).changes);
        const part = { version: 1, ...Object.fromEntries(some.map((name) => [name, second[name]])) } as Site;
        const plan = planSite(part, site, WORLD);
        if ('changes' in plan)
          for (const { section } of plan.changes) assert.ok(some.includes(section as 'skus'), section);
      }),
    );
  });

  it('retires after what needs it is gone, and makes before what needs it', () => {
    const order = ['regions', 'skus', 'vm_profiles', 'prices', 'images', 'pools'];
    fc.assert(
      fc.property(whole, whole, (first, second) => {
        const site = carryOut(EMPTY, planned(first, EMPTY).changes);
        const { changes } = planned(second, site);
        const at = (of: (one: PlannedChange) => boolean) => changes.flatMap((one, index) => (of(one) ? [index] : []));
        const skuRetired = Math.min(...at((one) => one.section === 'skus' && one.action === 'retire'), 1_000);
        const needs = at((one) => ['vm_profiles', 'images', 'prices'].includes(one.section));
        assert.ok(Math.max(...needs, -1) < skuRetired);
        const made = changes.filter(({ action }) => action === 'create').map(({ section }) => order.indexOf(section));
        const known = made.filter((index) => index >= 0);
        assert.deepEqual(
          known,
          known.toSorted((a, b) => a - b),
        );
      }),
    );
  });

  it('has a hash that names file, site and changes', () => {
    fc.assert(
      fc.property(whole, whole, (first, second) => {
        const empty = planned(first, EMPTY);
        assert.equal(planned(structuredClone(first), EMPTY).hash, empty.hash);
        const site = carryOut(EMPTY, empty.changes);
        const moved = planned(second, EMPTY).changes.length > 0 && planned(second, site).changes.length > 0;
        if (moved && empty.changes.length > 0) assert.notEqual(planned(second, site).hash, planned(second, EMPTY).hash);
      }),
    );
  });
});

const SKU = {
  ...{ name: 's-a', display_name: 'A', vendor: 'NVIDIA', gpu_model: 'H200', capacity_shape: 'gpu_slice' as const },
  ...{ gpus_per_node: 8, allowed_gpu_counts: [1, 8] },
};
const IMAGE = {
  ...{ name: 'debian', display_name: 'Debian', os_family: 'debian', os_version: '12', sku_names: ['s-a'] },
  ...{ digest: `sha256:${'a'.repeat(64)}`, format: 'raw' as const, size_bytes: 1, driver_strategy: 'none' as const },
  ...{ readiness_checks: [], source: 'a build', digest_authority: 'the build' },
};
const PRICE = { sku_name: 's-a', gpu_hourly_price_minor: 100, currency: 'USD' };
const PROFILE = { name: 'p', sku_name: 's-a', gpu_count: 1, vcpu_count: 1, memory_mib: 1024, is_default: true };
const SITE = carryOut(
  EMPTY,
  planned({ version: 1, skus: [SKU], prices: [PRICE], images: [IMAGE], vm_profiles: [PROFILE] }, EMPTY).changes,
);

describe('the problems of a site file', () => {
  const cases: readonly (readonly [string, Omit<Site, 'version'>, string])[] = [
    ['two rows of one name', { pools: [{ name: 'a' }, { name: 'a' }] }, '/pools/1'],
    ['a field that never changes', { skus: [{ ...SKU, gpu_model: 'H100' }] }, '/skus/0/gpu_model'],
    [
      'a profile of another SKU than before',
      { vm_profiles: [{ ...PROFILE, gpu_count: 8 }] },
      '/vm_profiles/0/gpu_count',
    ],
    [
      'a switch without its reason',
      { regions: [{ name: 'r', display_name: 'R', enabled: false }] },
      '/regions/0/disabled_reason',
    ],
    ['GPU counts beyond the node', { skus: [{ ...SKU, allowed_gpu_counts: [16] }] }, '/skus/0/allowed_gpu_counts'],
    [
      'a GPU count that the SKU does not allow',
      { vm_profiles: [{ ...PROFILE, name: 'q', gpu_count: 2 }] },
      '/vm_profiles/0/gpu_count',
    ],
    ['two defaults', { vm_profiles: [PROFILE, { ...PROFILE, name: 'q' }] }, '/vm_profiles/1/is_default'],
    [
      'an unknown SKU of a profile',
      { vm_profiles: [{ ...PROFILE, name: 'q', sku_name: 'x' }] },
      '/vm_profiles/0/sku_name',
    ],
    ['an unknown SKU of a price', { prices: [PRICE, { ...PRICE, sku_name: 'x' }] }, '/prices/1/sku_name'],
    ['an unknown SKU of an image', { images: [{ ...IMAGE, sku_names: ['s-a', 'x'] }] }, '/images/0/sku_names/1'],
    ['a price that would end', { prices: [] }, '/prices'],
    ['facts of a digest', { images: [{ ...IMAGE, size_bytes: 2 }] }, '/images/0/size_bytes'],
    ['the boot kind of a digest', { images: [{ ...IMAGE, boot_kind: 'kernel' }] }, '/images/0/boot_kind'],
    ['an unknown organization', { pools: [{ name: 'a', organization: 'nobody' }] }, '/pools/0/organization'],
    ['an unknown project', { quotas: [{ organization: 'acme', project: 'x', gpu_limit: 1 }] }, '/quotas/0/project'],
  ];
  for (const [what, part, pointer] of cases)
    it(`name ${what}`, () => {
      const plan = planSite({ version: 1, ...part }, SITE, WORLD);
      assert.deepEqual(
        plan.problems.map((one) => one.pointer),
        [pointer],
      );
      assert.ok(plan.problems.every(({ message }) => message.length > 0));
    });

  it('refuse a digest that cannot come back', () => {
    const version = (digest: string, is_retired: boolean) => ({ image_name: 'debian', digest, is_retired });
    const [old, gone] = [`sha256:${'b'.repeat(64)}`, `sha256:${'c'.repeat(64)}`];
    const world = {
      ...WORLD,
      image_versions: [version(IMAGE.digest, false), version(old, false), version(gone, true)],
    };
    for (const [digest, code] of [
      [old, 'older'],
      [gone, 'retired'],
    ] as const)
      assert.deepEqual(
        planSite({ version: 1, images: [{ ...IMAGE, digest }] }, SITE, world).problems.map((one) => one.code),
        [code],
      );
  });

  it('let a dated price become the current one without a change of the file', () => {
    const file = {
      version: 1,
      prices: [PRICE, { ...PRICE, gpu_hourly_price_minor: 90, valid_from: '2027-01-01T00:00:00Z' }],
    };
    const before = carryOut(SITE, planned(file, SITE).changes);
    const later = { ...WORLD, now_ms: Date.parse('2027-01-02T00:00:00Z') };
    // As the database reads it then.
    const after = canonicalSite(fileOf(before), later.now_ms);
    const plan = planSite(file, after, later);
    assert.ok('changes' in plan);
    assert.deepEqual(plan.changes, []);
  });
});

test('a change reads as its fields before and after, an empty list as none, what does not exist as null', () => {
  const plan = planned({ version: 1, skus: [SKU], regions: [] }, EMPTY);
  const [created] = plan.changes.map((change) => changeView(change, []));
  assert.deepEqual([created?.section, created?.name, created?.action], ['skus', 's-a', 'create']);
  assert.deepEqual(created?.fields.find(({ name }) => name === 'gpu_model')?.before, null);
  const before = { ...IMAGE, sku_names: [] };
  const view = changeView({ section: 'images', name: 'debian', action: 'update', before, after: IMAGE } as never, [
    'x',
  ]);
  assert.deepEqual(view.fields, [{ name: 'sku_names', before: 'none', after: 's-a' }]);
  assert.deepEqual(view.blockers, ['x']);
  const gone = changeView(
    { section: 'pools', name: 'p', action: 'retire', before: { name: 'p' }, after: null } as never,
    [],
  );
  assert.deepEqual(gone.fields, []);
});

describe('a GPU limit that the file does not list', () => {
  const limit = (gpu_limit: number | null, project: string | null = null) => ({
    ...{ organization: project === null ? 'globex' : 'acme', project, gpu_limit },
  });
  const LIMITED = carryOut(EMPTY, planned({ version: 1, quotas: [limit(16), limit(4, 'default')] }, EMPTY).changes);
  const fieldsOf = (file: Omit<Site, 'version'>) =>
    planned({ version: 1, ...file }, LIMITED).changes.map((change) => {
      const { section, action, name, fields } = changeView(change, []);
      return [section, action, name, ...fields.map(({ before, after }) => `${before} → ${after}`)];
    });

  it('is deleted: the plan shows the limit of the policy that applies then, and none for a project', () => {
    assert.deepEqual(fieldsOf({ quotas: [] }), [
      ['quotas', 'delete', 'acme/default', '4 → no limit'],
      ['quotas', 'delete', 'globex', '16 → 0'],
    ]);
    const policy = { ...EMPTY.policy, default_gpu_limit: 8 };
    assert.deepEqual(fieldsOf({ quotas: [limit(4, 'default')], policy })[0], ['quotas', 'delete', 'globex', '16 → 8']);
  });

  it('is kept where the file has no quotas, and another first limit of organizations changes none', () => {
    const policy = { ...EMPTY.policy, default_gpu_limit: 16 };
    assert.deepEqual(fieldsOf({ policy }), [['policy', 'update', 'policy', '0 → 16']]);
    const after = carryOut(LIMITED, planned({ version: 1, policy }, LIMITED).changes);
    assert.deepEqual(fileOf(after).quotas, fileOf(LIMITED).quotas);
  });

  it('makes another plan when the limit that would apply changes meanwhile', () => {
    const other = { ...LIMITED, policy: { ...LIMITED.policy, default_gpu_limit: 8 } };
    assert.notEqual(planned({ version: 1, quotas: [] }, LIMITED).hash, planned({ version: 1, quotas: [] }, other).hash);
  });
});

test('a pool moves if it is there before and after with another organization', () => {
  const pool = (before: object | null, after: object | null, section = 'pools') =>
    movesPool({ section, name: 'p', action: 'update', before, after } as never);
  const acme = { organization: 'acme' };
  assert.ok(pool(acme, { organization: null }));
  for (const [before, after] of [
    [acme, acme],
    [null, acme],
    [acme, null],
  ] as const)
    assert.ok(!pool(before, after));
  assert.ok(!pool(acme, { organization: null }, 'quotas'));
});

test('a whole site without SKUs in the file checks its rows against those that exist', () => {
  assert.deepEqual(planSite({ version: 1, prices: [PRICE] }, SITE, WORLD).problems, []);
});

describe('a row that the file removes', () => {
  const removed = (section: 'vm_profiles' | 'images' | 'pools', before: object | null): PlannedChange =>
    ({ section, name: 'x', action: 'retire', before, after: null }) as never;
  const NO_IMAGES = { now: [], after: [] };
  const uses = (
    change: PlannedChange,
    file: Omit<Site, 'version'>,
    actual: Omit<Site, 'version'>,
    images: Parameters<typeof usesInFile>[3] = NO_IMAGES,
  ) => usesInFile(change, { version: 1, ...file }, { version: 1, ...actual }, images);
  const of = (name: string) => ({
    ...{ name, sku_names: ['s-a'] },
    ...{ default_regions: ['north'], available_regions: ['north'] },
  });
  const OF_SKU = [{ kind: 'SKU', count: 1, names: ['s-a'] }];
  const OFF = { ...SKU, enabled: false, disabled_reason: 'Sold out.' };

  it('is needed as the last default VM profile of a SKU that the file leaves enabled', () => {
    const profile = removed('vm_profiles', PROFILE);
    assert.deepEqual(uses(profile, { vm_profiles: [] }, { skus: [SKU] }), OF_SKU);
    assert.deepEqual(uses(profile, {}, { skus: [SKU] }), OF_SKU);
    assert.deepEqual(uses(profile, { vm_profiles: [{ ...PROFILE, name: 'q' }] }, { skus: [SKU] }), []);
    assert.deepEqual(uses(profile, { vm_profiles: [], skus: [OFF] }, { skus: [SKU] }), []);
    assert.deepEqual(uses(profile, { vm_profiles: [] }, {}), []);
  });

  it('is needed as the last default image of such a SKU, together with the others that the file removes', () => {
    const image = { ...removed('images', IMAGE), name: 'debian' };
    const images = { now: [of('debian'), of('ubuntu')], after: [of('ubuntu')] };
    assert.deepEqual(uses(image, {}, { skus: [SKU] }, images), []);
    assert.deepEqual(uses(image, {}, { skus: [SKU] }, { ...images, after: [] }), OF_SKU);
    assert.deepEqual(uses(image, { skus: [OFF] }, { skus: [SKU] }, { now: [of('debian')], after: [] }), []);
    assert.deepEqual(
      uses({ ...image, name: 'other' }, {}, { skus: [SKU] }, { ...images, after: [] }),
      [],
      'no default',
    );
    assert.deepEqual(uses(removed('pools', { name: 'x' }), {}, {}), []);
  });

  it('is not the only way to lose a default image: each change of one counts with all others of the file', () => {
    const changed = (name: string, over: object): PlannedChange =>
      ({
        ...{ section: 'images', name, action: 'update', before: IMAGE },
        after: { ...IMAGE, name, channel: 'stable', trust: 'verified', ...over },
      }) as never;
    const now = [of('debian'), { ...of('ubuntu'), default_regions: [] }];
    const loses = (...changes: readonly PlannedChange[]) =>
      changes.flatMap((change) => uses(change, {}, { skus: [SKU] }, { now, after: imagesAfter(now, changes) }));
    for (const over of [{ channel: 'candidate' }, { trust: 'unverified' }, { sku_names: [] }])
      assert.deepEqual(loses(changed('debian', over)), OF_SKU);
    assert.deepEqual(loses(changed('debian', { display_name: 'Renamed' })), []);
    assert.deepEqual(
      loses(changed('debian', { channel: 'candidate' }), changed('ubuntu', {})),
      [],
      'the other takes over',
    );
    const gone = { ...removed('images', IMAGE), name: 'debian' };
    assert.deepEqual(imagesAfter(now, [gone, removed('pools', null)]), [now[1]]);
    assert.deepEqual([changesImages([gone]), changesImages([removed('pools', null)])], [true, false]);
    assert.equal(changesImages([{ ...gone, before: null } as never]), false);
  });

  it('is a problem of the file where a SKU drops the GPU count of a VM profile that stays', () => {
    const skus = [{ ...SKU, allowed_gpu_counts: [8] }];
    assert.deepEqual(
      planSite({ version: 1, skus }, SITE, WORLD).problems.map(({ pointer, code }) => [pointer, code]),
      [['/skus/0/allowed_gpu_counts', 'in_use']],
    );
    assert.deepEqual(planSite({ version: 1, skus, vm_profiles: [] }, SITE, WORLD).problems, []);
  });
});
