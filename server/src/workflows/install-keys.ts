/**
 * Installs exactly the authorized keys of a VM. The task carries the full set as of its creation, under the
 * allocation's lock that every change of a grant takes too. Grants and revocations made after that are therefore found
 * pending and installed in another round. A VM that is off gets its keys when it starts.
 */
import {
  type FinishedGrant,
  failGrants,
  finishGrants,
  hasPendingGrants,
  listAuthorizedKeys,
} from '../db/access-grant.ts';
import { type AllocationRow, findAllocation, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { releaseRunTask } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { usernameOf } from '../domain/host-name.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { INSTALL_KEYS } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { type Commit, done, next } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';
import { consumeTaskSignal, ensureTask, waitForTask } from './host-task.ts';

const KIND = INSTALL_KEYS.steps.installKeys.task;
const TRIES_MAX = 3;
const DEADLINE_MS = 2 * 3_600_000;

export const FAILED_REASONS = {
  pending: 'The key could not be installed. Check that the VM runs and is reachable, then grant the key again.',
  revoking: 'The key could not be removed yet and may still give access. Removal is retried every minute.',
} as const;

type InstallProgress =
  | Readonly<{ kind: 'completed'; task_id: string }>
  | Readonly<{ kind: 'open' }>
  | Readonly<{ kind: 'failed' | 'over' }>
  | Readonly<{ kind: 'later'; ms: number }>;

export type KeysDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  install(
    request: Readonly<{ allocation_id: string; run_id: string; correlation_id: string }>,
  ): Promise<InstallProgress>;
  finish(id: string, taskId: string): Commit;
  fail(id: string): Commit;
}>;

/** Whether the keys can be installed now. An unknown power state is tried. */
export const canInstallKeys = ({ state, capacity_shape, power_state }: AllocationRow): boolean =>
  state === 'active' && (capacity_shape === 'baremetal' || power_state === 'on' || power_state === 'unknown');

/** Emits the event and the audit row of each grant. */
export const emitGrants = (tx: Tx, finished: readonly FinishedGrant[]): void => {
  for (const { organization_id, project_id, correlation_id, ...grant } of finished) {
    const { id, allocation_id, user_id, fingerprint, state, state_reason } = grant;
    tx.defer(
      insertOutboxEvent(tx, {
        event_type: 'allocation.access_grant.changed',
        ...{ organization_id, project_id, correlation_id, subject: id },
        data: { access_grant_id: id, allocation_id, user_id, state },
      }),
    );
    tx.defer(
      insertSystemAudit(tx, {
        ...{ organization_id, project_id, correlation_id },
        action: `allocation.access_grant.${state}`,
        target_kind: 'access_grant',
        target_id: id,
        policy: 'workflow',
        metadata: { allocation_id, user_id, fingerprint, reason: state_reason },
      }),
    );
  }
};

const install = async (
  tx: Tx,
  request: Parameters<KeysDeps['install']>[0],
  delayMs: number,
): Promise<InstallProgress> => {
  const row = await lockAllocation(tx, request.allocation_id);
  if (row?.state !== 'active' || row.node_id === null) return { kind: 'over' };
  const progress = await ensureTask(tx, {
    ...request,
    node_id: row.node_id,
    kind: KIND,
    tries_max: TRIES_MAX,
    retryDelayMs: () => delayMs,
    prepare: async () => {
      const [isPending, ssh_public_keys] = await Promise.all([
        hasPendingGrants(tx, row.id),
        listAuthorizedKeys(tx, row),
      ]);
      if (!isPending || !canInstallKeys(row)) return { skip: 'The VM has its keys, or cannot be reached.' };
      const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : null;
      return { params: { allocation_id: row.id, username, ssh_public_keys } };
    },
  });
  return progress.kind === 'skipped' ? { kind: 'over' } : progress;
};

export const installKeys = workflow<KeysDeps, AllocationRow, StepOf<typeof INSTALL_KEYS>>({
  declared: INSTALL_KEYS,
  deadlineMs: DEADLINE_MS,
  onCancel: 'abort',
  onDeadline: 'abort',
  onFailure: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    installKeys: async (deps, { id }, ctx) => {
      consumeTaskSignal(ctx);
      const { id: run_id, correlation_id } = ctx.run;
      const progress = await deps.install({ allocation_id: id, run_id, correlation_id });
      // Checked again after the installation: grants may have changed meanwhile.
      if (progress.kind === 'completed') return next('installKeys', deps.finish(id, progress.task_id));
      if (progress.kind === 'open' || progress.kind === 'later')
        return waitForTask(progress, INSTALL_KEYS.steps.installKeys.doing);
      return progress.kind === 'failed' ? done(deps.fail(id)) : done();
    },
    abort: async (deps, { id }) => done(deps.fail(id)),
  },
});

export const createKeysDeps = (
  options: Readonly<{
    database: Database;
    /** Delay after a failed task. */
    retry_delay_ms?: number;
  }>,
): KeysDeps => {
  const { database, retry_delay_ms = 5_000 } = options;
  return {
    load: async (id) => {
      const row = await database.read(PLATFORM, (reader) => findAllocation(reader, id));
      if (row === undefined) throw notFound('allocation');
      return row;
    },
    install: (request) => database.write(PLATFORM, (tx) => install(tx, request, retry_delay_ms)),
    finish: (id, taskId) => async (tx) => {
      await lockAllocation(tx, id);
      emitGrants(tx, await finishGrants(tx, id, taskId));
      await releaseRunTask(tx, taskId);
    },
    fail: (id) => async (tx) => {
      await lockAllocation(tx, id);
      emitGrants(tx, await failGrants(tx, id, FAILED_REASONS));
    },
  };
};
