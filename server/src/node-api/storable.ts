/**
 * Checks whether an agent's data can be stored. PostgreSQL stores neither NUL nor unpaired surrogates, and parsers
 * disagree on integers beyond 2^53. Schemas do not see these in the open parts of a body, so the whole body is walked
 * once. Anything that passes and is then refused by a column is still an error of the agent.
 */
import { AppError } from '../errors.ts';

const refuse = (place: string, code: string, message: string): AppError => {
  const pointer = place.slice(0, 200);
  return new AppError('invalid_request', `Invalid request: ${pointer.slice(1).replaceAll('/', '.')} ${message}.`, {
    errors: [{ pointer, code, message }],
  });
};

const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Bodies are parsed no deeper than a parser allows, so this may recurse. */
export const assertStorable = (value: unknown, pointer = '/body'): void => {
  if (typeof value === 'string') {
    if (!isText(value)) throw refuse(pointer, 'text', 'contains a character that cannot be stored');
  } else if (typeof value === 'number') {
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) throw refuse(pointer, 'number', 'is too large a number');
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) assertStorable(item, `${pointer}/${index}`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      if (!isText(key)) throw refuse(pointer, 'text', 'has a key that cannot be stored');
      assertStorable(item, `${pointer}/${key}`);
    }
  }
};

/** SQLSTATE of values that a column does not take: a date, a number or a character. */
const UNSTORABLE: ReadonlySet<string> = new Set(['22003', '22007', '22008', '22009', '22021', '22P05']);

/** A column that refused a value of the body; any other error unchanged. */
export const asUnstorable = (err: unknown): unknown =>
  err instanceof Error && 'code' in err && typeof err.code === 'string' && UNSTORABLE.has(err.code)
    ? new AppError('invalid_request', 'Invalid request: the body has a time, number or text that cannot be stored.', {
        cause: err,
      })
    : err;
