/** What the workers know of the clock of the database: one row. The rule is in `domain/clock-guard.ts`. */
import { type AgentClocks, CLOCK_STEP_MAX_MS } from '../domain/clock-guard.ts';
import type { Reader, Tx } from './client.ts';
import { agentIsSeen, CLOCK_TRUSTED, NODE_OVER } from './predicates.ts';
import type { ClockGuard } from './types.gen.ts';

export type ClockGuardRow = Readonly<
  Pick<ClockGuard, 'seen_at' | 'hold_since' | 'reason' | 'jump_ms' | 'ended_at' | 'ended_by' | 'version'> & {
    seen_ms: number;
  }
>;

const GUARD = `g.seen_at, g.hold_since, g.reason, g.jump_ms, g.ended_at, g.ended_by, g.version,
  (extract(epoch from g.seen_at) * 1000)::float8 as seen_ms`;

export const findClockGuard = async (reader: Reader): Promise<ClockGuardRow | undefined> =>
  (await reader.query<ClockGuardRow>(`select ${GUARD} from clock_guard g`)).rows[0];

/** Serializes the workers that check the clock. */
export const lockClockGuard = async (tx: Tx): Promise<ClockGuardRow | undefined> =>
  (await tx.query<ClockGuardRow>(`select ${GUARD} from clock_guard g for update`)).rows[0];

export type DatabaseTime = Readonly<{ database_ms: number; database_time: string; is_trusted: boolean }>;

export const readClock = async (reader: Reader): Promise<DatabaseTime> => {
  const { rows } = await reader.query<DatabaseTime>(
    `select (extract(epoch from t.at) * 1000)::float8 as database_ms, t.at as database_time, ${CLOCK_TRUSTED} as is_trusted
     from (select clock_timestamp() as at) t`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the clock is one row');
  return row;
};

/** Whether work may end, delete or mark something because a time has passed. */
export const isClockTrusted = async (reader: Reader): Promise<boolean> =>
  (await reader.query<{ is: boolean }>(`select ${CLOCK_TRUSTED} as is`)).rows[0]?.is ?? false;

/** Without a hold, those that sent a heartbeat recently have reported. */
export const countAgentClocks = async (reader: Reader): Promise<AgentClocks> =>
  (
    await reader.query<AgentClocks>(
      `select count(*) as known, count(*) filter (where c.state <> 'offline' or c.has_reported) as expected,
         count(*) filter (where c.has_reported) as reported,
         count(*) filter (where c.has_reported and abs(c.skew_ms) <= $1) as agreeing
       from (select n.state, a.database_skew_ms as skew_ms, a.database_skew_ms is not null and ${agentIsSeen('a')}
           and a.last_seen_at >= coalesce((select hold_since from clock_guard), '-infinity') as has_reported
         from node_agents a join nodes n on n.id = a.node_id where not n.state ${NODE_OVER}) c`,
      [CLOCK_STEP_MAX_MS],
    )
  ).rows[0] ?? { known: 0, expected: 0, reported: 0, agreeing: 0 };

/** The clock was checked now. Returns the version of the guard. */
export const acceptClock = async (tx: Tx): Promise<number> =>
  (
    await tx.query<{ version: number }>(
      `insert into clock_guard as g (seen_at) values (clock_timestamp())
       on conflict (id) do update set seen_at = excluded.seen_at returning g.version`,
    )
  ).rows[0]?.version ?? 0;

export const holdClock = async (tx: Tx, hold: Readonly<{ reason: string; jump_ms: number }>): Promise<void> => {
  await tx.query(
    `update clock_guard set seen_at = clock_timestamp(), hold_since = clock_timestamp(), reason = $1, jump_ms = $2,
       version = version + 1 where hold_since is null`,
    [hold.reason, hold.jump_ms],
  );
};

/** Undefined when another version is stored. Without a hold it accepts the time after a pause of the checks. */
export const endClockHold = async (tx: Tx, version: number, by: string): Promise<ClockGuardRow | undefined> =>
  (
    await tx.query<ClockGuardRow>(
      `update clock_guard g set seen_at = clock_timestamp(), hold_since = null, reason = null, jump_ms = null,
         ended_at = clock_timestamp(), ended_by = $2, version = g.version + 1
       where g.version = $1 returning ${GUARD}`,
      [version, by],
    )
  ).rows[0];
