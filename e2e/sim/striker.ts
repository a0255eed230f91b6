/**
 * A worker that dies with many runs, each held at a boundary of its own, and what is checked before and after the next
 * worker starts.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as SqlClient } from 'pg';
import { boundariesOf, type Path, pictureAt } from './boundaries.ts';
import type { Boundary } from './paused-worker.ts';
import { eventually, type Platform, type Running } from './platform.ts';

export const PATIENCE_MS = 120_000;

type Strike = Readonly<{ path: Path; boundary: Boundary }>;
export const strikesOf = (path: Path, ids: readonly string[], boundaries = boundariesOf(path)): Strike[] =>
  boundaries.map((boundary, index) => {
    const subject_id = ids[index];
    assert.ok(subject_id !== undefined, 'each boundary has an allocation of its own');
    return { path, boundary: { ...boundary, subject_id } };
  });

const sorted = (boundaries: readonly Boundary[]) =>
  boundaries.map(({ subject_id, step, execution, point }) => `${subject_id} ${step} ${execution} ${point}`).sort();

export type Striker = Readonly<{
  /** A worker that holds these runs at their boundaries; any other run goes on. */
  startWorker(strikes: readonly Strike[]): Readonly<{ worker: Running; reached(): Boundary[] }>;
  strike(strikes: readonly Strike[]): Promise<void>;
  haveEnded(workflow: string, ids: readonly string[]): Promise<void>;
  checkTraces(ids: readonly string[]): Promise<void>;
}>;

export const createStriker = ({
  platform,
  sql,
  scratch,
}: Readonly<{ platform: Platform; sql: SqlClient; scratch: string }>): Striker => {
  const startWorker = (strikes: readonly Strike[]): Readonly<{ worker: Running; reached(): Boundary[] }> => {
    const [plan, reached] = [join(scratch, 'plan.json'), join(scratch, 'reached.jsonl')];
    writeFileSync(plan, JSON.stringify(strikes.map(({ boundary }) => boundary)));
    rmSync(reached, { force: true });
    const worker = platform.run(['e2e/sim/paused-worker.ts', plan, reached]);
    const linesOf = () => (existsSync(reached) ? readFileSync(reached, 'utf8').split('\n').filter(Boolean) : []);
    return {
      worker,
      reached: () => {
        assert.equal(worker.child.exitCode, null, worker.said());
        return linesOf().map((line): Boundary => JSON.parse(line));
      },
    };
  };

  /** The run as the dead worker left it. */
  const checkPicture = async ({ path, boundary }: Strike): Promise<void> => {
    const { rows } = await sql.query<{ step: string; state: string; kinds: string[] }>(
      `select r.step, r.state, array(select distinct t.kind from node_tasks t where t.workflow_run_id = r.id order by 1) as kinds
       from workflow_runs r where r.subject_id = $1 and r.workflow = $2 order by r.created_at desc limit 1`,
      [boundary.subject_id, boundary.workflow],
    );
    const expected = pictureAt(path, boundary);
    const where = `${boundary.workflow} ${boundary.step} ${boundary.execution} ${boundary.point}`;
    assert.equal(rows.length, 1, where);
    const [run] = rows;
    assert.deepEqual({ step: run?.step, is_done: run?.state === 'done', kinds: run?.kinds }, expected, where);
  };

  /** Lets every run reach its boundary, and kills the process there. */
  const strike = async (strikes: readonly Strike[]): Promise<void> => {
    const { worker, reached } = startWorker(strikes);
    await eventually(
      `${strikes.length} runs are at their boundary`,
      () => reached().length >= strikes.length || undefined,
      PATIENCE_MS,
    );
    assert.deepEqual(sorted(reached()), sorted(strikes.map(({ boundary }) => boundary)));
    await worker.kill('SIGKILL');
    assert.equal(worker.child.signalCode, 'SIGKILL');
    for (const one of strikes) await checkPicture(one);
  };

  /** Every run about them has ended well, and no host did a task twice. */
  const haveEnded = async (workflow: string, ids: readonly string[]): Promise<void> => {
    await eventually(
      `${ids.length} runs of ${workflow} are done`,
      async () => {
        const { rows } = await sql.query<{ state: string; state_reason: string | null; again: number }>(
          `select r.state, r.state_reason, (select count(*) - count(distinct t.kind) from node_tasks t where t.workflow_run_id = r.id)::integer as again
           from workflow_runs r where r.workflow = $1 and r.subject_id = any ($2)`,
          [workflow, ids],
        );
        assert.deepEqual(
          rows.filter((row) => row.state === 'stuck' || row.state === 'cancelled' || row.again > 0),
          [],
        );
        return (rows.length >= ids.length && rows.every(({ state }) => state === 'done')) || undefined;
      },
      PATIENCE_MS,
    );
  };

  /** The records of every allocation: only the correlation IDs of its requests, and no host task twice. */
  const checkTraces = async (ids: readonly string[]): Promise<void> => {
    const { rows } = await sql.query<{ id: string; requests: string[]; ids: string[]; again: number; open: number }>(
      `select a.id, array(select distinct correlation_id from audit_logs where actor_kind = 'user' and result = 'success'
           and (target_id = a.id or metadata ->> 'allocation_id' = a.id) order by 1) as requests,
         array(select distinct x.correlation_id from (
           select correlation_id from workflow_runs where subject_id = a.id
           union all select correlation_id from node_tasks where allocation_id = a.id
           union all select correlation_id from wipe_proofs where allocation_id = a.id
           union all select a.correlation_id) x order by 1) as ids,
         (select count(*) - count(distinct (t.workflow_run_id, t.kind)) from node_tasks t
          where t.allocation_id = a.id and t.workflow_run_id is not null)::integer as again,
         (select count(*) from workflow_runs r where r.subject_id = a.id and r.state not in ('done', 'cancelled'))::integer as open
       from allocations a where a.id = any ($1)`,
      [ids],
    );
    assert.equal(rows.length, ids.length);
    for (const row of rows) assert.deepEqual([row.ids, row.again, row.open], [row.requests, 0, 0], row.id);
  };

  return { startWorker, strike, haveEnded, checkTraces };
};
