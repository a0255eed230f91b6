/**
 * The interface of a task handler. When a handler runs, the task was verified, journaled and allowed by the control
 * plane; a handler only acts on its host. It may run again after a crash, so it ensures state. It throws a HostError to
 * refuse: the code becomes the result's `error_code`, the message its `reason`.
 */
import type { TaskKind, TaskOutput, TaskParams } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { Host } from '../host/host.ts';

export type TaskUpdate = Readonly<{ percent: number; bytes_per_s?: number | null; note?: string | null }>;

export type TaskContext = Readonly<{
  host: Host;
  node_id: string;
  task_id: string;
  attempt: number;
  correlation_id: string;
  /** Carries node, task and correlation ID already. */
  log: Log;
  /** Aborted when the task is cancelled, out of time, or the agent stops. */
  signal: AbortSignal;
  /** May be called as often as needed; the rate of sending is limited. */
  progress(update: TaskUpdate): void;
  now(): Date;
  /** The agent's state directory: leases and other state that must outlive the process. */
  state: string;
}>;

export type TaskHandler<K extends TaskKind> = (ctx: TaskContext, params: TaskParams<K>) => Promise<TaskOutput<K>>;
/** A kind without a handler fails as `unsupported`. */
export type TaskHandlers = { readonly [K in TaskKind]?: TaskHandler<K> | undefined };

/** Kinds that the agent handles itself, on its own installation and connections. */
export type AgentKind = 'agent.update' | 'stream.open';
/** Undefined if this agent does not support it. */
export type AgentHandlers = { readonly [K in AgentKind]: TaskHandler<K> | undefined };
/** Kinds that work on the host: a kind without a handler does not compile. */
export type HostHandlers = { readonly [K in Exclude<TaskKind, AgentKind>]: TaskHandler<K> };
