/** Charged time. It is bounded by the allocation's own times, to the microsecond, so both always agree. */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import type { UsageRecords } from './types.gen.ts';

export type UsageRow = Readonly<
  Pick<
    UsageRecords,
    | 'id'
    | 'allocation_id'
    | 'project_id'
    | 'sku_name'
    | 'gpu_count'
    | 'gpu_hourly_price_minor'
    | 'currency'
    | 'started_at'
    | 'ended_at'
    | 'cost_minor'
  >
>;

const USAGE = `u.id, u.allocation_id, u.project_id, u.sku_name, u.gpu_count, u.gpu_hourly_price_minor, u.currency, u.started_at,
  u.ended_at, u.cost_minor`;

/** From the activation of the allocation, at its launch price. Opening it twice has the effect of once. */
export const insertUsage = async (tx: Tx, allocationId: string): Promise<void> => {
  await tx.query(
    `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor,
       currency, started_at, correlation_id)
     select $2, a.id, a.organization_id, a.project_id, a.sku_name, p.gpu_count, p.gpu_hourly_price_minor, p.currency,
       a.activated_at, a.correlation_id
     from allocations a join allocation_placements p on p.allocation_id = a.id
     where a.id = $1 and a.activated_at is not null
     on conflict do nothing`,
    [allocationId, mintId('usg')],
  );
};

export type OpenUsage = UsageRow & Readonly<{ micros: number }>;

/** Locks the open record, and returns its duration until the release was requested. */
export const lockOpenUsage = async (tx: Tx, allocationId: string): Promise<OpenUsage | undefined> => {
  const { rows } = await tx.query<OpenUsage>(
    `select ${USAGE},
       (extract(epoch from greatest(a.release_requested_at, u.started_at) - u.started_at) * 1000000)::bigint as micros
     from usage_records u join allocations a on a.id = u.allocation_id
     where u.allocation_id = $1 and u.ended_at is null and a.release_requested_at is not null for update of u`,
    [allocationId],
  );
  return rows[0];
};

export const closeUsage = async (tx: Tx, id: string, costMinor: bigint): Promise<void> => {
  await tx.query(
    `update usage_records u set ended_at = greatest(a.release_requested_at, u.started_at), cost_minor = $2::bigint
     from allocations a where a.id = u.allocation_id and u.id = $1 and u.ended_at is null`,
    [id, costMinor.toString()],
  );
};

export type ClosedUsage = UsageRow &
  Readonly<{
    /** From its start to the time that was given, or to its end if that is earlier. */
    micros: number;
    is_within: boolean;
    is_node_held: boolean;
  }>;

/** Locks the closed record, and compares it with a time at which the charge should have ended. */
export const lockClosedUsage = async (
  tx: Tx,
  allocationId: string,
  until: string,
): Promise<ClosedUsage | undefined> => {
  const { rows } = await tx.query<ClosedUsage>(
    `select ${USAGE}, (extract(epoch from least($2::timestamptz, u.ended_at) - u.started_at) * 1000000)::bigint as micros,
       $2::timestamptz between u.started_at and u.ended_at as is_within,
       exists (select from nodes n where n.id = a.node_id and n.restore_hold_id is not null) as is_node_held
     from usage_records u join allocations a on a.id = u.allocation_id
     where u.allocation_id = $1 and u.ended_at is not null for update of u`,
    [allocationId, until],
  );
  return rows[0];
};

/** Moves the end back. The database refuses it unless the node is held by a restore and the allocation has the same end. */
export const shortenUsage = async (tx: Tx, id: string, until: string, costMinor: bigint): Promise<void> => {
  await tx.query('update usage_records set ended_at = $2::timestamptz, cost_minor = $3::bigint where id = $1', [
    id,
    until,
    costMinor.toString(),
  ]);
};

export type UsageFilter = Readonly<{
  project_id: string;
  allocation_id: string | null;
  before: string | null;
  limit: number;
}>;

/** Newest first. */
export const listUsage = async (reader: Reader, filter: UsageFilter): Promise<UsageRow[]> => {
  const { rows } = await reader.query<UsageRow>(
    `select ${USAGE} from usage_records u where u.project_id = $1 and ($2::text is null or u.allocation_id = $2)
       and ($3::text is null or u.id < $3) order by u.id desc limit $4`,
    [filter.project_id, filter.allocation_id, filter.before, filter.limit],
  );
  return rows;
};

export type PartialUsage = Readonly<
  Pick<UsageRecords, 'gpu_count' | 'gpu_hourly_price_minor' | 'started_at' | 'ended_at' | 'cost_minor'>
>;

export type UsageTotals = Readonly<{
  currency: string;
  /** Of records that began and ended since then. */
  closed_minor: number;
  /** Those that are open or began before, whose part since then has to be computed. */
  partial: PartialUsage[];
}>;

/** A project's charged time after a given time, per currency. The currencies of the catalog are always included. */
export const listUsageTotals = async (reader: Reader, projectId: string, since: string): Promise<UsageTotals[]> =>
  (
    await reader.query<UsageTotals>(
      `with u as (select *, ended_at is not null and started_at >= $2 as is_whole from usage_records
         where project_id = $1 and coalesce(ended_at, 'infinity'::timestamptz) > $2)
       select priced.currency, coalesce(sum(u.cost_minor) filter (where u.is_whole), 0)::bigint as closed_minor,
         coalesce(jsonb_agg(jsonb_build_object('gpu_count', u.gpu_count, 'gpu_hourly_price_minor', u.gpu_hourly_price_minor,
           'started_at', u.started_at, 'ended_at', u.ended_at, 'cost_minor', u.cost_minor)) filter (where not u.is_whole), '[]') as partial
       from (select currency from sku_prices where cancelled_at is null union select currency from u) priced
       left join u on u.currency = priced.currency group by priced.currency order by priced.currency`,
      [projectId, since],
    )
  ).rows;
