/**
 * What the workflows of an allocation share: what they may do to the world, and the step that has a host do one thing.
 * Such a step asks for its task, finds it where it left it when it runs again, and rests until the host has answered.
 */
import type { AllocationRow } from '../db/allocation.ts';
import type { PowerRest } from '../domain/power.ts';
import { CLEANUP_TRIES_MAX } from '../domain/task-limit.ts';
import type { WipeVerdict } from '../domain/wipe.ts';
import { type Commit, done, next, type Outcome, stuck, wait, waitForSignal } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

export type TaskKind =
  | 'slice.bundle_lease'
  | 'slice.image_clone'
  | 'slice.vm_start'
  | 'slice.vm_readiness'
  | 'slice.vm_reboot'
  | 'slice.vm_stop'
  | 'slice.cleanup'
  | 'allocation.provision_user'
  | 'allocation.deprovision_user'
  | 'node.cleanup';

export type TaskAsk = Readonly<{
  allocation_id: string;
  kind: TaskKind;
  run_id: string;
  correlation_id: string;
  /**
   * Only while the allocation is in this phase: a release that was accepted meanwhile ends provisioning and any change of
   * power, and a change of power is one run's.
   */
  phase: 'provisioning' | 'power' | 'custody';
  tries_max: number;
}>;

export type TaskAnswer =
  | Readonly<{ kind: 'completed' | 'open' | 'failed' | 'gone' }>
  /** The next try, or another task of the allocation, must be waited for. */
  | Readonly<{ kind: 'later'; ms: number }>;

export type Judged = Readonly<{ task_id: string; node_id: string; verdict: WipeVerdict; may_try_again: boolean }>;

export type SettlePower = Readonly<{
  run_id: string;
  correlation_id: string;
  to: PowerRest;
  reason: string | null;
  /** The kind of task that the host refused; without its refusal nothing is known. Null where no host was asked. */
  kind: TaskKind | null;
}>;

export type AllocationDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  ensureTask(ask: TaskAsk): Promise<TaskAnswer>;
  activate(id: string): Commit;
  /** Ends provisioning as failed and starts cleanup. */
  fail(id: string, reason: string): Commit;
  /** A change of power comes to rest. */
  settlePower(id: string, settle: SettlePower): Commit;
  /** Whether an earlier cleanup gave up. */
  isBlocked(id: string): Promise<boolean>;
  /** Whether it failed because of what its guest saw of the hardware, and no operator has taken that up. */
  isInDoubt(allocation: AllocationRow): Promise<boolean>;
  resume(id: string): Commit;
  /** Takes back what was asked of the host and not begun: it must not happen beside what comes next. */
  withdrawTasks(id: string, reason: string): Commit;
  block(id: string, reason: string): Commit;
  judge(allocation: AllocationRow, runId: string): Promise<Judged | undefined>;
  prove(id: string, judged: Judged): Commit;
  reject(id: string, judged: Judged): Commit;
}>;

/** Sent to the run when a host has finished a task of it. */
export const TASK_FINISHED = 'task_finished';
/** A lost signal costs this long. */
const LOOK_AGAIN_MS = 5_000;
export const TRIES_MAX = CLEANUP_TRIES_MAX;

type Words = Readonly<{ doing: string; failed: string }>;

/** For users: nothing that names a host, a device or an address. */
export const WORDS: Readonly<Record<TaskKind, Words>> = {
  'slice.bundle_lease': {
    doing: 'The host is setting the GPUs aside.',
    failed: 'The host could not set the GPUs aside.',
  },
  'slice.image_clone': { doing: 'The image is being copied.', failed: 'The image could not be copied.' },
  'slice.vm_start': { doing: 'The machine is starting.', failed: 'The machine could not be started.' },
  'slice.vm_readiness': { doing: 'The machine is booting.', failed: 'The machine did not become ready.' },
  'slice.vm_reboot': { doing: 'The machine is being rebooted.', failed: 'The machine could not be rebooted.' },
  'slice.vm_stop': { doing: 'The machine is being stopped.', failed: 'The machine could not be stopped.' },
  'slice.cleanup': { doing: 'The disks are being erased.', failed: 'The disks could not be erased.' },
  'allocation.provision_user': { doing: 'Access is being set up.', failed: 'Access could not be set up.' },
  'allocation.deprovision_user': { doing: 'Access is being taken away.', failed: 'Access could not be taken away.' },
  'node.cleanup': { doing: 'The disks are being erased.', failed: 'The disks could not be erased.' },
};

type Asking = Readonly<{ kind: TaskKind; phase: TaskAsk['phase'] }>;
export type Resting = Outcome<never> | 'completed' | 'failed' | 'gone';

/** How far the host is, or the outcome of a step that has to wait for it. */
export const askHost = async (
  deps: AllocationDeps,
  allocation: AllocationRow,
  ctx: StepContext,
  asking: Asking,
): Promise<Resting> => {
  // Used up before looking: what it told is in the task by now.
  ctx.signals.take(TASK_FINISHED);
  const answer = await deps.ensureTask({
    allocation_id: allocation.id,
    ...asking,
    run_id: ctx.run.id,
    correlation_id: ctx.run.correlation_id,
    tries_max: asking.phase === 'custody' ? TRIES_MAX : 1,
  });
  if (answer.kind === 'later') return wait(answer.ms, `${WORDS[asking.kind].doing} It is tried again shortly.`);
  return answer.kind === 'open' ? waitForSignal(TASK_FINISHED, LOOK_AGAIN_MS, WORDS[asking.kind].doing) : answer.kind;
};

/** A step of provisioning. What the host cannot do is not tried twice: the allocation has failed and is cleaned up. */
export const provisionBy =
  <const Step extends string>(kind: TaskKind, then: Step) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<Step>> => {
    const answer = await askHost(deps, allocation, ctx, { kind, phase: 'provisioning' });
    if (answer === 'completed') return next(then);
    if (answer === 'failed') return stuck(WORDS[kind].failed, deps.fail(allocation.id, WORDS[kind].failed));
    return answer === 'gone' ? done() : answer;
  };

export const activate = async (deps: AllocationDeps, allocation: AllocationRow) => done(deps.activate(allocation.id));

/** Where provisioning goes that was cancelled, took too long or broke: the allocation has failed. */
export const abandon = async (deps: AllocationDeps, allocation: AllocationRow) =>
  done(deps.fail(allocation.id, 'Provisioning did not finish.'));

export const PROVISION_DEADLINE_MS = 30 * 60_000;
