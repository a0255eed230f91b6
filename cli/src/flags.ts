/** Flags that many commands share, so that they mean the same everywhere. */
import { duration, type FlagsOf, integer, text, toggle } from './command.ts';

export const pageFlags = {
  limit: integer('rows at most; 50 unless told'),
  cursor: text('go on after the next_cursor of an earlier list', 'cursor'),
  all: toggle('every row'),
} as const;

/** For POSTs: the same key again gives the same answer and changes nothing twice. */
export const keyFlags = {
  'idempotency-key': text('reuse the same value when you retry', 'key'),
} as const;

export const yesFlags = { yes: toggle('do not ask') } as const;

export const waitFlags = {
  wait: toggle('wait for the end'),
  'no-wait': toggle('return at once; the default'),
  timeout: duration('how long to wait, like 90s or 10m; 10m unless told'),
} as const;

export const ifMatchFlags = {
  'if-match': integer('change only this version; the present one unless told', 'version'),
} as const;

const PAGE_MAX = 200;
const ROWS_DEFAULT = 50;

type Page<T> = { items: T[]; next_cursor: string | null };

/** Reads pages until there are as many rows as were asked for. The cursor that is left continues exactly there. */
export const collect = async <T>(
  flags: FlagsOf<typeof pageFlags>,
  read: (query: { limit: number; cursor: string | undefined }) => Promise<Page<T>>,
): Promise<Page<T>> => {
  const wanted = flags.all ? Number.POSITIVE_INFINITY : Math.max(1, flags.limit ?? ROWS_DEFAULT);
  const items: T[] = [];
  let cursor = flags.cursor;
  for (;;) {
    const page = await read({ limit: Math.min(PAGE_MAX, wanted - items.length), cursor });
    items.push(...page.items);
    if (page.next_cursor === null || items.length >= wanted) return { items, next_cursor: page.next_cursor };
    cursor = page.next_cursor;
  }
};
