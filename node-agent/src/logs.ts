/**
 * The agent logs to stderr, which journald keeps, and through the node API, where lines are found by correlation ID
 * beside those of the control plane. Every line is redacted first.
 */
import type { LogLine } from '@gpuaas/contract/node';
import { createLog, type Log, pause, redactFields } from '@gpuaas/kit';
import { createConditionLog } from './control-plane/condition.ts';
import type { Connection } from './control-plane/connection.ts';
import { ControlPlaneError, retryMs } from './control-plane/errors.ts';
import type { LogSpool } from './log-spool.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
const FIELDS_MAX = 8 * 1024;

const textOrNull = (value: unknown, max: number): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, max) : null;

/** A line of the log in the contract's shape. */
export const lineOf = (entry: Readonly<Record<string, unknown>>): LogLine => {
  const { timestamp, level, message, correlation_id, error_code, ...fields } = entry;
  const isSmall = JSON.stringify(fields).length <= FIELDS_MAX;
  return {
    timestamp: textOrNull(timestamp, 40) ?? new Date().toISOString(),
    level: LEVELS.find((known) => known === level) ?? 'info',
    message: textOrNull(message, 4096) ?? '',
    correlation_id: textOrNull(correlation_id, 128),
    error_code: textOrNull(error_code, 64),
    fields: isSmall ? fields : { host_role: fields['host_role'], node_id: fields['node_id'], is_cut: true },
  };
};

export const createAgentLog = (
  options: Readonly<{
    level: string;
    /** Null: not shipped. */
    spool: LogSpool | null;
    /** The socket of journald; null if there is none. */
    write: ((line: string) => void) | null;
  }>,
): Log =>
  createLog({
    service: 'gpuaas-node-agent',
    host_role: 'worker_compute',
    level: options.level,
    destination: {
      write: (text: string) => {
        const entry = redactFields(JSON.parse(text) as Record<string, unknown>);
        options.write?.(`${JSON.stringify(entry)}\n`);
        options.spool?.add(lineOf(entry));
      },
    },
  });

/** Ships until the signal; unsent lines wait on disk for the next start. */
export const keepShipping = async (
  options: Readonly<{
    connection: Connection;
    spool: LogSpool;
    log: Log;
    signal: AbortSignal;
    every_ms: number;
  }>,
): Promise<void> => {
  const { connection, spool } = options;
  const condition = createConditionLog(options.log, 'log shipping');

  /** The number of shipped lines. */
  const shipOne = async (): Promise<number> => {
    const segment = spool.next();
    if (segment === undefined) return 0;
    try {
      await connection.call('logShip', {
        params: { node_id: connection.node_id },
        body: { first_number: segment.first_number, agent_start_id: segment.start_id, lines: [...segment.lines] },
        timeout_ms: 15_000,
      });
    } catch (err) {
      // Lines that the control plane will never accept would block all others.
      if (!(err instanceof ControlPlaneError) || err.kind !== 'invalid') throw err;
      options.log.error({ err, first_number: segment.first_number }, 'control plane could not read log lines');
    }
    spool.done(segment);
    return segment.lines.length;
  };

  let failures = 0;
  while (!options.signal.aborted) {
    try {
      const count = await shipOne();
      failures = 0;
      if (count > 0) condition.ok();
      // A short batch means that there is no backlog.
      if (count < 100) await pause(options.every_ms, options.signal);
    } catch (err) {
      failures += 1;
      condition.failed(err);
      await pause(retryMs(err, failures, { baseMs: options.every_ms, capMs: 60_000 }), options.signal);
    }
  }
  await spool.flush();
};
