/**
 * The agent as a value: connection, journal, runner and logs, started and stopped as one. A host runs one; the lab runs
 * thousands in a process, so nothing here is global and nothing is held that an idle agent does not need.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { HealthReport, Inventory, NodeResponse, TaskKind } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import { createAgentStatus } from './agent-status.ts';
import { type Connection, openConnection } from './control-plane/connection.ts';
import { keepPolling } from './control-plane/poll.ts';
import { keepRenewed } from './control-plane/renewal.ts';
import type { TaskApi } from './control-plane/task-api.ts';
import { runHealthLoop } from './health/loop.ts';
import type { Host } from './host/host.ts';
import { createIntake } from './intake.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { takeLock } from './lock.ts';
import { createLogSpool, type LogSpool } from './log-spool.ts';
import { createAgentLog, keepShipping } from './logs.ts';
import { runReconcileLoop } from './reconcile/loop.ts';
import { type Boundary, createRunner, type Runner, type RunnerOptions } from './runner.ts';
import type { RetrySettings } from './send-result.ts';
import { createOpenGateway } from './streams/gateway.ts';
import { createStreams } from './streams/streams.ts';
import type { AgentHandlers, TaskHandlers } from './tasks/task.ts';
import { createUpdater, type Updater } from './update.ts';

export type AgentConfig = Readonly<{
  url: URL;
  state: string;
  version: string;
  log_level?: string;
  /** Receives log lines besides the control plane; null for none. */
  write_log?: ((line: string) => void) | null;
  /** False: lines are not shipped. `memory`: they wait for shipping without touching the disk. */
  ship_logs?: boolean | 'memory';
  /** False if losing the computer loses the simulated host as well. */
  is_journal_synced?: boolean;
  wait_s?: number;
  retry?: RetrySettings;
  limits_s?: RunnerOptions['limits_s'];
  concurrent_max?: number;
  grace_ms?: number;
  /** How often the agent checks and reports the health of the host; false: never. */
  health?: Readonly<{ every_ms?: number; interval_ms?: number }> | false;
  /** How often the agent compares the host with its bundle leases and sends an inventory report; false: never. */
  reconcile?: Readonly<{ every_ms?: number; interval_ms?: number }> | false;
  /** Where versions are installed; without it `agent.update` is unsupported. */
  home?: string;
  restart?: (reason: string) => void;
  now?: () => Date;
}>;

/** The lines of one task usually go together. */
const SHIP_EVERY_MS = 5_000;

export type AgentOptions = Readonly<{
  host: Host;
  handlers: TaskHandlers;
  config: AgentConfig;
  /** For tests that stop the process between two writes. */
  at?: (boundary: Boundary, taskId: string) => void;
  journal_fs?: JournalOptions['fs'];
}>;

export type Agent = Readonly<{
  node_id: string;
  log: Log;
  /** Resolves at the first response of the control plane. */
  reached: Promise<void>;
  /** Tasks without a result at the control plane. */
  journaled_task_ids(): readonly string[];
  idle(): Promise<void>;
  reportHealth(report: HealthReport): Promise<void>;
  /** Running tasks are aborted and start again at the next start. */
  stop(): Promise<void>;
}>;

const taskApiOf = (connection: Connection): TaskApi => {
  const params = (taskId: string) => ({ node_id: connection.node_id, task_id: taskId });
  return {
    start: ({ task_id, attempt, correlation_id }, signal) =>
      connection.call('taskStart', { params: params(task_id), body: { attempt }, correlation_id, signal }),
    progress: ({ task_id, correlation_id }, body, signal) =>
      connection.call('taskProgress', { params: params(task_id), body, correlation_id, signal }),
    refused: (refusals, signal) =>
      connection.call('refusalReport', {
        params: { node_id: connection.node_id },
        body: { refusals: [...refusals] },
        signal,
      }),
    result: ({ task_id, correlation_id }, body, signal) =>
      connection.call('taskResult', { params: params(task_id), body, correlation_id, signal, timeout_ms: 60_000 }),
  };
};

const updaterOf = (config: AgentConfig, connection: Connection): Updater | undefined =>
  config.home === undefined || config.restart === undefined
    ? undefined
    : createUpdater({
        home: config.home,
        version: config.version,
        restart: config.restart,
        download: (digest, signal) =>
          connection.stream('agentReleaseGet', { params: { digest }, signal, timeout_ms: 10 * 60_000 }),
      });

const spoolOf = (config: AgentConfig): LogSpool | null =>
  config.ship_logs === false
    ? null
    : createLogSpool({
        start_id: randomUUID(),
        folder: config.ship_logs === 'memory' ? null : join(config.state, 'logs'),
        ...(config.ship_logs === 'memory' ? { bytes_max: 256 * 1024 } : {}),
      });

type Parts = Readonly<{ connection: Connection; journal: Journal; log: Log; spool: LogSpool | null }>;

/** An agent that can be started and stopped repeatedly. */
export const createAgent = (options: AgentOptions) => {
  let running: Agent | undefined;
  return {
    start: async (): Promise<Agent> => {
      running = await startAgent(options);
      return running;
    },
    stop: async (): Promise<void> => {
      await running?.stop();
      running = undefined;
    },
  };
};

