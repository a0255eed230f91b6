/**
 * The files of migrations. Their numbers follow each other without a gap, so that a file that a merge lost or added
 * late is noticed before anything is applied. A file whose first line is `-- no transaction` runs statement by statement
 * outside a transaction: indexes are built and constraints validated there without blocking writers.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations/', import.meta.url));
/** Numbers that no file ever had. */
const NEVER_USED: readonly number[] = [14];
const NO_TRANSACTION = '-- no transaction';

export type Migration = Readonly<{ name: string; sql: string; sha256: string }>;

export const readMigrations = async (dir: string = MIGRATIONS_DIR): Promise<Migration[]> => {
  const names = (await readdir(dir)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${dir}/${name}`, 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
};

export const numberOf = (name: string): number => Number(name.slice(0, 4));

const fourDigits = (number: number): string => String(number).padStart(4, '0');

const nextAfter = (number: number): number => (NEVER_USED.includes(number + 1) ? nextAfter(number + 1) : number + 1);

/** What is wrong with the numbers of these files, in their order; undefined when they follow each other. */
export const findMisnumbered = (names: readonly string[]): string | undefined => {
  let before: string | undefined;
  for (const name of names) {
    const [number, last] = [numberOf(name), before === undefined ? 0 : numberOf(before)];
    if (number === last)
      return `Migrations ${before} and ${name} have one number. Renumber the one that is not applied.`;
    const expected = nextAfter(last);
    if (number !== expected)
      return `Migration ${fourDigits(expected)} is missing before ${name}. Restore its file, or renumber ${name}.`;
    before = name;
  }
  return undefined;
};

/** A file that is not applied although a later one is: it was added late, or the database is of another branch. */
export const findLate = (names: readonly string[], applied: ReadonlySet<string>): string | undefined => {
  const newest = [...applied].sort().at(-1);
  const late = names.find((name) => newest !== undefined && !applied.has(name) && numberOf(name) <= numberOf(newest));
  return late === undefined
    ? undefined
    : `Migration ${late} is not applied, but ${newest} is. Give the file the next free number; a database of another branch must be restored or reset.`;
};

export const hasTransaction = (sql: string): boolean => sql.split('\n', 1)[0]?.trim() !== NO_TRANSACTION;

/** What may run twice, because an interrupted file is started again from its beginning. */
const REPEATABLE = [
  /^create (?:unique )?index concurrently (?!if not exists)(?<index>\w+) on /,
  /^drop index concurrently if exists \w+$/,
  /^alter table (?:only )?\w+ validate constraint \w+$/,
];

export type Statement = Readonly<{
  sql: string;
  /** The index that it builds. */
  index: string | undefined;
}>;

/** The statements of a file without a transaction. */
export const statementsOf = ({ name, sql }: Pick<Migration, 'name' | 'sql'>): readonly Statement[] =>
  sql
    .replace(/--.*$/gm, '')
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const plain = text.replace(/\s+/g, ' ').toLowerCase();
      const match = REPEATABLE.map((pattern) => pattern.exec(plain)).find((found) => found !== null);
      if (match === undefined)
        throw new Error(
          `Migration ${name} runs without a transaction, so it may only contain "create index concurrently", "drop index concurrently if exists" and "alter table … validate constraint", not: ${text.slice(0, 80)}`,
        );
      return { sql: text, index: match?.groups?.['index'] };
    });
