/**
 * server/src/db/types.gen.ts: the types of rows as read from each table. A column with a check on a list of values is
 * the union of those values, so that a row fits the contract's enums without a cast and a value that the database would
 * refuse does not compile.
 */
import type { Catalog, Column, Table } from './catalog.ts';

const HEADER = `// Written by \`make gen\` from a freshly migrated database; do not edit.
// Times are RFC 3339 strings and int8 is a number, as the parsers in client.ts make them.
`;

const SCALARS: Readonly<Record<string, string>> = {
  bigint: 'number',
  boolean: 'boolean',
  bytea: 'Buffer',
  'double precision': 'number',
  inet: 'string',
  integer: 'number',
  json: 'unknown',
  jsonb: 'unknown',
  cidr: 'string',
  macaddr: 'string',
  numeric: 'string',
  real: 'number',
  smallint: 'number',
  text: 'string',
  'timestamp with time zone': 'string',
  uuid: 'string',
  xid8: 'string',
};

const pascal = (name: string): string =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `check (state in ('a', 'b'))` as PostgreSQL prints it, also with one value; the values of other checks are not an enumeration. */
const wordsOf = (table: Table, column: string): string[] | undefined => {
  for (const { kind, columns, definition } of table.constraints) {
    if (kind !== 'c' || columns.join() !== column) continue;
    const [, many, one] = /^CHECK \(\w+ = (?:ANY \(ARRAY\[(.+)\]\)|('[^']*'::text))\)$/.exec(definition) ?? [];
    const list = many ?? one;
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
  return column.not_null || base === 'unknown' ? base : `${base} | null`;
};

export const rowTypes = (catalog: Catalog): string => {
  const interfaces = catalog.tables
    .filter((table) => table.partition_of === null)
    .map((table) => {
      const lines = table.columns.map((column) => `  ${column.name}: ${propertyType(table, column, catalog.enums)};`);
      return `export interface ${pascal(table.name)} {\n${lines.join('\n')}\n}\n`;
    });
  return `${HEADER}\n${interfaces.join('\n')}`;
};
