/**
 * The runs this worker holds. One heartbeat extends all run leases at a third of their time. A run that the database no
 * longer counts as ours is aborted. If the database is unreachable for the length of a lease, all runs are aborted,
 * because another worker may have them. Correctness rests on the fence in the database; this only stops early.
 */
import type { Log, Loop, LoopWatch } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../../db/client.ts';
import { type Lease, releaseLeases, renewLeases } from '../../db/workflow-run.ts';
import { LeaseLost } from './record.ts';

export type HeldRun = {
  lease: Lease;
  /** While its move is being written, the database may already have the next number. */
  recording: boolean;
  confirmed_at: number;
  readonly controller: AbortController;
};

export type Leases = Readonly<{
  hold(lease: Lease): HeldRun;
  drop(held: HeldRun): void;
  size(): number;
  heartbeat(): Promise<void>;
  /** Returns every run, so that no worker has to wait for the leases to expire. */
  release(): Promise<void>;
  /** Drops all state silently, as a killed process would. */
  abandon(): void;
}>;

export type LeasesOptions = Readonly<{
  database: Database;
  lease_ms: number;
  log: Log;
  /** Reports a renewal that does not end. */
  loops?: LoopWatch | undefined;
}>;

export const createLeases = (options: LeasesOptions): Leases => {
  const held = new Set<HeldRun>();
  let timer: NodeJS.Timeout | undefined;
  let beating = false;
  let watch: Loop | undefined;

  const lose = (run: HeldRun, why: string) => run.controller.abort(new LeaseLost(`run ${run.lease.id}: ${why}`));

  const heartbeat = async (): Promise<void> => {
    const requested = [...held].filter((run) => !run.recording).map((run) => ({ run, lease: run.lease }));
    if (requested.length === 0 || beating) return;
    beating = true;
    const askedAt = performance.now();
    try {
      const leases = requested.map(({ lease }) => lease);
      const renewed = await options.database.write(PLATFORM, (tx) => renewLeases(tx, leases, options.lease_ms));
      for (const { run, lease } of requested) {
        if (renewed.has(lease.id)) run.confirmed_at = askedAt;
        else if (held.has(run) && !run.recording && run.lease === lease) lose(run, 'taken over by another worker');
      }
    } catch (err) {
      options.log.warn({ err }, 'failed to renew run leases');
      for (const run of held)
        if (performance.now() - run.confirmed_at > options.lease_ms) lose(run, 'run lease renewal failed');
    } finally {
      beating = false;
    }
  };

  /** The timer does not wait for a renewal, which must not look alive because the next one is due. */
  const beat = () => {
    if (!beating) void (watch === undefined ? heartbeat() : watch.turn(heartbeat));
  };

  const startHeartbeat = () => {
    if (timer !== undefined) return;
    watch = options.loops?.add('renew-run-leases', options.lease_ms / 3);
    timer = setInterval(beat, options.lease_ms / 3);
  };

  const stopHeartbeat = () => {
    clearInterval(timer);
    timer = undefined;
    watch?.end();
  };

  return {
    hold: (lease) => {
      const run: HeldRun = {
        lease,
        recording: false,
        confirmed_at: performance.now(),
        controller: new AbortController(),
      };
      held.add(run);
      startHeartbeat();
      return run;
    },
    drop: (run) => {
      held.delete(run);
      if (held.size === 0) stopHeartbeat();
    },
    size: () => held.size,
    heartbeat,
    release: async () => {
      const runs = [...held];
      for (const run of runs) lose(run, 'the worker stops');
      const leases = runs.map((run) => run.lease);
      if (leases.length > 0) await options.database.write(PLATFORM, (tx) => releaseLeases(tx, leases));
    },
    abandon: () => {
      stopHeartbeat();
      held.clear();
    },
  };
};
