/**
 * Every state that rows enter, recorded by the database itself: what comes and goes between two requests counts too.
 * Rows are only appended, so that recording makes no transaction wait for another.
 */
import { ALLOCATION_STATES, POWER_STATES, SLOT_STATUSES } from '@gpuaas/contract';
import type { Client as SqlClient } from 'pg';

export const RECORD_STATES = `
  create table history_reached (what text not null);
  create function history_reached() returns trigger language plpgsql security definer as $$
  begin
    insert into history_reached values (tg_argv[0] || ' ' || (to_jsonb(new) ->> tg_argv[1]));
    return null;
  end $$;
  create trigger reached_state after insert or update of state on allocations for each row
    execute function history_reached('allocation', 'state');
  create trigger reached_power after insert or update of power_state on allocations for each row
    when (new.power_state is not null) execute function history_reached('power', 'power_state');
  create trigger reached_status after insert or update of status on node_resource_slots for each row
    execute function history_reached('slot', 'status')`;

/** What a driver must reach, or it tests nothing. */
export const STATES: readonly string[] = [
  ...ALLOCATION_STATES.map((state) => `allocation ${state}`),
  ...POWER_STATES.map((state) => `power ${state}`),
  ...SLOT_STATUSES.map((status) => `slot ${status}`),
];

/**
 * What few histories reach: it depends on faults that meet a short moment, or on a power change of an allocation that is
 * active just then. The bench requires it of 500 histories and more.
 */
export const RARE: ReadonlySet<string> = new Set([
  ...['retire', 'node_delete', 'run_retry'],
  ...POWER_STATES.filter((state) => state !== 'on').map((state) => `power ${state}`),
]);

export const reachedStates = async (sql: SqlClient): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await sql.query<{ what: string; n: number }>(
    'select what, count(*)::integer as n from history_reached group by 1',
  );
  return new Map(rows.map(({ what, n }) => [what, n]));
};
