/**
 * SQL with named parameters. A statement declares each parameter once, with its PostgreSQL type, and writes `:name` where
 * the value goes. It is compiled when its module is loaded: every `:name` becomes a numbered parameter with a cast to the
 * declared type. A name that is used and not declared, declared and not used, or written as a number stops the process at
 * start-up. The compiler checks the values of each call.
 *
 * The text is the same for every call, so the connection prepares it once (see `client.ts`).
 */
import type { Reader, Result } from './client.ts';

type Scalars = {
  bigint: number;
  boolean: boolean;
  bytea: Buffer;
  float8: number;
  inet: string;
  integer: number;
  /** Sent as JSON text: pg sends a JavaScript array as a PostgreSQL array. */
  jsonb: object;
  text: string;
  timestamptz: string;
};

type Single = keyof Scalars;
type Required = Single | `${Exclude<Single, 'jsonb'>}[]`;
export type ParameterType = Required | `${Required} | null`;
export type Parameters = Readonly<Record<string, ParameterType>>;

type ValueOf<T> = T extends `${infer R} | null`
  ? ValueOf<R> | null
  : T extends `${infer S extends Single}[]`
    ? readonly Scalars[S][]
    : T extends Single
      ? Scalars[T]
      : never;

export type Values<P extends Parameters> = Readonly<{ [Name in keyof P]: ValueOf<P[Name]> }>;

export type Statement<P extends Parameters> = Readonly<{
  text: string;
  query<R extends object>(reader: Reader, values: Values<P>): Promise<Result<R>>;
}>;

/** `::` is a cast, so a name has one colon before it. */
const NAME = /(?<!:):([a-z][a-z0-9_]*)/g;

const fail = (problem: string, text: string): never => {
  throw new Error(`${problem} in the statement: ${text.replace(/\s+/g, ' ').trim().slice(0, 120)}`);
};

export const statement = <const P extends Parameters>(parameters: P, text: string): Statement<P> => {
  if (/\$\d/.test(text)) fail('A numbered parameter', text);
  const declared = Object.keys(parameters);
  const used = new Set<string>();
  const compiled = text.replace(NAME, (_, name: string) => {
    const type = parameters[name];
    if (type === undefined) return fail(`Undeclared parameter :${name}`, text);
    used.add(name);
    return `$${declared.indexOf(name) + 1}::${type.replace(' | null', '')}`;
  });
  const unused = declared.filter((name) => !used.has(name));
  if (unused.length > 0) fail(`Unused parameter :${unused.join(', :')}`, text);
  const isJson = declared.map((name) => parameters[name]?.startsWith('jsonb') === true);

  return {
    text: compiled,
    query: (reader, values) => {
      const given: Readonly<Record<string, unknown>> = values;
      return reader.query(
        compiled,
        declared.map((name, index) => {
          const value = given[name];
          return isJson[index] && value !== null ? JSON.stringify(value) : value;
        }),
      );
    },
  };
};
