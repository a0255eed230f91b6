/** Flags shared by many commands, so that they mean the same everywhere. */
import { duration, type FlagsOf, integer, text, toggle } from './command.ts';

export const pageFlags = {
  limit: integer('Maximum number of rows (default 50)'),
  cursor: text('Continue after the next_cursor of an earlier list', 'cursor'),
  all: toggle('All rows'),
} as const;

/** For POSTs: the same key returns the same response and changes nothing twice. */
export const keyFlags = {
  'idempotency-key': text('Repeat the same key when you retry the command', 'key'),
} as const;

export const yesFlags = { yes: toggle('Skip the confirmation') } as const;

export const waitFlags = {
  wait: toggle('Wait until it is finished'),
  'no-wait': toggle('Return immediately (default)'),
  timeout: duration('Maximum time to wait, like 90s or 10m (default 10m)'),
} as const;

export const ifMatchFlags = {
  'if-match': integer('Change only this version (default: the current one)', 'version'),
} as const;

const PAGE_MAX = 200;
const ROWS_DEFAULT = 50;

type Page<T> = { items: T[]; next_cursor: string | null };

/** Reads pages until the requested number of rows is reached. The remaining cursor continues exactly there. */
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
