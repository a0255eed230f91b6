/**
 * Requests generated from the contract's schemas: mostly valid, sometimes just invalid, sometimes arbitrary. fast-check
 * draws them, so that a failing one is printed with its seed and can be drawn again.
 */
import type { Operation } from '@gpuaas/contract';
import fc, { type Arbitrary } from 'fast-check';
import { headersOf, type Parts, urlOf } from './request.ts';

/** The JSON Schema keywords that the contract uses. */
type Schema = Readonly<{
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}>;

const NASTY_TEXT = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\u202egnp.exe',
  'a\u200bb',
  '\ufeff',
  '../../etc/passwd',
  "' or 1=1 --",
  '$(reboot)',
  '`id`',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '=cmd|/c calc!A1',
  '\u001b[31mred',
  '!!js/function',
  '&xxe;',
  '%00',
  '%s%s%n',
  '__proto__',
  'constructor',
  'null',
  '-1',
  '1e999',
  '9'.repeat(400),
  'x'.repeat(5_000),
  '\u{1f4a5}'.repeat(100),
];

/** Any text of up to 40 characters. The unit `binary` of fast-check is equivalent and takes a second to build. */
const anyCharacters = fc
  .array(
    fc.integer({ min: 0, max: 0x10ffff }).filter((code) => code < 0xd800 || code > 0xdfff),
    { maxLength: 40 },
  )
  .map((codes) => String.fromCodePoint(...codes));
const nastyText = fc.oneof(fc.constantFrom(...NASTY_TEXT), anyCharacters, fc.string());
const nastyNumber = fc.constantFrom(0, -1, 1, 1.5, 2 ** 31, -(2 ** 31), 2 ** 53, -(2 ** 53), 1e300, -0);
const nasty = fc.oneof(
  nastyText,
  nastyNumber,
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.jsonValue({ maxDepth: 3 }),
);

const valid = (schema: Schema, pool: Pool): Arbitrary<unknown> => {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => valid(one, pool)));
  switch (schema.type) {
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, one]) => [name, valueFor(name, one, pool)]),
        ),
        { requiredKeys: [...(schema.required ?? [])] },
      );
    case 'array':
      return fc.array(valid(schema.items ?? {}, pool), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(4, schema.maxItems ?? 4),
      });
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return text(schema);
  }
};

/** A value that the schema allows, the same at each call. */
export const anyOf = (schema: object): unknown =>
  JSON.parse(JSON.stringify(fc.sample(valid(schema as Schema, {}), { seed: 1, numRuns: 1 })[0]));

const text = (schema: Schema): Arbitrary<string> => {
  if (schema.format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })
      .map((date) => date.toISOString());
  if (schema.format === 'email') return fc.constantFrom('a@example.com', 'Root@Example.COM', 'x+y@sub.example.org');
  const maxLength = Math.min(schema.maxLength ?? 80, 80);
  // Apart from lookarounds, the contract's patterns are simple enough to generate from.
  if (schema.pattern !== undefined && !schema.pattern.includes('[^'))
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength });
  return fc.string({ minLength: schema.minLength ?? 0, maxLength });
};

/** Existing values by name: without them nearly every request would end at 404. */
export type Pool = Readonly<Record<string, readonly unknown[]>>;

const valueFor = (name: string, schema: Schema, pool: Pool): Arbitrary<unknown> => {
  const known = pool[name];
  const drawn = valid(schema, pool);
  return known === undefined || known.length === 0
    ? drawn
    : fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: drawn });
};

const part = (schema: Schema | undefined, pool: Pool): Arbitrary<Record<string, unknown>> => {
  const good = (schema === undefined ? fc.constant({}) : valid(schema, pool)) as Arbitrary<Record<string, unknown>>;
  const names = Object.keys(schema?.properties ?? {});
  const spoilt = fc
    .tuple(good, fc.constantFrom(...names, 'no_such_field', '__proto__', 'constructor'), nasty)
    .map(([value, name, bad]) => Object.fromEntries([...Object.entries(value), [name, bad]]));
  return fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: spoilt });
};

const RAW_BODIES = [
  '',
  'null',
  '[]',
  '"x"',
  '{',
  '{"a":1,"a":2}',
  '{"__proto__":{}}',
  '[[[[[[[',
  'NaN',
  '{"a":1e999}',
  '\ufeff{}',
  '{"name":"\\ud800"}',
];

const body = (operation: Operation, pool: Pool): Arbitrary<string | undefined> => {
  const structured = part(operation.body as Schema | undefined, pool).map((value) => JSON.stringify(value));
  const raw = fc.oneof(
    fc.constantFrom(...RAW_BODIES),
    nasty.map((value) => JSON.stringify(value)),
    nastyText,
  );
  if (operation.method === 'GET') return fc.constant(undefined);
  if (operation.body === undefined)
    return fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: raw });
  return fc.oneof({ weight: 6, arbitrary: structured }, { weight: 1, arbitrary: raw });
};

