/**
 * Cursor pages. A cursor names its operation and scope and the key of the last row; using it elsewhere returns 404, as
 * for another tenant's ID, and a malformed one is a bad request.
 */
import type { ReadCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';

type Caller = Readonly<{
  operation: string;
  organization_id: string | null;
  project_id: string | null;
  principal: Readonly<{ id: string }> | null;
}>;
export type Key = readonly (string | number)[];

const scopeOf = (caller: Caller): string => caller.project_id ?? caller.organization_id ?? caller.principal?.id ?? '';

export const encodeCursor = (caller: Caller, key: Key): string =>
  Buffer.from(JSON.stringify([caller.operation, scopeOf(caller), ...key])).toString('base64url');

export const malformedCursor = () =>
  new AppError('invalid_request', REFUSALS.cursor, {
    errors: [{ pointer: '/query/cursor', code: 'malformed', message: REFUSALS.cursor_unchanged }],
  });

/** The key of the last row of the page before, or undefined for the first page. `length` is how many parts a key has. */
export const decodeCursor = (caller: Caller, cursor: string | undefined, length = 1): Key | undefined => {
  if (cursor === undefined) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw malformedCursor();
  }
  const isPart = (part: unknown) =>
    (typeof part === 'string' && part.length <= 200 && !part.includes('\0')) || Number.isSafeInteger(part);
  if (!Array.isArray(parts) || parts.length !== length + 2 || !parts.every(isPart)) throw malformedCursor();
  const [operation, scope, ...key] = parts as [string, string, ...(string | number)[]];
  if (operation !== caller.operation) throw malformedCursor();
  if (scope !== scopeOf(caller)) throw notFound('page');
  return key;
};

/** Requests one row more than the page holds, to know whether there is a next one. */
export const pageOf = <Row, Item>(
  caller: Caller,
  limit: number,
  rows: readonly Row[],
  key: (row: Row) => Key,
  view: (row: Row) => Item,
): { items: Item[]; next_cursor: string | null } => {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(view),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(caller, key(last)) : null,
  };
};

export const PAGE_LIMIT_DEFAULT = 50;

type PageQuery = Readonly<{ limit?: number; cursor?: string }>;

/** A page ordered by one text key, as most lists are: the rows after `after`, one more than shown. */
export const listPage = async <Row, Item>(
  ctx: ReadCtx,
  query: PageQuery,
  list: (reader: Reader, page: Readonly<{ after: string | null; limit: number }>) => Promise<readonly Row[]>,
  key: (row: Row) => string,
  view: (row: Row) => Item,
): Promise<{ items: Item[]; next_cursor: string | null }> => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const [last] = decodeCursor(ctx, query.cursor) ?? [null];
  const after = last === null ? null : String(last);
  const rows = await ctx.read((reader) => list(reader, { after, limit: limit + 1 }));
  return pageOf(ctx, limit, rows, (row) => [key(row)], view);
};
