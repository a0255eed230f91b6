/**
 * Images of VMs. An image is a name with versions by digest. A launch pins the newest version that is not retired; an
 * operator adds or retires one, with its source and the responsible person.
 */
import type { ImageSpec as ImageSpecSchema, PublicApi, RequestOf, Static } from '@gpuaas/contract';
import { cannotStart } from '@gpuaas/scheduler';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import { isUniqueViolation } from '../db/errors.ts';
import * as db from '../db/os-image.ts';
import { listSkus, lockSkusOfImage } from '../db/sku.ts';
import { IMAGE_DEFAULTS, imageSkuProblem, useOf } from '../domain/catalog.ts';
import { type DefaultImage, imageDefault, skusLosingDefault } from '../domain/image-default.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, invalidField, notFound } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';
import { assertCurrent, assertUnused } from './catalog-rules.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type ImageSpec = Static<typeof ImageSpecSchema>;
type ImageChange = Partial<Pick<ImageSpec, 'display_name' | 'channel' | 'trust' | 'sku_names'>>;

/** All that an operator sets of it, with the version for a launch, as a site file states it. */
export const imageSpecOf = (row: db.OsImageRow): Required<ImageSpec> => {
  const [current] = row.versions;
  if (current === undefined) throw new Error(`image ${row.name} has no version`);
  const { registered_at: _, retired_at: __, retired_reason: ___, ...version } = current;
  const { name, display_name, os_family, os_version, sku_names, channel, trust } = row;
  return { name, display_name, os_family, os_version, ...version, sku_names, channel, trust };
};

const timeOf = (time: string): string => new Date(time).toISOString();
const versionView = ({ registered_at, retired_at, ...version }: db.OsImageVersionRow) => ({
  ...version,
  registered_at: timeOf(registered_at),
  retired_at: retired_at === null ? null : timeOf(retired_at),
});

/** The first version is the one for a launch; where all are retired, the last usable one. */
const viewsOf = (row: db.OsImageRow) => {
  const [current] = row.versions;
  if (current === undefined) throw new Error(`image ${row.name} has no version`);
  const { registered_at: _, retired_at, retired_reason: __, ...version } = current;
  const { regions, ...image } = row;
  const enabled = retired_at === null && row.retired_at === null;
  const { default_regions, default_blockers } = imageDefault({ ...row, enabled });
  const view = {
    ...image,
    ...version,
    enabled,
    default_regions,
    retired_at: row.retired_at,
    versions: row.versions.map(versionView),
  };
  return { view, default_blockers };
};
const tenantView = (row: db.OsImageRow) => viewsOf(row).view;

const HOSTS_SHOWN = 20;
type HostedImage = db.OsImageRow & Readonly<{ hosts: readonly db.BootHost[] }>;

/** With the hosts that could run them. */
const withHosts = async (reader: Reader, rows: readonly db.OsImageRow[]): Promise<HostedImage[]> => {
  const hosts = await db.listBootHosts(reader, [...new Set(rows.flatMap(({ sku_names }) => sku_names))]);
  const isOf = (row: db.OsImageRow, host: db.BootHost) => host.sku_names.some((name) => row.sku_names.includes(name));
  return rows.map((row) => ({ ...row, hosts: hosts.filter((host) => isOf(row, host)) }));
};

const operatorView = ({ hosts, ...row }: HostedImage) => {
  const { view, default_blockers } = viewsOf(row);
  const unable = hosts.flatMap(({ node_id, node_name, boot_kinds }) => {
    const reason = cannotStart(boot_kinds, view.boot_kind);
    return reason === null ? [] : [{ node_id, node_name, reason }];
  });
  return {
    ...view,
    default_blockers,
    hosts_checked: hosts.length,
    hosts_unable: unable.length,
    unable: unable.slice(0, HOSTS_SHOWN),
  };
};
const operatorViewOf = async (reader: Reader, row: db.OsImageRow) => {
  const [hosted] = await withHosts(reader, [row]);
  return operatorView(hosted ?? { ...row, hosts: [] });
};

export const list = (ctx: ReadCtx, { query }: Req<'osImageList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listOsImages(reader, page, query.sku_name ?? null),
    (row) => row.name,
    tenantView,
  );

export const adminList = (ctx: ReadCtx, { query }: Req<'adminOsImageList'>) =>
  listPage(
    ctx,
    query,
    async (reader, page) =>
      withHosts(reader, await db.listOsImages(reader, page, null, query.include_retired ?? false)),
    (row) => row.name,
    operatorView,
  );

const getImage = async (reader: Parameters<typeof db.findOsImage>[0], name: string): Promise<db.OsImageRow> => {
  const row = await db.findOsImage(reader, name);
  if (row === undefined) throw notFound('image');
  return row;
};

export const get = (ctx: ReadCtx, { params }: Req<'osImageGet'>) =>
  ctx.read(async (reader) => {
    const row = await getImage(reader, params.image_name);
    if (row.retired_at !== null) throw notFound('image');
    return tenantView(row);
  });

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminOsImageGet'>) =>
  ctx.read(async (reader) => operatorViewOf(reader, await getImage(reader, params.image_name)));

