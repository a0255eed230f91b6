/** Any valid site file of a few names, its lists in any order. The organizations acme (project default) and globex must exist. */
import { FABRIC_ISOLATIONS } from '@gpuaas/contract';
import fc from 'fast-check';
import type { Site } from '../src/domain/site.ts';

const named = <T>(names: readonly string[], row: (name: string) => fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.subarray([...names]).chain((some) => (some.length === 0 ? fc.constant([]) : fc.tuple(...some.map(row))));
const shuffled = <T>(list: T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length });
const text = fc.constantFrom('One', 'Two', 'Three');
const switches = fc.constantFrom({}, { enabled: true }, { enabled: false, disabled_reason: 'Closed for repairs' });

const regions = named(['r-a', 'r-b', 'r-c'], (name) =>
  fc
    .record({
      display_name: text,
      wipe: fc.constantFrom({}, { wipe_minimum: 'purge' as const }),
      fabric: fc.constantFrom({}, ...FABRIC_ISOLATIONS.map((fabric_isolation) => ({ fabric_isolation }))),
      on: switches,
    })
    .map(({ wipe, fabric, on, ...row }) => ({ name, ...row, ...wipe, ...fabric, ...on })),
);
const skus = named(['s-a', 's-b', 's-c'], (name) =>
  fc
    .record({ display_name: text, counts: fc.constantFrom([1, 2, 4, 8], [8, 1]), on: switches })
    .map(({ on, counts, ...row }) => ({
      ...{ name, vendor: 'NVIDIA', gpu_model: 'H200', capacity_shape: 'gpu_slice' as const, gpus_per_node: 8 },
      ...{ ...row, ...on, allowed_gpu_counts: [...counts] },
    })),
);
const amount = fc.constantFrom(100, 200, 300);
const DAY_MS = 86_400_000;
/** Two that have passed, and two to come; written in more than one way. */
const datesAround = (nowMs: number): string[] => [
  ...[-300, -20, 30].map((days) => new Date(nowMs + days * DAY_MS).toISOString()),
  new Date(nowMs + 60 * DAY_MS).toISOString().replace(/\.\d+Z$/, '+00:00'),
];
const pricesOf = (names: readonly string[], dates: readonly string[]) =>
  fc.tuple(
    ...names.map((sku_name) =>
      fc.tuple(amount, fc.subarray([...dates]), amount).map(([first, from, later]) => [
        { sku_name, currency: 'USD', gpu_hourly_price_minor: first },
        ...from.map((valid_from, at) => ({
          sku_name,
          currency: 'USD',
          gpu_hourly_price_minor: later + at,
          valid_from,
        })),
      ]),
    ),
  );
const profileOf = (key: string, size: number) => {
  const [sku_name = '', count, which] = key.split('/');
  return {
    ...{ name: key.replaceAll(/[/-]/g, '_'), sku_name, gpu_count: Number(count), vcpu_count: size, memory_mib: 1024 },
    ...(which === 'x' ? { is_default: true } : {}),
  };
};
const sizes = fc.integer({ min: 1, max: 3 });
/** A SKU keeps its default profiles: a file that removes one is refused while the SKU is enabled. */
const profilesOf = (names: readonly string[]) =>
  fc
    .tuple(
      fc.tuple(
        ...names.flatMap((sku) => [1, 8].map((count) => sizes.map((size) => profileOf(`${sku}/${count}/x`, size)))),
      ),
      named(
        names.map((sku) => `${sku}/1/y`),
        (key) => sizes.map((size) => profileOf(key, size)),
      ),
    )
    .map(([defaults, others]) => [...defaults, ...others]);
const imagesOf = (names: readonly string[]) =>
  named(['debian', 'ubuntu'], (name) =>
    fc
      .record({ build: fc.constantFrom('a', 'b'), display_name: text, of: fc.subarray([...names]), ok: fc.boolean() })
      .map(({ build, display_name, of, ok }) => ({
        ...{ name, display_name, os_family: name, os_version: '1', sku_names: of },
        digest: `sha256:${build.repeat(64)}`,
        ...{ format: 'raw' as const, size_bytes: 1, driver_strategy: 'none' as const, readiness_checks: ['b', 'a'] },
        ...(build === 'a' ? { boot_kind: 'kernel' as const } : {}),
        ...{ source: 'a build', digest_authority: 'the build' },
        ...(ok ? { trust: 'verified' as const } : {}),
      })),
  );
const pools = named(['p-a', 'p-b', 'shared'], (name) =>
  fc.constantFrom({ name }, { name, purpose: 'Tests' }, ...(name === 'shared' ? [] : [{ name, organization: 'acme' }])),
);
const quotas = named(['acme', 'acme/default', 'globex'], (key) =>
  fc.constantFrom(0, 8, null).map((gpu_limit) => {
    const [organization = '', project = null] = key.split('/');
    return { organization, project, gpu_limit };
  }),
);
const mappings = named(['/a', '/b'], (group) =>
  fc
    .constantFrom('viewer' as const, 'admin' as const)
    .map((role) => ({ group, organization: 'acme', project: null, role })),
);
const policy = fc.record({
  sign_up: fc.constantFrom('closed' as const, 'open' as const),
  mail_domains: fc.shuffledSubarray(['example.com', 'example.org']),
  default_gpu_limit: fc.constantFrom(null, 0, 8),
  contact: fc.constantFrom(null, 'operators'),
});

/** A whole and valid file, its lists in any order. */
export const wholeSites = (nowMs: number): fc.Arbitrary<Required<Site>> =>
  skus.chain((some) => {
    const names = some.map(({ name }) => name);
    return fc.record({
      version: fc.constant(1),
      regions: regions.chain(shuffled),
      skus: shuffled(some),
      vm_profiles: profilesOf(names).chain(shuffled),
      prices: pricesOf(names, datesAround(nowMs)).chain((lists) => shuffled(lists.flat())),
      images: imagesOf(names).chain(shuffled),
      pools: pools.chain(shuffled),
      policy,
      quotas: quotas.chain(shuffled),
      group_mappings: mappings.chain(shuffled),
    });
  }) as fc.Arbitrary<Required<Site>>;
