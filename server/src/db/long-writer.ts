/** Transactions of this database that have written and stay open: everything after them in commit order waits. */
import type { Tx } from './client.ts';
import { MIGRATION_APPLICATION } from './migrate.ts';

export type EndedWriter = Readonly<{ pid: number; application_name: string; state: string; age_s: number }>;

/**
 * Ends the sessions of this account whose transaction has written and is older than `max_s`; returns them. Only the
 * account itself may see and end its sessions, not the role that it switches to. A prepared transaction has no session,
 * and a migration may take its time.
 */
export const endLongWriters = async (tx: Tx, max_s: number): Promise<readonly EndedWriter[]> => {
  tx.defer(tx.query('set local role none'));
  // Materialized: in a condition the planner may end sessions before it has looked at the others.
  const { rows } = await tx.query<EndedWriter & { is_ended: boolean }>(
    `with old as materialized (
       select pid, application_name, state, extract(epoch from clock_timestamp() - xact_start)::int as age_s
       from pg_stat_activity
       where datname = current_database() and usename = session_user and backend_type = 'client backend'
         and pid <> pg_backend_pid() and backend_xid is not null and application_name <> $2
         and xact_start < clock_timestamp() - make_interval(secs => $1))
     select old.*, pg_terminate_backend(pid) as is_ended from old`,
    [max_s, MIGRATION_APPLICATION],
  );
  return rows.filter(({ is_ended }) => is_ended).map(({ is_ended: _, ...writer }) => writer);
};
