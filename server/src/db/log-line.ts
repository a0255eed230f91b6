/**
 * Log lines of every process and agent. A line is identified by its source and number, so one sent twice is stored
 * once.
 */
import type { Reader, Tx } from './client.ts';
import type { LogLines } from './types.gen.ts';

export type LogLineRow = Readonly<
  Pick<
    LogLines,
    | 'logged_at'
    | 'service'
    | 'host_role'
    | 'host_name'
    | 'node_id'
    | 'level'
    | 'message'
    | 'correlation_id'
    | 'error_code'
    | 'origin'
    | 'number'
  > & {
    fields: Readonly<Record<string, unknown>>;
  }
>;

const COLUMNS =
  'logged_at, service, host_role, host_name, node_id, level, message, correlation_id, error_code, fields, origin, number';

/**
 * NUL and unpaired surrogates, as JSON escapes them: PostgreSQL stores neither. The same letters after an escaped
 * backslash are ordinary text.
 */
const UNSTORABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

export const insertLogLines = async (tx: Tx, lines: readonly LogLineRow[]): Promise<void> => {
  await tx.query(
    `insert into log_lines (${COLUMNS})
     select ${COLUMNS} from jsonb_to_recordset($1::jsonb) as l (logged_at timestamptz, service text, host_role text,
       host_name text, node_id text, level text, message text, correlation_id text, error_code text, fields jsonb,
       origin text, number bigint)
     on conflict do nothing`,
    [JSON.stringify(lines).replaceAll(UNSTORABLE, '$1')],
  );
};

export type LogPosition = Readonly<{ logged_at: string; origin: string; number: number }>;

export type LogQuery = Readonly<{
  correlation_id: string | null;
  node_id: string | null;
  levels: readonly string[];
  since: string;
  after: LogPosition | null;
  limit: number;
}>;

/** Oldest first. A time is text with its microseconds, so that a cursor points exactly after its line. */
export const listLogLines = async (
  reader: Reader,
  query: LogQuery,
): Promise<(LogLineRow & Readonly<{ exact_at: string }>)[]> => {
  const values: unknown[] = [query.since, query.levels, query.limit];
  const add = (value: unknown): string => `$${values.push(value)}`;
  // The text contains only the requested conditions, so that each combination gets its own plan.
  const conditions = [
    ...(query.correlation_id === null ? [] : [`correlation_id = ${add(query.correlation_id)}`]),
    ...(query.node_id === null ? [] : [`node_id = ${add(query.node_id)}`]),
    ...(query.after === null
      ? []
      : [
          `(logged_at, origin, number) > (${add(query.after.logged_at)}::timestamptz, ${add(query.after.origin)}, ${add(query.after.number)}::bigint)`,
        ]),
  ];
  const { rows } = await reader.query<LogLineRow & Readonly<{ exact_at: string }>>(
    `select ${COLUMNS}, logged_at::text as exact_at from log_lines
     where logged_at >= $1::timestamptz and level = any ($2) ${conditions.map((one) => `and ${one}`).join(' ')}
     order by logged_at, origin, number limit $3`,
    values,
  );
  return rows;
};

/** Creates the partitions of the days around now and drops expired ones; returns how many changed. */
export const keepLogPartitions = async (tx: Tx, daysKept: number): Promise<number> =>
  (await tx.query<{ changed: number }>('select keep_log_partitions($1) as changed', [daysKept])).rows[0]?.changed ?? 0;
