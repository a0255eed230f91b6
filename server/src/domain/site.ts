/**
 * A site: its sections, the rules of their rows, and its canonical form.
 *
 * A section that the file leaves out is not compared. A section that it has is complete: what it does not list is retired,
 * deleted or cancelled. A GPU limit that follows from the sign-up policy was set by no operator and is not part of a site: a
 * deleted limit is such a one again.
 */
import { SITE_FILE_VERSION, SITE_SECTIONS, type SiteChange, type SiteFile, type Static } from '@gpuaas/contract';
import { IMAGE_DEFAULTS, REGION_DEFAULTS, switchAfter, VM_PROFILE_DEFAULTS } from './catalog.ts';

export type Site = Static<typeof SiteFile>;
/** A site with every section. */
export type WholeSite = Required<Site>;
export type SiteSection = (typeof SITE_SECTIONS)[number];
type Action = Static<typeof SiteChange>['action'];
type ListSection = Exclude<SiteSection, 'policy'>;

/** One row with every field that the file can state. */
export type SiteRow<S extends SiteSection = SiteSection> = Required<
  S extends ListSection ? WholeSite[S][number] : WholeSite['policy']
>;

export type PlannedChange<S extends SiteSection = SiteSection> = {
  [K in S]: Readonly<{
    section: K;
    name: string;
    action: Action;
    /** Null for a new row. */
    before: SiteRow<K> | null;
    /** Null for one that goes. */
    after: SiteRow<K> | null;
    /** What applies once a GPU limit is deleted. */
    left?: Readonly<{ gpu_limit: number | null }>;
  }>;
}[S];

export const SHARED_POOL = 'shared';

const sorted = <T>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1));

const switched = (row: Readonly<{ enabled?: boolean; disabled_reason?: string | null }>) =>
  switchAfter({ enabled: true, disabled_reason: null }, row) ?? { enabled: false, disabled_reason: null };

type Rules<S extends SiteSection> = Readonly<{
  noun: string;
  nameOf(row: SiteRow<S>): string;
  /** Every field with its default; lists without an order are sorted. A field that is missing here does not compile. */
  canonical(row: S extends ListSection ? WholeSite[S][number] : WholeSite['policy']): SiteRow<S>;
  /** Fields of a row that never change. */
  fixed: readonly (keyof SiteRow<S>)[];
  /** How a row goes that the file no longer lists; null: it stays. */
  removal: Exclude<Action, 'create' | 'update'> | null;
  /** Before the rows that others need are made, or after those that need them are gone. */
  removed: 'first' | 'last';
}>;

const place = (row: Readonly<{ organization: string; project: string | null }>): string =>
  row.project === null ? row.organization : `${row.organization}/${row.project}`;
const isoOf = (time: string): string => new Date(time).toISOString();

export const SITE_RULES: { readonly [S in SiteSection]: Rules<S> } = {
  regions: {
    noun: 'region',
    nameOf: ({ name }) => name,
    canonical: (row) => ({
      ...row,
      ...switched(row),
      wipe_minimum: row.wipe_minimum ?? REGION_DEFAULTS.wipe_minimum,
      allows_wipe_override: row.allows_wipe_override ?? REGION_DEFAULTS.allows_wipe_override,
      fabric_isolation: row.fabric_isolation ?? REGION_DEFAULTS.fabric_isolation,
    }),
    fixed: [],
    removal: 'retire',
    removed: 'last',
  },
  skus: {
    noun: 'SKU',
    nameOf: ({ name }) => name,
    canonical: (row) => ({
      ...row,
      ...switched(row),
      allowed_gpu_counts: sorted(row.allowed_gpu_counts),
      gpu_ids: sorted(row.gpu_ids ?? []),
    }),
    fixed: ['vendor', 'gpu_model', 'capacity_shape', 'gpus_per_node'],
    removal: 'retire',
    removed: 'last',
  },
  vm_profiles: {
    noun: 'VM profile',
    nameOf: ({ name }) => name,
    canonical: (row) => ({
      ...row,
      hugepages: row.hugepages ?? VM_PROFILE_DEFAULTS.hugepages,
      numa_policy: row.numa_policy ?? VM_PROFILE_DEFAULTS.numa_policy,
      is_default: row.is_default ?? VM_PROFILE_DEFAULTS.is_default,
    }),
    fixed: ['sku_name', 'gpu_count'],
    removal: 'retire',
    removed: 'first',
  },
  prices: {
    noun: 'price',
    nameOf: ({ sku_name, valid_from }) => (valid_from === '' ? sku_name : `${sku_name} from ${valid_from}`),
    canonical: (row) => ({ ...row, valid_from: row.valid_from ? isoOf(row.valid_from) : '' }),
    fixed: [],
    removal: 'cancel',
    removed: 'first',
  },
  images: {
    noun: 'image',
    nameOf: ({ name }) => name,
    canonical: (row) => ({
      ...row,
      boot_kind: row.boot_kind ?? IMAGE_DEFAULTS.boot_kind,
      readiness_checks: sorted(row.readiness_checks),
      sku_names: sorted(row.sku_names),
      channel: row.channel ?? IMAGE_DEFAULTS.channel,
      trust: row.trust ?? IMAGE_DEFAULTS.trust,
    }),
    fixed: [],
    removal: 'retire',
    removed: 'first',
  },
  pools: {
    noun: 'pool',
    nameOf: ({ name }) => name,
    canonical: (row) => ({ ...row, purpose: row.purpose ?? null, organization: row.organization ?? null }),
    fixed: [],
    removal: 'retire',
    removed: 'last',
  },
  policy: {
    noun: 'site policy',
    nameOf: () => 'policy',
    canonical: (row) => ({ ...row, mail_domains: sorted(row.mail_domains) }),
    fixed: [],
    removal: null,
    removed: 'first',
  },
  quotas: {
    noun: 'GPU limit',
    nameOf: place,
    canonical: (row) => row,
    fixed: [],
    removal: 'delete',
    removed: 'first',
  },
  group_mappings: {
    noun: 'group mapping',
    nameOf: (row) => `${row.group} in ${place(row)}`,
    canonical: (row) => row,
    fixed: [],
    removal: 'delete',
    removed: 'first',
  },
};