/** Runs until stopped. Rejects when the host is not enrolled, the journal is damaged or another agent runs here. */
const startAgent = async (options: AgentOptions): Promise<Agent> => {
  const { config } = options;
  const unlock = await takeLock(config.state);
  try {
    const connection = await openConnection(config);
    const spool = spoolOf(config);
    const log = createAgentLog({
      level: config.log_level ?? 'info',
      spool,
      write: config.write_log === undefined ? (line) => void process.stderr.write(line) : config.write_log,
    }).child({ node_id: connection.node_id });
    const journal = await openJournal({
      state: config.state,
      onError: (err) => log.warn({ err }, 'failed to compact the journal'),
      ...(config.now === undefined ? {} : { now: config.now }),
      ...(config.is_journal_synced === undefined ? {} : { is_synced: config.is_journal_synced }),
      ...(options.journal_fs === undefined ? {} : { fs: options.journal_fs }),
    });
    if (journal.torn_bytes > 0)
      log.warn({ bytes: journal.torn_bytes }, 'dropped an incomplete last line of the journal');
    return wire(options, { connection, journal, log, spool }, unlock);
  } catch (err) {
    await unlock();
    throw err;
  }
};

const wire = (options: AgentOptions, parts: Parts, unlock: () => Promise<void>): Agent => {
  const { config, host } = options;
  const { connection, journal, log, spool } = parts;
  const now = config.now ?? (() => new Date());
  const stopping = new AbortController();
  const { signal } = stopping;
  const api = taskApiOf(connection);
  const updater = updaterOf(config, connection);
  const streams = createStreams({
    host,
    state: config.state,
    log,
    now,
    openGateway: createOpenGateway(connection, config.version),
  });
  const own: AgentHandlers = {
    'stream.open': host.access === undefined ? undefined : streams.handler,
    'agent.update': updater?.handler,
  };
  const handlers: TaskHandlers = { ...own, ...options.handlers };
  const shared = { node_id: connection.node_id, journal, api, log, now, ...(options.at ? { at: options.at } : {}) };
  const runner: Runner = createRunner({
    ...shared,
    state: config.state,
    host,
    handlers,
    ...(config.limits_s === undefined ? {} : { limits_s: config.limits_s }),
    ...(config.grace_ms === undefined ? {} : { grace_ms: config.grace_ms }),
    ...(config.concurrent_max === undefined ? {} : { concurrent_max: config.concurrent_max }),
    ...(config.retry === undefined ? {} : { retry: config.retry }),
  });
  const intake = createIntake({
    ...shared,
    runner,
    signers: connection.signers,
    refreshTrust: connection.refreshTrust,
    signal,
  });

  const reached = Promise.withResolvers<void>();
  let hasReached = false;
  const onResponse = async (answer: NodeResponse<'taskWait'>): Promise<void> => {
    if (!hasReached) {
      hasReached = true;
      await updater?.confirm();
      reached.resolve();
    }
    for (const taskId of answer.cancelled) runner.cancel(taskId);
    await intake.deliver(answer.tasks);
  };

  const kinds = (): TaskKind[] => host.kinds.filter((kind) => handlers[kind] !== undefined);
  const status = createAgentStatus({ host, version: config.version, kinds, now, log });
  const reportHealth = async (report: HealthReport): Promise<void> => {
    await connection.call('healthReport', { params: { node_id: connection.node_id }, body: { report }, signal });
  };

  const reportInventory = (inventory: Inventory): Promise<NodeResponse<'inventoryReport'>> =>
    connection.call('inventoryReport', { params: { node_id: connection.node_id }, body: { inventory }, signal });

  runner.resume();
  if (host.access !== undefined) void streams.repair();
  const loops = [
    keepPolling({
      connection,
      log,
      now,
      signal,
      wait_s: config.wait_s ?? 15,
      retry: config.retry ?? { baseMs: 500, capMs: 15_000 },
      status,
      journaled_task_ids: () => journal.open().map((record) => record.task_id),
      onResponse,
    }),
    keepRenewed({ connection, host: async () => (await status()).host, log, now, signal }),
    ...(updater === undefined ? [] : [updater.watch(signal)]),
    ...(spool === null ? [] : [keepShipping({ connection, spool, log, signal, every_ms: SHIP_EVERY_MS })]),
    ...(config.health === false
      ? []
      : [runHealthLoop({ host, state: config.state, now, send: reportHealth, log, signal, ...config.health })]),
    ...(config.reconcile === false || !host.kinds.includes('slice.reconcile')
      ? []
      : [
          runReconcileLoop({ host, state: config.state, now, send: reportInventory, log, signal, ...config.reconcile }),
        ]),
  ].map((loop) =>
    loop.catch((err: unknown) => {
      log.fatal({ err }, 'part of the agent failed; restarting');
      config.restart?.('part of the agent failed');
    }),
  );

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([runner.stop(), streams.close()]);
    connection.close();
    await Promise.all(loops);
    await journal.close();
    await unlock();
  };

  return {
    node_id: connection.node_id,
    log,
    reached: reached.promise,
    journaled_task_ids: () => journal.open().map((record) => record.task_id),
    idle: runner.idle,
    reportHealth,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
};
