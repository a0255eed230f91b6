/** Tasks of hosts: queued, dispatched, completed. The hosts of the demo return no results. */
import { type TaskKind, taskLabel } from '@gpuaas/contract/task-kinds';
import type { NodeTask } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { say } from './log.ts';

/** From the request to the agent. */
const SENT_MS = 300;
const EXPIRES_MS = 30 * 60_000;

/** As lists and changes return it: only a read of one task has the result of the host. */
export const taskView = ({ output: _, ...shown }: NodeTask) => shown;

export type NewTask = Readonly<{
  node_id: string;
  kind: TaskKind;
  allocation_id: string | null;
  correlation_id: string;
}>;

/** A task waits for an agent that is disconnected. No host of the demo connects again. */
const isReachable = (world: World, nodeId: string): boolean => world.nodes.get(nodeId)?.is_connected ?? false;

export const startTask = (
  world: World,
  { node_id, kind, allocation_id, correlation_id }: NewTask,
  isSent = isReachable(world, node_id),
): NodeTask => {
  const now = world.ago();
  const began = isSent ? now : null;
  const task: NodeTask = {
    id: world.mint('node_task'),
    node_id,
    allocation_id,
    kind,
    label: taskLabel(kind),
    attempt: 1,
    state: began === null ? 'queued' : 'running',
    state_reason: null,
    error_code: null,
    percent: began === null ? null : 0,
    progress_note: null,
    output: null,
    correlation_id,
    created_at: now,
    dispatched_at: began,
    started_at: began,
    finished_at: null,
    expires_at: world.ago(-EXPIRES_MS),
  };
  world.tasks.push(task);
  say(world, {
    message: `task ${kind} ${began === null ? 'waits for its agent' : 'began'}`,
    correlation_id,
    node_id,
    fields: { task_id: task.id },
  });
  return task;
};

export const endTask = (
  world: World,
  id: string | null,
  end: Readonly<{ state: 'completed' | 'failed' | 'cancelled'; reason?: string; error_code?: string }>,
): void => {
  const task = world.tasks.find((one) => one.id === id);
  if (task === undefined || task.finished_at !== null) return;
  task.state = end.state;
  task.state_reason = end.reason ?? null;
  task.error_code = end.error_code ?? null;
  task.finished_at = world.ago();
  if (end.state === 'completed') task.percent = 100;
  say(world, {
    level: end.state === 'failed' ? 'error' : 'info',
    message: end.reason ?? `task ${task.kind} ended`,
    correlation_id: task.correlation_id,
    node_id: task.node_id,
    ...(end.error_code === undefined ? {} : { error_code: end.error_code }),
    fields: { task_id: task.id },
  });
};

/** The image, VM or lease of a task, which is no field of the response. */
const subjects = new WeakMap<NodeTask, string>();

/**
 * A task outside of any run, sent and completed a little later; that of a disconnected agent stays queued. One that is
 * open is not asked again.
 */
export const runTask = (
  world: World,
  asked: NewTask & Readonly<{ about?: string }>,
  seconds: number,
  done: (task: NodeTask) => void,
): NodeTask => {
  const { node_id, kind, about } = asked;
  const isOpen = (one: NodeTask) => one.node_id === node_id && one.kind === kind && one.finished_at === null;
  const open = world.tasks.find((one) => isOpen(one) && subjects.get(one) === about);
  if (open !== undefined) return open;
  const task = startTask(world, asked, false);
  if (about !== undefined) subjects.set(task, about);
  if (!isReachable(world, node_id)) return task;
  world.agenda.after(SENT_MS, () => {
    if (task.finished_at !== null) return;
    const at = world.ago();
    Object.assign(task, { state: 'running', percent: 0, dispatched_at: at, started_at: at });
  });
  world.agenda.after(seconds * 1000, () => {
    if (task.finished_at !== null) return;
    endTask(world, task.id, { state: 'completed' });
    done(task);
  });
  return task;
};
