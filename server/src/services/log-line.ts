/** Log lines: stored for agents, and searched by correlation ID or node. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { NodeBody, NodeResponse } from '@gpuaas/contract/node';
import { type Clock, type Log, redactFields, redactText } from '@gpuaas/kit';
import type { Peer } from '../agents/certificate-register.ts';
import type { ReadCtx } from '../context.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { insertLogLines, type LogLineRow, listLogLines } from '../db/log-line.ts';
import { AppError } from '../errors.ts';
import type { LogQuota } from '../logs/log-quota.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
const SEARCH_BACK_MS = 24 * 3_600_000;

const HOUR_MS = 3_600_000;
const PAST_MAX_MS = 7 * 24 * HOUR_MS;

/**
 * The time of a line for storage. Lines are partitioned by day, and a host whose clock is far off would write into days
 * that do not exist yet or have expired; such a line counts for the nearest valid hour, and keeps its own time too.
 * Whole hours, so that a repeated batch gets the same time.
 */
const placeInTime = (timestamp: string, nowMs: number): Readonly<{ logged_at: string; own_time?: string }> => {
  const at = Date.parse(timestamp);
  const hour = nowMs - (nowMs % HOUR_MS);
  const nearest = Math.min(Math.max(at, hour - PAST_MAX_MS), hour + HOUR_MS);
  const isNear = at >= nowMs - PAST_MAX_MS && at <= nowMs + HOUR_MS;
  return isNear ? { logged_at: timestamp } : { logged_at: new Date(nearest).toISOString(), own_time: timestamp };
};

export type ShipDeps = Readonly<{ database: Database; clock: Clock; log: Log; log_quota: LogQuota }>;

/** Lines of an agent. Its node is part of the line number, so one node cannot write as another. */
export const ship = async (
  { database, clock, log, log_quota }: ShipDeps,
  peer: Peer,
  body: NodeBody<'logShip'>,
): Promise<NodeResponse<'logShip'>> => {
  const now = clock.now();
  const { node_id } = peer;
  const common = {
    service: 'gpuaas-node-agent',
    host_role: 'worker_compute' as const,
    host_name: peer.node_name,
    node_id,
  };
  const { kept, is_first_drop, dropped_before } = log_quota.take(
    node_id,
    body.lines.map((line) => JSON.stringify(line).length),
  );
  const lines: LogLineRow[] = body.lines.slice(0, kept).map((line, index) => {
    const { logged_at, own_time } = placeInTime(line.timestamp, now.getTime());
    const fields = redactFields(line.fields as Readonly<Record<string, unknown>>);
    return {
      ...common,
      logged_at,
      level: line.level,
      message: redactText(line.message),
      correlation_id: line.correlation_id,
      error_code: line.error_code,
      fields: own_time === undefined ? fields : { ...fields, own_time },
      origin: `${node_id}/${body.agent_start_id}`,
      number: body.first_number + index,
    };
  });
  // Readers must know that some lines are missing.
  const logDropped = (number: number, message: string, fields: Readonly<Record<string, unknown>>): void => {
    log.warn({ node_id, ...fields }, message);
    lines.push({
      ...common,
      logged_at: now.toISOString(),
      level: 'warn',
      message,
      correlation_id: null,
      error_code: 'rate_limited',
      fields,
      origin: `${node_id}/quota`,
      number,
    });
  };
  if (dropped_before > 0) logDropped(0, 'log lines dropped: node exceeded its rate limit', { dropped: dropped_before });
  if (is_first_drop) logDropped(1, 'node exceeded its daily log limit; dropping lines until tomorrow', {});
  if (lines.length > 0) await database.writeAtOnce(PLATFORM, (tx) => insertLogLines(tx, lines));
  return { next_number: body.first_number + body.lines.length };
};

const EXACT_TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?\+00$/;

export const list = async (ctx: ReadCtx, { query }: RequestOf<PublicApi['adminLogList']>) => {
  if (query.correlation_id === undefined && query.node_id === undefined)
    throw new AppError('invalid_request', 'Send correlation_id, node_id or both.', {
      errors: [{ pointer: '/query/correlation_id', code: 'required', message: 'or node_id is required' }],
    });
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const key = decodeCursor(ctx, query.cursor, 3);
  const [logged_at, origin, number] = key ?? [];
  if (
    key !== undefined &&
    (typeof logged_at !== 'string' ||
      !EXACT_TIME.test(logged_at) ||
      typeof origin !== 'string' ||
      typeof number !== 'number')
  )
    throw malformedCursor();
  const since = query.since ?? new Date(ctx.deps.clock.now().getTime() - SEARCH_BACK_MS).toISOString();
  const rows = await ctx.read((reader) =>
    listLogLines(reader, {
      correlation_id: query.correlation_id ?? null,
      node_id: query.node_id ?? null,
      levels: LEVELS.slice(LEVELS.indexOf(query.level ?? 'trace')),
      since,
      after:
        key === undefined ? null : { logged_at: String(logged_at), origin: String(origin), number: Number(number) },
      limit: limit + 1,
    }),
  );
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.exact_at, row.origin, row.number],
    ({ origin: _origin, number: _number, exact_at: _exact, ...line }) => ({
      ...line,
      level: LEVELS.find((level) => level === line.level) ?? 'info',
    }),
  );
};
