/**
 * server/src/db/types.gen.ts: what each table's rows are for the query builder. An emitter of our own, because
 * kysely-codegen cannot read check constraints: a column checked against a list of words is the union of those words,
 * so that a row fits the contract's enums without a cast and a word that the database would refuse does not compile.
 */
import type { Catalog, Column, Table } from './catalog.ts';

const HEADER = `// Written by \`make gen\` from a freshly migrated database; do not edit.
// Times are RFC 3339 strings and int8 is a number, as the parsers in client.ts make them. JSON is written as text,
// because pg would turn a JavaScript array into a PostgreSQL array.
import type { ColumnType, Generated } from 'kysely';

type Int8 = ColumnType<number, number | bigint | string, number | bigint | string>;
type Json = ColumnType<unknown, string, string>;
type NullableJson = ColumnType<unknown, string | null | undefined, string | null>;
type Timestamp = ColumnType<string, string | Date, string | Date>;
type NullableTimestamp = ColumnType<string | null, string | Date | null | undefined, string | Date | null>;
type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>;
type GeneratedJson = ColumnType<unknown, string | undefined, string>;
`;

const SCALARS: Readonly<Record<string, string>> = {
  bigint: 'Int8',
  boolean: 'boolean',
  bytea: 'Buffer',
  'double precision': 'number',
  inet: 'string',
  integer: 'number',
  json: 'Json',
  jsonb: 'Json',
  cidr: 'string',
  macaddr: 'string',
  numeric: 'string',
  real: 'number',
  smallint: 'number',
  text: 'string',
  'timestamp with time zone': 'Timestamp',
  uuid: 'string',
  xid8: 'string',
};

const pascal = (name: string): string =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `check (state in ('a', 'b'))` as PostgreSQL prints it; the words of other checks are not an enumeration. */
const wordsOf = (table: Table, column: string): string[] | undefined => {
  for (const { kind, columns, definition } of table.constraints) {
    if (kind !== 'c' || columns.join() !== column) continue;
    const list = /^CHECK \(\w+ = ANY \(ARRAY\[(.+)\]\)\)$/.exec(definition)?.[1];
    const words = list?.split(', ').map((word) => /^'([^']*)'::text$/.exec(word)?.[1]);
    if (words?.every((word) => word !== undefined)) return words;
  }
  return undefined;
};

const baseType = (table: Table, column: Column, enums: Catalog['enums']): string => {
  const words = wordsOf(table, column.name) ?? enums.find(({ name }) => name === column.type)?.labels;
  if (words) return words.map((word) => `'${word}'`).join(' | ');
  const array = column.type.endsWith('[]');
  const scalar = SCALARS[column.type.replace(/\[\]$/, '').replace(/\(.*\)$/, '')];
  if (scalar === undefined)
    throw new Error(`Column ${table.name}.${column.name}: type ${column.type} has no TypeScript type yet.`);
  return array ? `${scalar}[]` : scalar;
};

const propertyType = (table: Table, column: Column, enums: Catalog['enums']): string => {
  const base = baseType(table, column, enums);
  const filled = column.default !== null || column.identity !== '';
  if (column.generated === 's' || column.identity === 'a') return `ColumnType<${base}, never, never>`;
  // Column types do not nest, so those of time and JSON have their own spelling of "may be left out" and "may be null".
  if (base === 'Timestamp' || base === 'Json')
    return !column.not_null ? `Nullable${base}` : filled ? `Generated${base}` : base;
  if (base === 'Int8' && !column.not_null) return 'ColumnType<number | null, number | null | undefined, number | null>';
  if (base === 'Int8' && filled) return 'Generated<number>';
  const type = column.not_null ? base : `${base} | null`;
  return filled ? `Generated<${type}>` : type;
};

export const rowTypes = (catalog: Catalog): string => {
  const tables = catalog.tables.filter((table) => table.partition_of === null);
  const interfaces = tables.map((table) => {
    const lines = table.columns.map((column) => `  ${column.name}: ${propertyType(table, column, catalog.enums)};`);
    return `export interface ${pascal(table.name)} {\n${lines.join('\n')}\n}\n`;
  });
  const database = tables.map((table) => `  ${table.name}: ${pascal(table.name)};`).join('\n');
  const used = HEADER.split('\n').filter((line) => {
    const alias = /^type (\w+)/.exec(line)?.[1];
    return alias === undefined || interfaces.some((text) => new RegExp(`: ${alias}\\b`).test(text));
  });
  return `${used.join('\n')}\n${interfaces.join('\n')}\nexport interface DB {\n${database}\n}\n`;
};
