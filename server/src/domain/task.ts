/** States of a host task. An open task may still get a result; a dispatched one may be in the agent's journal. */
import { OPEN_TASK_STATES } from '@gpuaas/contract';
import { TASK_KINDS, TASKS, type TaskKind } from '@gpuaas/contract/task-kinds';
import { stepEntries, taskKindOf } from './workflow-declaration.ts';
import { PROVISION_BAREMETAL, PROVISION_SLICE } from './workflow-steps.ts';

/** No host has started it. */
export const UNSTARTED_TASK_STATES = ['queued', 'dispatched'] as const;
export const HANDED_OUT_TASK_STATES = ['dispatched', 'running'] as const;
/** Ended, and not known to have done what was requested. */
export const UNDONE_TASK_STATES = ['failed', 'expired', 'unknown'] as const;

export const isTaskOpen = (state: string): boolean => (OPEN_TASK_STATES as readonly string[]).includes(state);
export const isTaskUndone = (state: string): boolean => (UNDONE_TASK_STATES as readonly string[]).includes(state);

/** Kinds whose effect is unknown when a host started them and did not report the end. */
export const CHANGING_TASK_KINDS: readonly TaskKind[] = TASK_KINDS.filter((kind) => TASKS[kind].effect !== 'read');

/**
 * Kinds that are held for hosts that were not compared with a restored database: those that destroy data, and those that
 * install SSH keys, which may have been revoked since the backup.
 */
export const HELD_TASK_KINDS: readonly TaskKind[] = TASK_KINDS.filter(
  (kind) => TASKS[kind].effect === 'destroy' || Object.hasOwn(TASKS[kind].params.properties, 'ssh_public_keys'),
);

/**
 * Host tasks of a launch, of both shapes. A stop and a cleanup are not included: their slots stay claimed until a wipe is
 * proven. One slot of a node that is not available keeps the whole node from the next bare-metal tenant. A node without
 * slots needs none: its cleanup removes the account behind any task of the account that still runs, and wipes its disks.
 */
const LAUNCH_KINDS: readonly string[] = [
  ...stepEntries(PROVISION_SLICE).flatMap(([, step]) => taskKindOf(step, 'gpu_slice') ?? []),
  ...stepEntries(PROVISION_BAREMETAL).flatMap(([, step]) => taskKindOf(step, 'baremetal') ?? []),
];

/** The host differs from the claim, and the next launch on the slot would fail the same way. */
const REFUSALS = ['conflict', 'stale_generation'];
/** For a guest OS these only mean that it is slow, or reports so itself. */
const REFUSALS_TO_CHANGE = [...REFUSALS, 'drift', 'timeout', 'vfio_group_unavailable'];

export type EndedTask = Readonly<{
  kind: string;
  state: string;
  state_reason: string | null;
  error_code: string | null;
}>;

/** Why the slots of a task are quarantined when their wipe is proven; null if they are not. */
export const quarantineReason = ({ kind, state, state_reason, error_code }: EndedTask): string | null => {
  if (!LAUNCH_KINDS.includes(kind)) return null;
  const { label, effect } = TASKS[kind as TaskKind];
  const codes = effect === 'read' ? REFUSALS : REFUSALS_TO_CHANGE;
  if (state !== 'unknown' && !(state === 'failed' && codes.includes(error_code ?? ''))) return null;
  return `${label}: ${state_reason ?? error_code ?? state}`;
};
