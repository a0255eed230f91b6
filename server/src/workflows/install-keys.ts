/**
 * Has a machine opened by the keys that it is to be opened by, no more and no fewer. The host is told the full set as it is when
 * the task is written, under the lock of the allocation that every change of a grant takes too; so whatever was granted or
 * revoked since is seen to be missing afterwards, and told in another round. A machine that is off is told nothing: it is when
 * it is on again.
 */
import { failGrants, hasPendingGrants, listWantedKeys, type Settled, settleGrants } from '../db/access-grant.ts';
import { type AllocationRow, findAllocation, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { releaseRunTask } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { usernameOf } from '../domain/host-name.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { INSTALL_KEYS } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { ensureTask, restUntil, takeSignal } from './ask-host.ts';
import { type Commit, done, next } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';

const KIND = INSTALL_KEYS.steps.installKeys.task;
const TRIES_MAX = 3;
const DEADLINE_MS = 2 * 3_600_000;

const NOT_TOLD = {
  pending: 'Its machine could not be told. See that it runs and is reachable, then grant it again.',
  revoking: 'Its machine could not be told yet, so the key may still open it. It is tried again every minute.',
} as const;

type Installing =
  | Readonly<{ kind: 'completed'; task_id: string }>
  | Readonly<{ kind: 'open' }>
  | Readonly<{ kind: 'failed' | 'over' }>
  | Readonly<{ kind: 'later'; ms: number }>;

export type KeysDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  install(ask: Readonly<{ allocation_id: string; run_id: string; correlation_id: string }>): Promise<Installing>;
  settle(id: string, taskId: string): Commit;
  fail(id: string): Commit;
}>;

/** Whether somebody is there who could be told. What is not known is tried. */
export const takesKeys = ({ state, capacity_shape, power_state }: AllocationRow): boolean =>
  state === 'active' && (capacity_shape === 'baremetal' || power_state === 'on' || power_state === 'unknown');

/** What became of grants, for those who watch and those who ask later. */
export const emitGrants = (tx: Tx, settled: readonly Settled[]): void => {
  for (const { organization_id, project_id, correlation_id, ...grant } of settled) {
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

const install = async (tx: Tx, ask: Parameters<KeysDeps['install']>[0], delayMs: number): Promise<Installing> => {
  const row = await lockAllocation(tx, ask.allocation_id);
  if (row?.state !== 'active' || row.node_id === null) return { kind: 'over' };
  const answer = await ensureTask(tx, {
    ...ask,
    node_id: row.node_id,
    kind: KIND,
    tries_max: TRIES_MAX,
    retryDelayMs: () => delayMs,
    prepare: async () => {
      const [isPending, ssh_public_keys] = await Promise.all([hasPendingGrants(tx, row.id), listWantedKeys(tx, row)]);
      if (!isPending || !takesKeys(row)) return { withheld: 'The VM has its keys, or cannot be reached.' };
      const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : null;
      return { params: { allocation_id: row.id, username, ssh_public_keys } };
    },
  });
  return answer.kind === 'withheld' ? { kind: 'over' } : answer;
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
      takeSignal(ctx);
      const { id: run_id, correlation_id } = ctx.run;
      const answer = await deps.install({ allocation_id: id, run_id, correlation_id });
      // Installed, and looked at again: something may have been granted or revoked meanwhile.
      if (answer.kind === 'completed') return next('installKeys', deps.settle(id, answer.task_id));
      if (answer.kind === 'open' || answer.kind === 'later')
        return restUntil(answer, INSTALL_KEYS.steps.installKeys.doing);
      return answer.kind === 'failed' ? done(deps.fail(id)) : done();
    },
    abort: async (deps, { id }) => done(deps.fail(id)),
  },
});

export const createKeysDeps = (
  options: Readonly<{
    database: Database;
    /** How long a failed task is let rest before the next. */
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
    install: (ask) => database.write(PLATFORM, (tx) => install(tx, ask, retry_delay_ms)),
    settle: (id, taskId) => async (tx) => {
      await lockAllocation(tx, id);
      emitGrants(tx, await settleGrants(tx, id, taskId));
      await releaseRunTask(tx, taskId);
    },
    fail: (id) => async (tx) => {
      await lockAllocation(tx, id);
      emitGrants(tx, await failGrants(tx, id, NOT_TOLD));
    },
  };
};
