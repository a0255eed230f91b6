/**
 * Has a machine opened by the keys that it is to be opened by, no more and no fewer. The host is told the full set as it is when
 * the task is written, under the lock of the allocation that every change of a grant takes too; so whatever was granted or
 * revoked since is seen to be missing afterwards, and told in another round. A machine that is off is told nothing: it is when
 * it is on again.
 */
import type { TaskParams } from '@gpuaas/contract/node';
import { failGrants, hasPendingGrants, listWantedKeys, type Settled, settleGrants } from '../db/access-grant.ts';
import { type AllocationRow, findAllocation, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  countTasksUnderWay,
  findLatestTask,
  findRunTask,
  insertTask,
  type NodeTaskRow,
  releaseRunTask,
} from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { usernameOf } from '../domain/host-name.ts';
import { isTaskOpen } from '../domain/task.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { INSTALL_KEYS } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { TASK_FINISHED } from './allocation-steps.ts';
import { type Commit, done, next, wait, waitForSignal } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';

const KIND = INSTALL_KEYS.steps.installKeys.task;
const TRIES_MAX = 3;
const LOOK_AGAIN_MS = 5_000;
const UNDER_WAY_MS = 1_000;
const DEADLINE_MS = 2 * 3_600_000;

const NOT_TOLD = {
  pending: 'Its machine could not be told. See that it runs and is reachable, then grant it again.',
  revoking: 'Its machine could not be told yet, so the key may still open it. It is tried again every minute.',
} as const;

type Telling =
  | Readonly<{ kind: 'completed'; task_id: string }>
  | Readonly<{ kind: 'open' | 'failed' | 'over' }>
  | Readonly<{ kind: 'later'; ms: number }>;

export type KeysDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  tell(ask: Readonly<{ allocation_id: string; run_id: string; correlation_id: string }>): Promise<Telling>;
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

/** How far what this run asked for is; undefined where it has asked for nothing yet, or may ask again. */
const standing = (
  own: (NodeTaskRow & Readonly<{ age_ms: number; tries: number }>) | undefined,
  delayMs: number,
): Telling | undefined => {
  if (own === undefined) return undefined;
  if (own.state === 'completed') return { kind: 'completed', task_id: own.id };
  if (isTaskOpen(own.state)) return { kind: 'open' };
  if (own.tries >= TRIES_MAX) return { kind: 'failed' };
  const ms = delayMs - own.age_ms;
  return ms > 0 ? { kind: 'later', ms } : undefined;
};

const tell = async (tx: Tx, ask: Parameters<KeysDeps['tell']>[0], delayMs: number): Promise<Telling> => {
  const row = await lockAllocation(tx, ask.allocation_id);
  if (row?.state !== 'active' || row.node_id === null) return { kind: 'over' };
  const [own, latest, underWay, isUntold, ssh_public_keys] = await Promise.all([
    findRunTask(tx, ask.run_id, KIND),
    findLatestTask(tx, row.id, KIND, ask.run_id),
    countTasksUnderWay(tx, row.id),
    hasPendingGrants(tx, row.id),
    listWantedKeys(tx, row),
  ]);
  const stands = standing(own, delayMs);
  if (stands !== undefined) return stands;
  if (!isUntold || !takesKeys(row)) return { kind: 'over' };
  if (underWay > 0) return { kind: 'later', ms: UNDER_WAY_MS };
  const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : null;
  const params: TaskParams<typeof KIND> = { allocation_id: row.id, username, ssh_public_keys };
  await insertTask(tx, {
    node_id: row.node_id,
    allocation_id: row.id,
    kind: KIND,
    params,
    attempt: (latest?.attempt ?? 0) + 1,
    correlation_id: ask.correlation_id,
    workflow_run_id: ask.run_id,
  });
  return { kind: 'open' };
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
      // Used up before looking: what it told is in the task by now.
      ctx.signals.take(TASK_FINISHED);
      const { id: run_id, correlation_id } = ctx.run;
      const answer = await deps.tell({ allocation_id: id, run_id, correlation_id });
      // Told, and looked at again: something may have been granted or revoked meanwhile.
      if (answer.kind === 'completed') return next('installKeys', deps.settle(id, answer.task_id));
      if (answer.kind === 'open')
        return waitForSignal(TASK_FINISHED, LOOK_AGAIN_MS, INSTALL_KEYS.steps.installKeys.doing);
      if (answer.kind === 'later') return wait(answer.ms, INSTALL_KEYS.steps.installKeys.doing);
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
    tell: (ask) => database.write(PLATFORM, (tx) => tell(tx, ask, retry_delay_ms)),
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
