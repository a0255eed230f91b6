/**
 * Images of VMs. An image is a name with versions by digest. A launch pins the newest version that is not retired; an
 * operator adds or retires one, with its source and the responsible person.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { isUniqueViolation } from '../db/errors.ts';
import * as db from '../db/os-image.ts';
import { FIELD_MESSAGES, REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const timeOf = (time: string): string => new Date(time).toISOString();
const versionView = ({ registered_at, retired_at, ...version }: db.OsImageVersionRow) => ({
  ...version,
  registered_at: timeOf(registered_at),
  retired_at: retired_at === null ? null : timeOf(retired_at),
});

/** The first version is the one for a launch; where all are retired, the last usable one. */
const imageView = (row: db.OsImageRow) => {
  const [current] = row.versions;
  if (current === undefined) throw new Error(`image ${row.name} has no version`);
  const { registered_at: _, retired_at, retired_reason: __, ...version } = current;
  return { ...row, ...version, enabled: retired_at === null, versions: row.versions.map(versionView) };
};

export const list = (ctx: ReadCtx, { query }: Req<'osImageList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listOsImages(reader, page, query.sku_name ?? null),
    (row) => row.name,
    imageView,
  );

const view = async (reader: Parameters<typeof db.findOsImage>[0], name: string) => {
  const row = await db.findOsImage(reader, name);
  if (row === undefined) throw notFound('image');
  return imageView(row);
};

export const get = (ctx: ReadCtx, { params }: Req<'osImageGet'>) =>
  ctx.read((reader) => view(reader, params.image_name));

export const register = async (ctx: WriteCtx, { body }: Req<'adminOsImageRegister'>) => {
  try {
    await db.upsertOsImage(ctx.tx, body);
  } catch (err) {
    if (isUniqueViolation(err, 'os_images_any_case'))
      throw conflict('An image exists whose name differs only in case. Use that name.');
    throw err;
  }
  if (!(await db.insertOsImageVersion(ctx.tx, body))) throw conflict(REFUSALS.image_registered);
  const known = await db.replaceOsImageSkus(ctx.tx, body);
  const unknown = body.sku_names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new AppError('invalid_request', `There is no SKU ${unknown.join(', ')}.`, {
      errors: [{ pointer: '/body/sku_names', code: 'unknown', message: FIELD_MESSAGES.sku_unknown(unknown) }],
    });
  ctx.note({
    image_name: body.name,
    digest: body.digest,
    source: body.source,
    digest_authority: body.digest_authority,
  });
  return view(ctx.tx, body.name);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminOsImageRetire'>) => {
  const before = await view(ctx.tx, params.image_name);
  if (!(await db.retireOsImageVersion(ctx.tx, before.name, body.digest, body.reason))) {
    if (before.versions.some(({ digest }) => digest === body.digest)) throw conflict(REFUSALS.image_retired);
    throw notFound('version of this image');
  }
  ctx.note({ image_name: before.name, digest: body.digest, reason: body.reason });
  return view(ctx.tx, before.name);
};
