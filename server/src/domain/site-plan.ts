/**
 * The plan of a site file: what must change for the site to be as the file says. Pure: the file, the site, the time and the
 * names that the file may use go in; changes in the order in which they are made, or the problems of the file, come out. The
 * digest is an argument, so that these rules also run without node:crypto.
 */
import { SITE_SECTIONS } from '@gpuaas/contract';
import { gpuCountsProblem, gpuCountUses, imageSkuProblem, vmProfileProblem } from './catalog.ts';
import {
  type AnyRow,
  allRowsOf,
  canonicalSite,
  changedFields,
  isSame,
  type PlannedChange,
  rowsOf,
  rulesOf,
  SHARED_POOL,
  SITE_RULES,
  type Site,
  type SiteRow,
  type SiteSection,
  type WholeSite,
} from './site.ts';

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
