/** States as the end of a sentence. The words of the wire are adjectives only in part. */
import type { Allocation, NodeTask, WorkflowRun } from '@gpuaas/sdk';

const TASK: Readonly<Record<NodeTask['state'], string>> = {
  queued: 'is queued',
  dispatched: 'was sent to its agent',
  running: 'is running',
  completed: 'is completed',
  failed: 'has failed',
  expired: 'timed out',
  unknown: 'has no known result',
  cancelled: 'was cancelled',
};
export const taskText = (state: NodeTask['state']): string => TASK[state];

const RUN: Readonly<Record<WorkflowRun['state'], string>> = {
  pending: 'is pending',
  running: 'is running',
  waiting: 'is waiting',
  done: 'is done',
  stuck: 'is stuck',
  cancelled: 'was cancelled',
};
export const runText = (state: WorkflowRun['state']): string => RUN[state];

/** `named`: the allocation, with its ID. */
export const allocationText = (named: string, state: Allocation['state'], shown: string = state): string => {
  if (state === 'failed') return `${named} has failed`;
  if (state === 'release_failed') return `Cleanup of ${named} is blocked`;
  return `${named} is ${shown}`;
};
