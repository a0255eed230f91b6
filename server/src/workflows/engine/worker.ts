/**
 * Runs workflows. Any number of workers share the work through run leases in the database. A worker claims due runs,
 * runs their steps and records each outcome under the fence of its lease; it continues with the next step of the same
 * run. A crash needs no handling: the lease expires, the loss is counted, and another worker runs the step again. A run
 * that lost a worker is executed alone in its process, after a growing pause: if it kills the process, it takes no other
 * run with it.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { backoffMs, type Log, type LoopWatch, pause } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../../db/client.ts';
import { findMovedRun, type LeasedRun } from '../../db/workflow-run.ts';
import { isHeldAtBoundary } from '../../domain/workflow.ts';
import { AppError } from '../../errors.ts';
import { createEventHub, type EventHub } from '../../ports/events/hub.ts';
import { type Acted, act, failureOf } from './act.ts';
import { claim, sweepUnknownRuns } from './claim.ts';
import { createLeases, type HeldRun } from './lease.ts';
import { LeaseLost, record } from './record.ts';
import type { Registry } from './registry.ts';
import type { BoundWorkflow } from './workflow.ts';

/** The points at which a process can die: before the step, after it, inside the transaction, after the commit. */
export const FAIL_POINTS = ['claimed', 'acted', 'committing', 'committed'] as const;
export type FailPoint = (typeof FAIL_POINTS)[number];

/** Thrown from `at` to kill the worker at that point: no release, no heartbeat, no further write. */
export class WorkerDied extends Error {
  override name = 'WorkerDied';
}

export type WorkerOptions = Readonly<{
  database: Database;
  registry: Registry;
  log: Log;
  service?: string;
  concurrency?: number;
  lease_ms?: number;
  /** The longest a due run waits when every wake-up is lost. */
  poll_ms?: number;
  /** How long after its deadline a run of an unknown version is left to workers that may have it. */
  unknown_grace_ms?: number;
  sweep_ms?: number;
  /** Called when there may be work; a lost call costs one polling interval. */
  hub?: EventHub;
  /** Reports a loop of the worker that no longer completes its turns. */
  loops?: LoopWatch;
  at?: (point: FailPoint, run: LeasedRun) => Promise<void> | void;
}>;

export type Worker = Readonly<{
  owner: string;
  start(): void;
  /** Lets current steps end within the grace period, then aborts them and returns their runs. */
  stop(graceMs?: number): Promise<void>;
  /** Claims due runs, works until they wait or end, and returns their number. */
  tick(): Promise<number>;
  sweep(): Promise<number>;
}>;

const RETRY_CAP_MS = 5_000;
const BOUNDARY: Acted = { result: { kind: 'boundary' }, commit: undefined, taken: [] };

