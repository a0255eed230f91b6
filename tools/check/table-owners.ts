/**
 * Every table has one owner: the only file of server/src/db that inserts, updates and deletes its rows. A file that has the
 * table's name is its owner, and a file may own several tables. A statement that needs several tables stands in
 * server/src/db/statements. So the place where a column is written is found by the name of its table.
 */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const WRITE =
  /\b(?:insert into|delete from|merge into|update(?= +(?:only +)?\w+(?: +as)?(?: +\w+)? +set\b))\s+(?:only\s+)?(\w+)/g;

const writtenIn = (text: string): readonly string[] => [
  ...new Set([...text.replace(/\s+/g, ' ').matchAll(WRITE)].map(([, table = '']) => table)),
];

/** `node_tasks` has the file `node-task.ts`, `access_policies` has `access-policy.ts`. */
const namedAfter = (table: string): string =>
  `server/src/db/${table.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('_', '-')}.ts`;

/** `texts` are sources of the server by path. */
export const tablesWithoutOwner = (texts: ReadonlyMap<string, string>, tables: ReadonlySet<string>): string[] => {
  const writers = new Map<string, string[]>();
  for (const [file, text] of texts)
    for (const table of writtenIn(text))
      if (tables.has(table) && !file.startsWith('server/src/db/statements/'))
        writers.set(table, [...(writers.get(table) ?? []), file]);
  return [...writers].flatMap(([table, files]) => {
    const named = namedAfter(table);
    const [owner = named] = texts.has(named) ? [named] : files.filter((file) => file.startsWith('server/src/db/'));
    return files.filter((file) => file !== owner).map((file) => `${file}: writes ${table}, which ${owner} owns`);
  });
};

export const tableOwners: Check = {
  name: 'table owners',
  run: async () => {
    const files = (await repositoryFiles()).filter((file) => /^server\/src\/.*(?<!\.test)\.ts$/.test(file));
    const texts = new Map(await Promise.all(files.map(async (file) => [file, await readText(file)] as const)));
    const schema = await readText('server/schema.sql');
    const tables = new Set([...schema.matchAll(/^create table (\w+)/gm)].map(([, table = '']) => table));
    return verdict(tablesWithoutOwner(texts, tables), `${tables.size} tables`);
  },
};
