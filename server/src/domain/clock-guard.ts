/**
 * Whether the clock of the database can be trusted. Everything that ends, is deleted or is marked because a time has
 * passed reads that clock: one wrong step forward would release allocations and end tasks at once. A worker compares it
 * with its own monotonic time. A step forward by more than `CLOCK_STEP_MAX_MS` holds all of that until the agents on the
 * hosts agree with the new time, the clock returns, or an operator confirms it. A worker that has just started knows only
 * when the clock was last checked, so a long outage is held too, until the agents agree. A step back ends nothing early.
 */
export const CLOCK_STEP_MAX_MS = 5 * 60_000;

/** The clock was read between two times of the process, which only run forward. */
export type ClockReading = Readonly<{ database_ms: number; before_ms: number; after_ms: number }>;

/** How far the clock moved more than the process, at least; negative when it moved less. Zero if it may be right. */
export const clockStepMs = (earlier: ClockReading, later: ClockReading): number => {
  const passed = later.database_ms - earlier.database_ms;
  const most = later.after_ms - earlier.before_ms;
  const least = later.before_ms - earlier.after_ms;
  return Math.round(passed > most ? passed - most : passed < least ? passed - least : 0);
};

export type AgentClocks = Readonly<{
  /** Of nodes in service. */
  known: number;
  /** Those that may report: not of nodes that were offline already. */
  expected: number;
  /** Sent a heartbeat since the hold began. */
  reported: number;
  /** Those of them whose host agrees with the database. */
  agreeing: number;
}>;

const AGENTS_ENOUGH = 3;

/** Most of those that reported agree, and enough have. Without any host there is nothing to protect. */
export const agentsConfirm = ({ known, expected, reported, agreeing }: AgentClocks): boolean =>
  known === 0 || (reported >= Math.min(AGENTS_ENOUGH, Math.max(1, Math.ceil(expected / 2))) && agreeing * 2 > reported);

export type ClockFacts = Readonly<{
  /** As stored; undefined before the first check ever. */
  guard: Readonly<{ seen_ms: number; is_held: boolean; version: number }> | undefined;
  now: ClockReading;
  /** The last reading that this process trusted, and the version of the guard it left; undefined in a new process. */
  trusted: Readonly<{ reading: ClockReading; version: number }> | undefined;
  agents: AgentClocks;
}>;

export type ClockVerdict =
  | Readonly<{ kind: 'trusted'; step_ms: number }>
  | Readonly<{ kind: 'hold'; step_ms: number; reason: string }>
  | Readonly<{ kind: 'held' }>
  | Readonly<{ kind: 'end'; by: 'agents' | 'clock' }>;

const spanText = (ms: number): string => {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
};

export const judgeClock = ({ guard, now, trusted, agents }: ClockFacts): ClockVerdict => {
  if (guard === undefined) return { kind: 'trusted', step_ms: 0 };
  if (guard.is_held) {
    const hasReturned = trusted !== undefined && Math.abs(clockStepMs(trusted.reading, now)) <= CLOCK_STEP_MAX_MS;
    if (hasReturned) return { kind: 'end', by: 'clock' };
    return agentsConfirm(agents) ? { kind: 'end', by: 'agents' } : { kind: 'held' };
  }
  // A hold began and ended since: the time that it was ended with counts.
  if (trusted !== undefined && trusted.version !== guard.version) return { kind: 'trusted', step_ms: 0 };
  const step_ms =
    trusted === undefined ? Math.round(now.database_ms - guard.seen_ms) : clockStepMs(trusted.reading, now);
  if (step_ms <= CLOCK_STEP_MAX_MS) return { kind: 'trusted', step_ms };
  const reason =
    trusted === undefined
      ? `The clock of the database moved ${spanText(step_ms)} while no worker checked it.`
      : `The clock of the database stepped ${spanText(step_ms)} ahead.`;
  return { kind: 'hold', step_ms, reason };
};
