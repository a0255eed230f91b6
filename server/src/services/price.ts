/**
 * Prices of SKUs with the time from which they count. They are only added, or cancelled before they begin: a launch takes the
 * price that is current, and its allocation keeps it. `createPrice` and `cancelPrice` are the changes, in a transaction of the
 * caller.
 */
import type { PriceSpec as PriceSpecSchema, PublicApi, RequestOf, Static } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { isCheckViolation, isUniqueViolation } from '../db/errors.ts';
import { lockSku } from '../db/sku.ts';
import * as db from '../db/sku-price.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, invalidField, notFound } from '../errors.ts';
import { onlyText, principalOf } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type PriceSpec = Static<typeof PriceSpecSchema>;
/** Who sets it; null for the installation itself. */
export type SetBy = Readonly<{ user_id: string | null; correlation_id: string }>;

const view = ({ gpu_hourly_price_minor, currency, ...row }: db.PriceRow) => ({
  ...row,
  gpu_hourly_price: { amount_minor: gpu_hourly_price_minor, currency },
});

export const adminList = async (ctx: ReadCtx, { query }: Req<'adminPriceList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.read((reader) =>
    db.listPrices(reader, { before, limit: limit + 1, sku_name: query.sku_name ?? null }),
  );
  return pageOf(ctx, limit, rows, (row) => [row.id], view);
};

const found = (row: db.PriceRow | undefined): db.PriceRow => {
  if (row === undefined) throw notFound('price');
  return row;
};

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminPriceGet'>) =>
  ctx.read(async (reader) => view(found(await db.findPrice(reader, params.price_id))));

export const createPrice = async (tx: Tx, spec: PriceSpec, by: SetBy): Promise<db.PriceRow> => {
  const sku = await lockSku(tx, spec.sku_name, 'no key update');
  if (sku === undefined || sku.retired_at !== null)
    throw new AppError('invalid_request', `There is no SKU named "${spec.sku_name}".`, {
      errors: [{ pointer: '/body/sku_name', code: 'unknown', message: 'names no SKU' }],
    });
  const id = mintId('prc');
  try {
    await db.insertPrice(tx, {
      id,
      sku_name: spec.sku_name,
      currency: spec.currency,
      gpu_hourly_price_minor: spec.gpu_hourly_price_minor,
      valid_from: spec.valid_from ?? null,
      created_by: by.user_id,
      correlation_id: by.correlation_id,
    });
  } catch (err) {
    if (isCheckViolation(err, 'price_not_in_past')) throw invalidField('valid_from', 'is in the past');
    if (isUniqueViolation(err, 'sku_prices_live')) throw conflict(REFUSALS.price_time_taken);
    throw err;
  }
  return found(await db.findPrice(tx, id));
};

export const cancelPrice = async (tx: Tx, id: string): Promise<db.PriceRow> => {
  const before = found(await db.findPrice(tx, id));
  if (!(await db.cancelPrice(tx, id))) {
    const { state } = before;
    throw conflict(REFUSALS.price_begun(state === 'future' ? 'current' : state));
  }
  return found(await db.findPrice(tx, id));
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminPriceCreate'>) => {
  const by = { user_id: principalOf(ctx).id, correlation_id: ctx.correlation_id };
  const row = await createPrice(ctx.tx, body, by);
  ctx.target('price', row.id);
  ctx.note({
    sku_name: row.sku_name,
    gpu_hourly_price_minor: row.gpu_hourly_price_minor,
    currency: row.currency,
    valid_from: row.valid_from,
  });
  return view(row);
};

export const cancel = async (ctx: WriteCtx, { params, body }: Req<'adminPriceCancel'>) => {
  const row = await cancelPrice(ctx.tx, params.price_id);
  ctx.note({ sku_name: row.sku_name, valid_from: row.valid_from, reason: body.reason });
  return view(row);
};
