/** Prices of SKUs. `currentPrice` is the only place that says which one counts. */
import type { Reader, Tx } from './client.ts';
import { currentPrice } from './predicates.ts';
import { statement } from './statement.ts';
import type { SkuPrices } from './types.gen.ts';

export type PriceRow = Readonly<
  Omit<SkuPrices, 'correlation_id' | 'ended_at'> & {
    /** The next price that was not cancelled begins, or the SKU was retired; null without either. */
    valid_until: string | null;
    state: 'past' | 'current' | 'future' | 'cancelled';
  }
>;

const PRICE = `p.id, p.sku_name, p.currency, p.gpu_hourly_price_minor, p.valid_from, p.created_by, p.created_at, p.cancelled_at,
  case when p.cancelled_at is null then least(p.ended_at, (select min(l.valid_from) from sku_prices l
    where l.sku_name = p.sku_name and l.cancelled_at is null and l.valid_from > p.valid_from)) end as valid_until,
  case when p.cancelled_at is not null then 'cancelled' when p.valid_from > statement_timestamp() then 'future'
    when p.id = (select c.id from (${currentPrice('p.sku_name')}) c) then 'current' else 'past' end as state`;

/** By falling ID, which is by falling time of creation. */
export const listPrices = async (
  reader: Reader,
  page: Readonly<{ before: string | null; limit: number; sku_name: string | null }>,
): Promise<PriceRow[]> =>
  (
    await reader.query<PriceRow>(
      `select ${PRICE} from sku_prices p where ($1::text is null or p.id < $1) and ($2::text is null or p.sku_name = $2)
       order by p.id desc limit $3`,
      [page.before, page.sku_name, page.limit],
    )
  ).rows;

/** Current and future prices of SKUs that are not retired. */
export const listLivePrices = async (reader: Reader): Promise<PriceRow[]> =>
  (
    await reader.query<PriceRow>(
      `select * from (select ${PRICE} from sku_prices p join sku_catalog s on s.name = p.sku_name and s.retired_at is null
         where p.cancelled_at is null) live where state in ('current', 'future') order by sku_name, valid_from`,
    )
  ).rows;

export const findPrice = async (reader: Reader, id: string): Promise<PriceRow | undefined> =>
  (await reader.query<PriceRow>(`select ${PRICE} from sku_prices p where p.id = $1`, [id])).rows[0];

const INSERT_PRICE = statement(
  {
    id: 'text',
    sku_name: 'text',
    currency: 'text',
    gpu_hourly_price_minor: 'bigint',
    valid_from: 'timestamptz | null',
    created_by: 'text | null',
    correlation_id: 'text',
  },
  `insert into sku_prices (id, sku_name, currency, gpu_hourly_price_minor, valid_from, created_by, correlation_id)
   values (:id, :sku_name, :currency, :gpu_hourly_price_minor, coalesce(:valid_from, clock_timestamp()), :created_by, :correlation_id)`,
);

/** From now without a time. The SKU's row must be locked, so that of two prices from now the later commit is the later price. */
export const insertPrice = (
  tx: Tx,
  row: Readonly<
    Pick<SkuPrices, 'id' | 'sku_name' | 'currency' | 'gpu_hourly_price_minor' | 'created_by' | 'correlation_id'> & {
      valid_from: string | null;
    }
  >,
) => INSERT_PRICE.query(tx, row);

/** Of a SKU that is retired, whose row must be locked: those that have not begun are cancelled. */
export const endPrices = async (tx: Tx, skuName: string): Promise<void> => {
  await tx.query(
    `with at as (select clock_timestamp() as now)
     update sku_prices p set cancelled_at = case when p.valid_from > at.now then at.now end,
       ended_at = case when p.valid_from <= at.now then at.now end
     from at where p.sku_name = $1 and p.cancelled_at is null and p.ended_at is null`,
    [skuName],
  );
};

/** False once it has taken effect or was cancelled. */
export const cancelPrice = async (tx: Tx, id: string): Promise<boolean> =>
  (
    await tx.query(
      `update sku_prices set cancelled_at = clock_timestamp() where id = $1 and cancelled_at is null and valid_from > clock_timestamp()`,
      [id],
    )
  ).rowCount === 1;
