/** Log lines: taken from agents, and found again by correlation id or node. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { NodeAnswer, NodeBody } from '@gpuaas/contract/node';
import type { ReadCtx } from '../context.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { insertLogLines, listLogLines } from '../db/log-line.ts';
import { AppError } from '../errors.ts';
import type { Peer } from './node-certificate.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from './page.ts';
import { redactFields, redactText } from './redact.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
const LOOK_BACK_MS = 24 * 3_600_000;

/** Lines of an agent. Its name stands before its own numbering, so one node cannot speak in another's place. */
export const ship = async (
  { database }: Readonly<{ database: Database }>,
  peer: Peer,
  body: NodeBody<'logShip'>,
): Promise<NodeAnswer<'logShip'>> => {
  const lines = body.lines.map((line, index) => ({
    logged_at: line.timestamp,
    service: 'gpuaas-node-agent',
    host_role: 'worker_compute' as const,
    host_name: peer.node_name,
    node_id: peer.node_id,
    level: line.level,
    message: redactText(line.message),
    correlation_id: line.correlation_id,
    error_code: line.error_code,
    fields: redactFields(line.fields as Readonly<Record<string, unknown>>),
    origin: `${peer.node_id}/${body.agent_start_id}`,
    number: body.first_number + index,
  }));
  if (lines.length > 0) await database.write(PLATFORM, (tx) => insertLogLines(tx, lines));
  return { next_number: body.first_number + lines.length };
};

const EXACT_TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?\+00$/;

export const list = async (ctx: ReadCtx, { query }: RequestOf<PublicApi['logList']>) => {
  if (query.correlation_id === undefined && query.node_id === undefined)
    throw new AppError('invalid_request', 'Say which lines: send correlation_id, node_id or both.', {
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
  const since = query.since ?? new Date(ctx.deps.clock.now().getTime() - LOOK_BACK_MS).toISOString();
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
