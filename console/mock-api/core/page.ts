/** Cursor pages: a cursor names its operation and scope and the last row shown, so new rows shift nothing. */

import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import type { MockCtx } from './context.ts';
import { notFound, Refusal } from './errors.ts';

type PageQuery = Readonly<{ limit?: number; cursor?: string }>;

const LIMIT_DEFAULT = 50;

const scopeOf = (ctx: MockCtx): string => ctx.project_id ?? ctx.organization_id ?? ctx.principal.id;

const encode = (parts: readonly unknown[]): string =>
  btoa(JSON.stringify(parts)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

const malformed = (): Refusal =>
  new Refusal('invalid_request', REFUSALS.cursor, {
    errors: [{ pointer: '/query/cursor', code: 'malformed', message: REFUSALS.cursor_unchanged }],
  });

const decode = (cursor: string): readonly unknown[] => {
  try {
    const parts: unknown = JSON.parse(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')));
    if (Array.isArray(parts) && parts.length === 4) return parts;
  } catch {
    // Handled below.
  }
  throw malformed();
};

const startOf = <Row>(ctx: MockCtx, rows: readonly Row[], keyOf: (row: Row) => string, cursor?: string): number => {
  if (cursor === undefined) return 0;
  const [operation, scope, key, offset] = decode(cursor);
  if (operation !== ctx.operation || typeof offset !== 'number') throw malformed();
  if (scope !== scopeOf(ctx)) throw notFound('page');
  const index = rows.findIndex((row) => keyOf(row) === key);
  // The row may be deleted by now; then the page begins at its former position.
  return index === -1 ? offset : index + 1;
};

export const pageOf = <Row, Item>(
  ctx: MockCtx,
  query: PageQuery,
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  view: (row: Row) => Item,
): { items: Item[]; next_cursor: string | null } => {
  const limit = query.limit ?? LIMIT_DEFAULT;
  const start = startOf(ctx, rows, keyOf, query.cursor);
  const shown = rows.slice(start, start + limit);
  const last = shown.at(-1);
  const isMore = start + shown.length < rows.length;
  return {
    items: shown.map(view),
    next_cursor:
      isMore && last !== undefined ? encode([ctx.operation, scopeOf(ctx), keyOf(last), start + shown.length]) : null,
  };
};

export const asIs = <T>(row: T): T => row;
export const idOf = (row: Readonly<{ id: string }>): string => row.id;

/** Newest first: ids sort by their time. */
export const newestFirst = <Row extends Readonly<{ id: string }>>(rows: Iterable<Row>): Row[] =>
  [...rows].sort((a, b) => (a.id < b.id ? 1 : -1));
