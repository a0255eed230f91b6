/**
 * The plan of a site file: what must change for the site to be as the file says. Pure: the file, the site, the time and the
 * names that the file may use go in; changes in the order in which they are made, or the problems of the file, come out.
 *
 * A section that the file leaves out is not compared. A section that it has is complete: what it does not list is retired,
 * deleted or cancelled. A GPU limit that follows from the sign-up policy was set by no operator and is not part of a site: a
 * deleted limit is such a one again. The digest is an argument, so that these rules also run without node:crypto.
 */
import { SITE_FILE_VERSION, SITE_SECTIONS, type SiteChange, type SiteFile, type Static } from '@gpuaas/contract';
import {
  gpuCountsProblem,
  gpuCountUses,
  IMAGE_DEFAULTS,
  imageSkuProblem,
  REGION_DEFAULTS,
  switchAfter,
  VM_PROFILE_DEFAULTS,
  vmProfileProblem,
} from './catalog.ts';

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

/** A rule that the file breaks. The pointer starts at the file. */
export type SiteProblem = Readonly<{ pointer: string; code: string; message: string }>;

/** What the file may refer to beyond itself. */
export type SiteWorld = Readonly<{
  now_ms: number;
  organizations: ReadonlySet<string>;
  /** As `organization/project`. */
  projects: ReadonlySet<string>;
  /** Every version of every image, newest first. */
  image_versions: readonly Readonly<{ image_name: string; digest: string; is_retired: boolean }>[];
  /** Of text, as hexadecimal digits; a plan is known by the first of them. */
  digest(text: string): string;
}>;

const HASH_DIGITS = 16;

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

const VERSION_FIELDS = [
  'format',
  'size_bytes',
  'boot_kind',
  'driver_strategy',
  'readiness_checks',
  'source',
  'digest_authority',
  'os_family',
  'os_version',
] as const satisfies readonly (keyof SiteRow<'images'>)[];

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
const rulesOf = (section: SiteSection): AnyRules => SITE_RULES[section] as unknown as AnyRules;

const rowsOf = (site: Site, section: SiteSection): readonly AnyRow[] | undefined => {
  if (section === 'policy') return site.policy === undefined ? undefined : [site.policy];
  return site[section];
};
const allRowsOf = (site: WholeSite, section: SiteSection): readonly AnyRow[] =>
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

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The fields that differ, in the order of the new row. */
export const changedFields = (before: AnyRow, after: AnyRow): string[] =>
  Object.keys(after).filter((field) => !isSame(before[field], after[field]));

/** Only what changes, so that a change of another field meanwhile is not overwritten. */
export const changedRow = <Row extends object>(before: Row, after: Row): Partial<Row> => {
  const names = changedFields(before as AnyRow, after as AnyRow);
  return Object.fromEntries(Object.entries(after).filter(([name]) => names.includes(name))) as Partial<Row>;
};