/** Values that a header can contain: Node refuses to send control characters, so those are tested over sockets. */
const headerText = nastyText.map((value) => value.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '').slice(0, 2_000));

const headers = (operation: Operation): Arbitrary<Record<string, string>> =>
  fc.record(
    {
      'idempotency-key': fc.oneof(
        { weight: 6, arbitrary: fc.uuid() },
        { weight: 1, arbitrary: fc.constantFrom('shared-key-0001', 'shared-key-0002') },
        { weight: 1, arbitrary: headerText },
      ),
      'if-match': fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 1, max: 3 }).map((version) => `"v${version}"`) },
        { weight: 1, arbitrary: headerText },
      ),
      'x-correlation-id': headerText,
      'last-event-id': headerText,
      traceparent: headerText,
      'user-agent': headerText,
      'x-forwarded-for': headerText,
      'content-type': fc.oneof(
        { weight: 12, arbitrary: fc.constant('application/json') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'application/json; charset=latin1',
            'text/plain',
            'application/x-www-form-urlencoded',
            '',
          ),
        },
      ),
      accept: headerText,
    },
    {
      requiredKeys: [
        ...(operation.idempotency === 'required' ? (['idempotency-key'] as const) : []),
        ...(operation.ifMatch ? (['if-match'] as const) : []),
      ],
    },
  ) as Arbitrary<Record<string, string>>;

const query = (operation: Operation, pool: Pool): Arbitrary<string> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: part(operation.query as Schema | undefined, pool).map((value) => {
        const pairs = Object.entries(value).map(([name, one]): [string, string] => [
          name,
          typeof one === 'string' ? one : JSON.stringify(one),
        ]);
        return new URLSearchParams(pairs.map(([name, one]): [string, string] => [name, one.toWellFormed()])).toString();
      }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'limit=1&limit=2',
        'limit=',
        '&&&',
        'cursor',
        'a[b]=c',
        '%',
        '%ff=%fe',
        'limit=0x10',
        'limit=1e2',
      ),
    },
  );

export type FuzzRequest = Readonly<{ url: string; body: string | undefined; headers: Record<string, string> }>;

/** An object may have no prototype, and then no string conversion. */
const inPath = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

export const requestFor = (operation: Operation, pool: Pool): Arbitrary<FuzzRequest> =>
  fc
    .record({
      params: part(operation.params as Schema | undefined, pool),
      query: query(operation, pool),
      body: body(operation, pool),
      headers: headers(operation),
    })
    .map((drawn) => {
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(inPath(drawn.params[name]).toWellFormed()),
      );
      return { url: drawn.query === '' ? path : `${path}?${drawn.query}`, body: drawn.body, headers: drawn.headers };
    });

/** A request in the contract's terms as it is sent. */
export const onWire = (operation: Operation, parts: Parts): FuzzRequest => ({
  url: urlOf(operation, parts),
  body: parts.body === undefined ? undefined : JSON.stringify(parts.body),
  headers: headersOf(operation, parts),
});

const oneFieldOther = (schema: Schema | undefined, given: object, pool: Pool): Arbitrary<object> =>
  fc
    .constantFrom(...Object.keys(schema?.properties ?? {}), 'no_such_field')
    .chain((name) =>
      fc.tuple(fc.constant(name), fc.oneof(valueFor(name, schema?.properties?.[name] ?? {}, pool), nasty)),
    )
    .map(([name, value]) => ({ ...given, [name]: value }));

/** A request that would succeed except for one field of its path, query or body, or with other headers. */
export const nearly = (operation: Operation, good: Parts, pool: Pool): Arbitrary<FuzzRequest> => {
  const sent = onWire(operation, good);
  const schema = (part: 'params' | 'query' | 'body') => operation[part] as Schema | undefined;
  const others = [
    headers(operation).map((drawn) => ({ ...sent, headers: { ...drawn, ...sent.headers } })),
    headers(operation).map((drawn) => ({ ...sent, headers: { ...sent.headers, ...drawn } })),
    oneFieldOther(schema('query'), good.query ?? {}, pool).map((query) =>
      onWire(operation, { ...good, query: query as Record<string, unknown> }),
    ),
  ];
  if (operation.params !== undefined)
    others.push(
      oneFieldOther(schema('params'), good.params ?? {}, pool).map((params) =>
        onWire(operation, {
          ...good,
          params: Object.fromEntries(
            Object.entries(params).map(([name, value]) => [name, encodeURIComponent(inPath(value).toWellFormed())]),
          ),
        }),
      ),
    );
  if (operation.body !== undefined)
    others.push(
      oneFieldOther(schema('body'), (good.body as object | undefined) ?? {}, pool).map((body) =>
        onWire(operation, { ...good, body }),
      ),
    );
  return fc.oneof(...others);
};
