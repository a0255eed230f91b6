/** Shapes every resource shares. */
import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import { ERROR_CODES } from './errors.ts';

/** Objects are closed: properties outside the contract are refused. */
export const Closed = <T extends TProperties>(
  properties: T,
  options: { description?: string; $id?: string; minProperties?: number } = {},
) => Type.Object(properties, { additionalProperties: false, ...options });

/** A string enum in its JSON Schema spelling, which generators read better than a union of constants. */
export const StringEnum = <const T extends readonly string[]>(
  values: T,
  options: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** Where a process runs: on the control plane, beside a cluster app, or on a GPU host. */
export const HOST_ROLES = ['platform_control', 'app_control', 'worker_compute'] as const;

export const Time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-11-15T10:03:21.000Z'] });
/** A time that a host reports. Its clock may be wrong, but the year and the second are within the range of every reader. */
export const HostTime = (description: string) =>
  Type.String({
    format: 'date-time',
    pattern: '^(?:19|2\\d)\\d{2}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:[0-5]\\d',
    maxLength: 40,
    description,
    examples: ['2026-11-15T10:03:21.000Z'],
  });
/** The largest number a column of 32 bits holds. */
export const INT_MAX = 2_147_483_647;
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const NAME_PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
export const NAME_LENGTH_MAX = 63;
/** Names reach paths, XML, YAML and argv, so their grammar is closed: see design section 11. */
export const Name = (description = 'Lower-case name, unique where it is used.') =>
  Type.String({
    pattern: NAME_PATTERN,
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    description,
    examples: ['research'],
  });

export const DISPLAY_TEXT_PATTERN =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$';
/** Text for people: printable, no control characters, no invisible or direction-changing ones, no angle brackets. */
export const DisplayText = (description: string, maxLength = 120) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: DISPLAY_TEXT_PATTERN,
    description,
    examples: ['Research group'],
  });

export const Money = Closed({
  amount_minor: Type.Integer({ description: 'Amount in minor units, e.g. cents.' }),
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code.', examples: ['USD'] }),
});

export const PAGE_LIMIT_MAX = 200;
export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, default: 50, description: 'Rows per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 1024, minLength: 1, description: 'next_cursor of the previous page.' }),
  ),
};
export const Page = <T extends TObject>(item: T) =>
  Closed({
    items: Type.Array(item),
    next_cursor: Nullable(Type.String({ description: 'Cursor of the next page; null on the last page.' })),
  });

/** The actions of the caller on a resource now, or the reasons why not: clients never re-implement the rules. */
export const Action = Closed({
  name: Type.String(),
  allowed: Type.Boolean(),
  reason: Nullable(Type.String({ description: 'Why the action is not allowed, as a sentence.' })),
});

const FieldError = Closed({
  pointer: Type.String({ description: 'JSON pointer into the request, e.g. /body/name.' }),
  code: Type.String(),
  message: Type.String(),
});

/** RFC 9457 with our members. Every refusal has this shape. */
export const Problem = Closed(
  {
    type: Type.String({ description: 'URL of the page that explains the code.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'What went wrong, as a sentence for the caller.' }),
    instance: Type.String({ description: 'Path of the request.' }),
    code: StringEnum(ERROR_CODES),
    correlation_id: Type.String(),
    retryable: Type.Boolean({ description: 'Whether the same request can succeed later.' }),
    retry_after_s: Nullable(Type.Integer()),
    errors: Type.Array(FieldError),
    reasons: Type.Array(Type.Object({ code: Type.String() }, { additionalProperties: true })),
    alternatives: Type.Array(Type.Object({}, { additionalProperties: true })),
    actions: Type.Array(Closed({ rel: Type.String(), href: Type.String(), text: Type.String() })),
  },
  { description: 'Error envelope of every operation.' },
);