const setSkus = async (tx: Tx, name: string, sku_names: readonly string[]): Promise<void> => {
  const known = await db.replaceOsImageSkus(tx, { name, sku_names });
  const [problem] = sku_names.flatMap((one) => imageSkuProblem(one, known) ?? []);
  if (problem !== undefined) throw invalidField('sku_names', problem.problem, problem.code);
};

/** A new image, a new version of one, or a retired image that comes back with the version it had. */
export const createImage = async (tx: Tx, spec: ImageSpec): Promise<db.OsImageRow> => {
  const before = await db.findOsImage(tx, spec.name);
  const image = {
    ...spec,
    boot_kind: spec.boot_kind ?? IMAGE_DEFAULTS.boot_kind,
    channel: spec.channel ?? before?.channel ?? IMAGE_DEFAULTS.channel,
    trust: spec.trust ?? IMAGE_DEFAULTS.trust,
  };
  try {
    await db.upsertOsImage(tx, image);
  } catch (err) {
    if (isUniqueViolation(err, 'os_images_any_case')) throw conflict(REFUSALS.image_name_case);
    throw err;
  }
  if (!(await db.insertOsImageVersion(tx, image))) {
    const version = before?.versions.find(({ digest }) => digest === spec.digest);
    if (before?.retired_at == null || version?.retired_at !== null) throw conflict(REFUSALS.image_registered);
  }
  await setSkus(tx, spec.name, spec.sku_names);
  return getImage(tx, spec.name);
};

/** Without a version it changes whatever is there. */
export const updateImage = async (tx: Tx, name: string, change: ImageChange, ifMatch?: number) => {
  const before = await getImage(tx, name);
  assertCurrent('image', before, ifMatch);
  const { display_name = before.display_name, channel = before.channel, trust = before.trust } = change;
  if (!(await db.updateOsImage(tx, before.version, { name, display_name, channel, trust })))
    throw resourceChanged(before.version + 1);
  if (change.sku_names !== undefined) await setSkus(tx, name, change.sku_names);
  return { before, after: await getImage(tx, name) };
};

const ALL = { after: null, limit: 1_000_000 };

/** Which image is the default where, as far as launches are concerned. */
export const listDefaults = async (reader: Reader): Promise<DefaultImage[]> =>
  (await db.listOsImages(reader, ALL, null)).map((row) => {
    const { name, sku_names, default_regions } = tenantView(row);
    const available_regions = row.regions.flatMap((one) => (one.is_available ? one.region_name : []));
    return { name, sku_names, default_regions, available_regions };
  });

/** Refused where an enabled SKU would be left without a default image that it has; two such changes wait for each other. */
const keepingDefaults = async <R>(tx: Tx, name: string, change: () => Promise<R>): Promise<R> => {
  await lockSkusOfImage(tx, name);
  const before = await listDefaults(tx);
  const changed = await change();
  const losing = skusLosingDefault(await listSkus(tx, ALL), before, await listDefaults(tx));
  assertUnused('image', name, useOf('SKU', losing));
  return changed;
};

export const retireImage = async (tx: Tx, name: string): Promise<db.OsImageRow> => {
  await getImage(tx, name);
  if (!(await db.retireOsImage(tx, name))) throw conflict(REFUSALS.image_gone(name));
  return getImage(tx, name);
};

const retireVersion = async (tx: Tx, name: string, digest: string, reason: string): Promise<db.OsImageRow> => {
  const before = await getImage(tx, name);
  if (!(await db.retireOsImageVersion(tx, name, digest, reason))) {
    if (before.versions.some((version) => version.digest === digest)) throw conflict(REFUSALS.image_retired);
    throw notFound('version of this image');
  }
  return getImage(tx, name);
};

export const register = async (ctx: WriteCtx, { body }: Req<'adminOsImageRegister'>) => {
  const row = await keepingDefaults(ctx.tx, body.name, () => createImage(ctx.tx, body));
  const { channel, trust, sku_names } = row;
  ctx.note({
    image_name: body.name,
    digest: body.digest,
    boot_kind: row.versions[0]?.boot_kind ?? null,
    source: body.source,
    digest_authority: body.digest_authority,
    channel,
    trust,
    sku_names,
  });
  return operatorViewOf(ctx.tx, row);
};

export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminOsImageUpdate'>) => {
  const { image_name } = params;
  const { before, after } = await keepingDefaults(ctx.tx, image_name, () =>
    updateImage(ctx.tx, image_name, body, if_match),
  );
  ctx.note({
    display_name_before: before.display_name,
    display_name_after: after.display_name,
    channel_before: before.channel,
    channel_after: after.channel,
    trust_before: before.trust,
    trust_after: after.trust,
    sku_names_before: before.sku_names,
    sku_names_after: after.sku_names,
  });
  return operatorViewOf(ctx.tx, after);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminOsImageRetire'>) => {
  const { image_name } = params;
  const { digest, reason } = body;
  const row = await keepingDefaults(ctx.tx, image_name, () =>
    digest === undefined ? retireImage(ctx.tx, image_name) : retireVersion(ctx.tx, image_name, digest, reason),
  );
  ctx.note({ image_name, digest: digest ?? null, reason });
  return operatorViewOf(ctx.tx, row);
};