const listProblems = (site: Site, actual: WholeSite, world: SiteWorld): SiteProblem[] => {
  const problems: SiteProblem[] = [];
  const complain = (pointer: string, message: string, code = 'invalid') => problems.push({ pointer, code, message });

  for (const section of SITE_SECTIONS) {
    const { nameOf, canonical, fixed, noun } = rulesOf(section);
    const before = new Map(allRowsOf(actual, section).map((row) => [nameOf(canonical(row)), canonical(row)]));
    const seen = new Set<string>();
    for (const [index, given] of (rowsOf(site, section) ?? []).entries()) {
      const row = canonical(given);
      const name = nameOf(row);
      if (seen.has(name)) complain(`/${section}/${index}`, `is the second ${noun} ${name}`, 'duplicate');
      seen.add(name);
      const old = before.get(name);
      for (const field of fixed)
        if (old !== undefined && !isSame(old[field], row[field]))
          complain(
            `/${section}/${index}/${field}`,
            `is ${String(old[field])} and cannot change: retire the ${noun}, or use another name`,
            'fixed',
          );
    }
  }

  const skus = new Map(((site.skus ?? actual.skus) as SiteRow<'skus'>[]).map((sku) => [sku.name, sku]));
  const needSku = (pointer: string, name: string): SiteRow<'skus'> | undefined => {
    const sku = skus.get(name);
    if (sku === undefined) complain(pointer, `names no SKU: ${name}`, 'unknown');
    return sku;
  };
  for (const section of ['regions', 'skus'] as const)
    for (const [index, row] of (site[section] ?? []).entries())
      if (row.enabled === false && (row.disabled_reason ?? null) === null)
        complain(`/${section}/${index}/disabled_reason`, 'is required while disabled', 'required');
  for (const [index, sku] of (site.skus ?? []).entries()) {
    const problem = gpuCountsProblem(sku);
    if (problem !== null) complain(`/skus/${index}/allowed_gpu_counts`, problem);
    const profiles = actual.vm_profiles.filter(({ sku_name }) => sku_name === sku.name);
    const use =
      problem === null && site.vm_profiles === undefined
        ? gpuCountUses(sku.allowed_gpu_counts, profiles)[0]
        : undefined;
    if (use !== undefined)
      complain(
        `/skus/${index}/allowed_gpu_counts`,
        `leaves out a GPU count of VM profiles: ${use.names.join(', ')}; list the VM profiles that stay in the same file`,
        'in_use',
      );
  }

  const defaults = new Set<string>();
  for (const [index, row] of (site.vm_profiles ?? []).entries()) {
    const sku = needSku(`/vm_profiles/${index}/sku_name`, row.sku_name);
    const problem = sku === undefined ? null : vmProfileProblem(sku, row.gpu_count);
    if (problem !== null) complain(`/vm_profiles/${index}/${problem.field}`, problem.problem);
    const shape = `${row.sku_name} with ${row.gpu_count} GPUs`;
    if (row.is_default === true && defaults.has(shape))
      complain(`/vm_profiles/${index}/is_default`, `is the second default of ${shape}`, 'duplicate');
    if (row.is_default === true) defaults.add(shape);
  }

  const priced = new Set(site.prices?.map(({ sku_name }) => sku_name));
  for (const [index, row] of (site.prices ?? []).entries()) needSku(`/prices/${index}/sku_name`, row.sku_name);
  for (const { sku_name, valid_from } of site.prices === undefined ? [] : actual.prices)
    if (!valid_from && skus.has(sku_name) && !priced.has(sku_name))
      complain(
        '/prices',
        `has no price of ${sku_name}: a price cannot end without another; disable or retire the SKU`,
        'required',
      );

  const current = new Map(actual.images.map((image) => [image.name, image as AnyRow]));
  for (const [index, image] of (site.images ?? []).entries()) {
    for (const [at, name] of image.sku_names.entries()) {
      const problem = imageSkuProblem(name, [...skus.values()]);
      if (problem !== null) complain(`/images/${index}/sku_names/${at}`, problem.problem, problem.code);
    }
    const row = SITE_RULES.images.canonical(image);
    const before = current.get(image.name);
    const known = world.image_versions.find((one) => one.image_name === image.name && one.digest === image.digest);
    if (before !== undefined && before['digest'] === image.digest) {
      for (const field of VERSION_FIELDS)
        if (!isSame(before[field], row[field]))
          complain(`/images/${index}/${field}`, 'belongs to the digest and cannot change without a new one', 'fixed');
    } else if (known?.is_retired === true)
      complain(`/images/${index}/digest`, 'is of a retired version, which cannot return', 'retired');
    else if (known !== undefined && before !== undefined)
      complain(
        `/images/${index}/digest`,
        `is of an older version: retire the newer ones first (gpuaas admin image retire ${image.name} --digest ${String(before['digest'])})`,
        'older',
      );
  }

  const needPlace = (pointer: string, row: Readonly<{ organization: string | null; project?: string | null }>) => {
    if (row.organization === null) return;
    if (!world.organizations.has(row.organization))
      complain(
        `${pointer}/organization`,
        `names no organization: ${row.organization} (gpuaas admin organization create ${row.organization})`,
        'unknown',
      );
    else if (row.project != null && !world.projects.has(`${row.organization}/${row.project}`))
      complain(`${pointer}/project`, `names no project of ${row.organization}: ${row.project}`, 'unknown');
  };
  for (const [index, pool] of (site.pools ?? []).entries())
    needPlace(`/pools/${index}`, { organization: pool.organization ?? null });
  for (const section of ['quotas', 'group_mappings'] as const)
    for (const [index, row] of (site[section] ?? []).entries()) needPlace(`/${section}/${index}`, row);
  return problems;
};

/** An organization starts with the limit of the policy, a project without one. */
const leftOf = (section: SiteSection, row: AnyRow, { default_gpu_limit }: WholeSite['policy']) =>
  section === 'quotas' ? { left: { gpu_limit: row['project'] === null ? default_gpu_limit : null } } : {};

const stays = (section: SiteSection, row: AnyRow): boolean => section === 'pools' && row['name'] === SHARED_POOL;

const listChanges = (site: Site, actual: WholeSite): PlannedChange[] => {
  const phases: Record<'first' | 'middle' | 'last', PlannedChange[]> = { first: [], middle: [], last: [] };
  for (const section of SITE_SECTIONS) {
    const { nameOf, removal, removed } = rulesOf(section);
    const wanted = rowsOf(site, section);
    if (wanted === undefined) continue;
    const before = new Map(allRowsOf(actual, section).map((row) => [nameOf(row), row]));
    for (const after of wanted) {
      const name = nameOf(after);
      const old = before.get(name) ?? null;
      before.delete(name);
      if (old !== null && changedFields(old, after).length === 0) continue;
      phases.middle.push({ section, name, action: old === null ? 'create' : 'update', before: old, after } as never);
    }
    if (removal === null) continue;
    for (const [name, old] of before)
      if (!stays(section, old))
        phases[removed].push({
          ...{ section, name, action: removal, before: old, after: null },
          ...leftOf(section, old, site.policy ?? actual.policy),
        } as never);
  }
  // The current price of a SKU that is retired goes with it.
  const first = phases.first.filter((one) => one.section !== 'prices' || one.before?.valid_from !== '');
  return [...first, ...phases.middle, ...phases.last.toReversed()];
};

export type SitePlan =
  | Readonly<{ problems: readonly SiteProblem[] }>
  | Readonly<{ problems: readonly []; changes: readonly PlannedChange[]; hash: string }>;

const only = (site: Site, sections: Site): Site =>
  Object.fromEntries(Object.entries(site).filter(([section]) => section in sections)) as Site;

/** `actual` is in canonical form. */
export const planSite = (file: Site, actual: WholeSite, world: SiteWorld): SitePlan => {
  const problems = listProblems(file, actual, world);
  if (problems.length > 0) return { problems };
  const wanted = canonicalSite(file, world.now_ms);
  const changes = listChanges(wanted, actual);
  const text = JSON.stringify([wanted, only(actual, wanted), changes]);
  return { problems: [], changes, hash: world.digest(text).slice(0, HASH_DIGITS) };
};

/** The file of a site: prices without a time have none. */
export const fileOf = (site: WholeSite): WholeSite => ({
  ...site,
  prices: site.prices.map(({ valid_from, ...row }) => (valid_from ? { ...row, valid_from } : row)),
});
