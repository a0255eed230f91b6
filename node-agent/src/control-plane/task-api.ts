/** The calls that the runner makes about a task. The simulator and tests can replace it. */
import type { NodeResponse, TaskProgress, TaskRefusal, TaskResult } from '@gpuaas/contract/node';

export type TaskRef = Readonly<{ task_id: string; attempt: number; correlation_id: string }>;

export type TaskApi = Readonly<{
  start(task: TaskRef, signal: AbortSignal): Promise<NodeResponse<'taskStart'>>;
  progress(task: TaskRef, progress: TaskProgress, signal: AbortSignal): Promise<NodeResponse<'taskProgress'>>;
  refused(refusals: readonly TaskRefusal[], signal: AbortSignal): Promise<NodeResponse<'refusalReport'>>;
  result(task: TaskRef, result: TaskResult, signal: AbortSignal): Promise<NodeResponse<'taskResult'>>;
}>;
