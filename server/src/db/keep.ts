/**
 * Purges of rows that may have to stay for years although they are old. Each is looked at once: it is deleted, or marked
 * with the time until which it is kept, so that a turn never reads those again that stay.
 */
import type { Tx } from './client.ts';
import { queryByIndex } from './plan.ts';

/** How long a row that something needs is kept before it is looked at again. */
export const LOOK_AGAIN = "interval '7 days'";

/** After how long rows go: history by days, evidence by years. */
export type Ages = Readonly<{ history_days: number; certificate_years: number }>;

export type KeptRows = Readonly<{
  table: string;
  /** SQL about row `t`: the only rows that ever go. */
  only?: string;
  /** Tables whose rows go with it, by the column that names it. */
  parts?: readonly Readonly<{ table: string; column: string }>[];
  /** The column that states the age, and what `kept_until` reads of a row. */
  age: string;
  columns: string;
  /** SQL about row `o`: until when it is kept; null deletes it. May use $2, the days of history, and $3, the years of evidence. */
  kept_until: string;
}>;

export type KeptPurge = Readonly<{
  /** Rows older than these days that were not looked at. Returns how many it looked at. */
  deleteOld(tx: Tx, limit: number, ages: Ages): Promise<number>;
  /** Those whose time has come again. */
  deleteKept(tx: Tx, limit: number, ages: Ages): Promise<number>;
}>;

export const createKeptPurge = ({
  table,
  only = 'true',
  parts = [],
  age,
  columns,
  kept_until,
}: KeptRows): KeptPurge => {
  const partsGone = parts.map(
    (part, index) => `part${index} as (delete from ${part.table} t using verdict v
         where t.${part.column} = v.id and v.kept_until is null),`,
  );
  const purge = async (tx: Tx, old: string, limit: number, ages: Ages): Promise<number> => {
    const { rows } = await queryByIndex<{ count: number }>(
      tx,
      `with old as materialized (
         select t.id, ${columns} from ${table} t where $2::integer is not null and $3::integer is not null and ${only} and ${old}
         limit $1 for update skip locked),
       verdict as materialized (select o.id, ${kept_until} as kept_until from old o),
       kept as (update ${table} t set kept_until = v.kept_until from verdict v where t.id = v.id and v.kept_until is not null),
       ${partsGone.join('\n       ')}
       gone as (delete from ${table} t using verdict v where t.id = v.id and v.kept_until is null)
       select count(*) as count from verdict`,
      [limit, ages.history_days, ages.certificate_years],
    );
    return rows[0]?.count ?? 0;
  };
  return {
    deleteOld: (tx, limit, ages) =>
      purge(
        tx,
        `t.${age} < now() - make_interval(days => $2) and t.${age} is not null and t.kept_until is null order by t.${age}`,
        limit,
        ages,
      ),
    deleteKept: (tx, limit, ages) => purge(tx, 't.kept_until < now() order by t.kept_until', limit, ages),
  };
};