export const createWorker = (options: WorkerOptions): Worker => {
  const { database, registry, log } = options;
  const owner = `${options.service ?? 'worker'}@${hostname()}/${process.pid}-${randomBytes(4).toString('hex')}`;
  const leaseMs = options.lease_ms ?? 30_000;
  const concurrency = options.concurrency ?? 10;
  const pollMs = options.poll_ms ?? 500;
  const hub = options.hub ?? createEventHub();
  const leases = createLeases({ database, lease_ms: leaseMs, log, loops: options.loops });
  const stopping = new AbortController();
  const active = new Set<Promise<void>>();
  let loop: Promise<void> | undefined;
  /** Runs that must have the process to themselves; at most one. */
  let alone = 0;
  let sweptAt = 0;

  /**
   * A database outage must not cost the step its work, so the record is repeated while the run lease lasts. A commit
   * without a reply may have succeeded: then the run is read again and goes on from there.
   */
  const recordWithRetries = async (
    held: HeldRun,
    bound: BoundWorkflow,
    run: LeasedRun,
    acted: Acted,
  ): Promise<LeasedRun> => {
    const committing = async () => options.at?.('committing', run);
    const startedAt = performance.now();
    let isUncertain = false;
    for (let attempt = 1; ; attempt++) {
      try {
        if (isUncertain) {
          const moved = await database.read(PLATFORM, (reader) => findMovedRun(reader, run, owner));
          if (moved !== undefined) return moved;
        }
        return await record({
          database,
          bound,
          run,
          acted,
          lease_ms: leaseMs,
          go_on: !stopping.signal.aborted,
          committing,
        });
      } catch (err) {
        if (!(err instanceof AppError) || err.code !== 'unavailable') throw err;
        isUncertain = true;
        if (held.controller.signal.aborted || performance.now() - startedAt > leaseMs)
          throw new LeaseLost(`run ${run.id} could not be recorded while its lease lasted`, { cause: err });
        await pause(backoffMs(attempt, { baseMs: 100, capMs: 2_000 }), held.controller.signal);
      }
    }
  };

  /** Runs one step and records its outcome; an error in the step's commit is an error of the step. */
  const runStep = async (held: HeldRun, bound: BoundWorkflow, run: LeasedRun): Promise<LeasedRun> => {
    await options.at?.('claimed', run);
    const signal = held.controller.signal;
    const acted = isHeldAtBoundary(run) ? BOUNDARY : await act({ database, bound, run, stopping: signal });
    if (signal.aborted) throw signal.reason;
    await options.at?.('acted', run);
    held.recording = true;
    let moved: LeasedRun;
    try {
      moved = await recordWithRetries(held, bound, run, acted);
    } catch (err) {
      if (err instanceof LeaseLost || err instanceof WorkerDied) throw err;
      log.warn(
        { err, workflow_run_id: run.id, step: run.step, correlation_id: run.correlation_id },
        'workflow step not recorded',
      );
      const failed: Acted = { result: failureOf(run.step, err), commit: undefined, taken: [] };
      moved = await recordWithRetries(held, bound, run, failed);
    }
    held.lease = moved;
    held.confirmed_at = performance.now();
    held.recording = false;
    await options.at?.('committed', run);
    return moved;
  };

  const work = async (claimed: LeasedRun): Promise<void> => {
    const bound = registry.find(claimed.workflow, claimed.workflow_version);
    if (bound === undefined) return;
    const held = leases.hold(claimed);
    try {
      for (let run = claimed; run.state === 'running'; ) run = await runStep(held, bound, run);
    } catch (err) {
      const where = { workflow_run_id: claimed.id, workflow: claimed.workflow, correlation_id: claimed.correlation_id };
      if (err instanceof WorkerDied) {
        leases.abandon();
        stopping.abort(err);
      } else if (err instanceof LeaseLost) log.info({ err, ...where }, 'run lease lost');
      else
        log.error(
          { err, ...where },
          'failed to record workflow step; another worker retries after the run lease expires',
        );
    } finally {
      leases.drop(held);
    }
  };

  const launch = (run: LeasedRun): Promise<void> => {
    const isAlone = run.workers_lost > 0;
    if (isAlone) alone += 1;
    const job = work(run).finally(() => {
      active.delete(job);
      if (isAlone) alone -= 1;
      if (active.size === concurrency - 1 || isAlone) hub.wake();
    });
    active.add(job);
    return job;
  };

  const claimFree = async (): Promise<LeasedRun[]> => {
    const limit = concurrency - active.size;
    return limit <= 0 || alone > 0 || registry.keys.length === 0
      ? []
      : claim(database, registry, { limit, is_idle: active.size === 0, owner, lease_ms: leaseMs });
  };

  const sweep = () => sweepUnknownRuns(database, registry, options.unknown_grace_ms ?? 60_000);

  const runLoop = async (): Promise<void> => {
    const watch = options.loops?.add('run-workflows', Math.max(pollMs, RETRY_CAP_MS));
    const turn = <T>(fn: () => Promise<T>): Promise<T> => (watch === undefined ? fn() : watch.turn(fn));
    let bell: Promise<void> | undefined;
    for (let failures = 0; !stopping.signal.aborted; ) {
      // Subscribed before the query, so that a wake-up during the query is not lost.
      bell ??= hub.wait(pollMs, stopping.signal).finally(() => {
        bell = undefined;
      });
      const woken = bell;
      try {
        const free = concurrency - active.size;
        const runs = await turn(claimFree);
        for (const run of runs) void launch(run);
        if (performance.now() - sweptAt > (options.sweep_ms ?? 30_000)) {
          sweptAt = performance.now();
          await turn(sweep);
        }
        failures = 0;
        if (free === 0 || runs.length < free) await woken;
      } catch (err) {
        failures++;
        log.warn({ err }, 'workflow worker cannot reach the database');
        await pause(backoffMs(failures, { baseMs: pollMs, capMs: RETRY_CAP_MS }), stopping.signal);
      }
    }
    watch?.end();
  };

  return {
    owner,
    start: () => {
      loop ??= runLoop();
    },
    stop: async (graceMs = 5_000) => {
      stopping.abort(new Error('the worker stops'));
      await loop;
      const late = new AbortController();
      await Promise.race([Promise.all(active), pause(graceMs, late.signal)]);
      late.abort();
      if (active.size > 0)
        await leases.release().catch((err: unknown) => log.warn({ err }, 'failed to release run leases'));
    },
    tick: async () => {
      const runs = stopping.signal.aborted ? [] : await claimFree();
      await Promise.all(runs.map(launch));
      return runs.length;
    },
    sweep,
  };
};