export type AnyRow = Readonly<Record<string, unknown>>;
type AnyRules = Readonly<{
  noun: string;
  nameOf(row: AnyRow): string;
  canonical(row: AnyRow): AnyRow;
  fixed: readonly string[];
  removal: Action | null;
  removed: 'first' | 'last';
}>;
/** The rules without the type of their rows, for code that treats all sections alike. */
export const rulesOf = (section: SiteSection): AnyRules => SITE_RULES[section] as unknown as AnyRules;

export const rowsOf = (site: Site, section: SiteSection): readonly AnyRow[] | undefined => {
  if (section === 'policy') return site.policy === undefined ? undefined : [site.policy];
  return site[section];
};
export const allRowsOf = (site: WholeSite, section: SiteSection): readonly AnyRow[] =>
  section === 'policy' ? [site.policy] : site[section];

/**
 * Prices as rows of today: the current one of each SKU without a time, then the future ones. What an earlier time of the same
 * SKU said is history.
 */
const pricesAt = (prices: readonly SiteRow<'prices'>[], nowMs: number): SiteRow<'prices'>[] => {
  const begun = (row: SiteRow<'prices'>): number => (row.valid_from === '' ? 0 : Date.parse(row.valid_from));
  const current = new Map<string, SiteRow<'prices'>>();
  for (const row of prices) {
    const best = current.get(row.sku_name);
    if (begun(row) <= nowMs && (best === undefined || begun(row) >= begun(best))) current.set(row.sku_name, row);
  }
  return [
    ...[...current.values()].map((row) => ({ ...row, valid_from: '' })),
    ...prices.filter((row) => begun(row) > nowMs),
  ];
};

/** Every field stated, every list in order; equal sites are equal values. */
export const canonicalSite = <S extends Site>(site: S, nowMs: number): S extends WholeSite ? WholeSite : Site => {
  const out: Record<string, unknown> = { version: SITE_FILE_VERSION };
  for (const section of SITE_SECTIONS) {
    const { canonical, nameOf } = rulesOf(section);
    const rows = rowsOf(site, section)?.map(canonical);
    if (rows === undefined) continue;
    const now = section === 'prices' ? pricesAt(rows as unknown as SiteRow<'prices'>[], nowMs) : rows;
    const inOrder = now.toSorted((a, b) => (nameOf(a as AnyRow) < nameOf(b as AnyRow) ? -1 : 1));
    out[section] = section === 'policy' ? inOrder[0] : inOrder;
  }
  return out as WholeSite;
};

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The fields that differ, in the order of the new row. */
export const changedFields = (before: AnyRow, after: AnyRow): string[] =>
  Object.keys(after).filter((field) => !isSame(before[field], after[field]));

/** Only what changes, so that a change of another field meanwhile is not overwritten. */
export const changedRow = <Row extends object>(before: Row, after: Row): Partial<Row> => {
  const names = changedFields(before as AnyRow, after as AnyRow);
  return Object.fromEntries(Object.entries(after).filter(([name]) => names.includes(name))) as Partial<Row>;
};

/** The file of a site: prices without a time have none. */
export const fileOf = (site: WholeSite): WholeSite => ({
  ...site,
  prices: site.prices.map(({ valid_from, ...row }) => (valid_from ? { ...row, valid_from } : row)),
});
