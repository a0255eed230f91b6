/** The document of the data model has one row per table, and none for a table that the schema does not have. */
import { type Check, verdict } from './check.ts';
import { readText } from './files.ts';

const DOCUMENT = 'doc/architecture/data-model.md';
const FIRST_CELL = /^\|([^|]*)\|/gm;

export const wrongRows = (text: string, tables: ReadonlySet<string>): string[] => {
  const named = [...text.matchAll(FIRST_CELL)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, table = '']) => table),
  );
  const repeated = new Set(named.filter((table, index) => named.indexOf(table) < index));
  return [
    ...[...repeated].map((table) => `${table}: has more than one row`),
    ...named.filter((table) => !tables.has(table)).map((table) => `${table}: is not in the schema`),
  ];
};

export const dataModel: Check = {
  name: 'tables in the data model',
  run: async () => {
    const schema = await readText('server/schema.sql');
    const tables = new Set([...schema.matchAll(/^create table (\w+)/gm)].map(([, table = '']) => table));
    const findings = wrongRows(await readText(DOCUMENT), tables);
    return verdict(
      findings.map((one) => `${DOCUMENT}: ${one}`),
      `${tables.size} tables`,
    );
  },
};
