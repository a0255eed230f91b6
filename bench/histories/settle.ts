/**
 * The end of a history: every fault is healed, and all work ends by itself, except what waits for an operator with a
 * reason. Then an operator retries what is blocked, and it ends too: with healthy hosts nothing stays blocked.
 */
import { pause } from '@gpuaas/kit';
import { OPERATOR } from './base.ts';
import { heal } from './fault.ts';
import type { World } from './world.ts';

/** Only ends the history of a broken control plane: not a measurement. */
const PATIENCE_MS = 90_000;
const LOOK_MS = 50;

const OPEN_WORK = `select 'run ' || id || ' ' || workflow || '/' || step || ' is ' || state || coalesce(': ' || state_reason, '') as what
    from workflow_runs where state in ('pending', 'running', 'waiting')
  union all select 'task ' || t.id || ' ' || t.kind || ' is ' || t.state || ' on ' || n.name from node_tasks t join nodes n on n.id = t.node_id
    where t.state in ('queued', 'dispatched', 'running')
  union all select 'the clock of the database is not trusted: ' || reason from clock_guard where hold_since is not null
  union all select 'node ' || n.name || ' is offline' from nodes n where n.state = 'offline'
  union all select 'audit row ' || l.id || ' is not sealed' from audit_logs l
    where not exists (select from audit_seals s where s.audit_log_id = l.id)
  union all select 'event ' || id || ' is not sent' from outbox_events where sent_at is null`;

/** Timers of waiting runs fire now: time passes faster than work. */
const HURRY = `update workflow_runs set due_at = clock_timestamp() where state in ('pending', 'waiting') and waiting_for is null and due_at > clock_timestamp()`;

const openWork = async (world: World): Promise<string[]> =>
  (await world.sql.query<{ what: string }>(OPEN_WORK)).rows.map(({ what }) => what);

const untilQuiet = async (world: World, patienceMs: number): Promise<string[]> => {
  const deadline = performance.now() + patienceMs;
  for (let quiet = 0; ; ) {
    const open = await openWork(world);
    quiet = open.length === 0 ? quiet + 1 : 0;
    // Twice: work that starts other work is between the two for a moment.
    if (quiet >= 2) return [];
    if (performance.now() > deadline) return open;
    await world.sql.query(HURRY);
    await pause(LOOK_MS);
  }
};

/** Cleanups that wait for an operator: of allocations, and of hosts that a launch left. */
const BLOCKED = `select a.id, null as run_id, a.state_reason as reason from allocations a where a.state in ('failed', 'release_failed')
    and exists (select from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null and c.move_id is null)
  union all select r.subject_id, r.id, r.state_reason from workflow_runs r where r.state = 'stuck' and r.workflow = 'clean-left-host'
  order by 1`;

type Blocked = Readonly<{ id: string; run_id: string | null; reason: string | null }>;
const blocked = async (world: World): Promise<Blocked[]> => (await world.sql.query<Blocked>(BLOCKED)).rows;

/** What is still open after all faults are healed; empty if everything ended. */
export const settle = async (world: World, patienceMs = PATIENCE_MS): Promise<string[]> => {
  await heal(world);
  return (await untilQuiet(world, patienceMs)).map((what) => `not settled: ${what}`);
};

/** As an operator who has repaired the hosts: what still cannot be cleaned up; null when nothing was blocked. */
export const recover = async (world: World, patienceMs = PATIENCE_MS): Promise<string[] | null> => {
  const found = await blocked(world);
  if (found.length === 0) return null;
  for (const { id, run_id } of found)
    await world.call(OPERATOR, {
      method: 'POST',
      ...(run_id === null
        ? {
            path: `/api/v1/admin/allocations/${id}/force-cleanup`,
            body: { reason: 'The hosts are repaired.', runtime_verified_absent: false },
          }
        : { path: `/api/v1/admin/workflow-runs/${run_id}/retry`, body: {} }),
      key: `recover-${run_id ?? id}`,
    });
  const open = await untilQuiet(world, patienceMs);
  const left = await blocked(world);
  return [
    ...open.map((what) => `not settled after the retry: ${what}`),
    ...left.map(({ id, reason }) => `blocked on healthy hosts, after a retry: ${id}: ${reason}`),
  ];
};
