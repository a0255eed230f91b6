/** What the runner says to the platform about a task, and nothing else. The simulator and tests may stand in for it. */
import type { NodeResponse, TaskProgress, TaskResult } from '@gpuaas/contract/node';

export type TaskRef = Readonly<{ task_id: string; attempt: number; correlation_id: string }>;

export type TaskApi = Readonly<{
  start(task: TaskRef, signal: AbortSignal): Promise<NodeResponse<'taskStart'>>;
  progress(task: TaskRef, progress: TaskProgress, signal: AbortSignal): Promise<NodeResponse<'taskProgress'>>;
  result(task: TaskRef, result: TaskResult, signal: AbortSignal): Promise<NodeResponse<'taskResult'>>;
}>;
