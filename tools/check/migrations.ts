/**
 * Migrations are applied while the control plane runs. An index on a table that exists blocks its writers while it is
 * built, and a constraint blocks everyone while all rows are checked. So files after BASELINE build indexes concurrently
 * and validate constraints in a step of its own. Tables that the same file creates are empty and exempt, and so are those
 * whose size the operator decides. A file may state that a table is small everywhere: `-- blocks nodes: <reason>`. No file of
 * the previous release may change.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  findMisnumbered,
  hasTransaction,
  MIGRATIONS_DIR,
  type Migration,
  numberOf,
  readMigrations,
  statementsOf,
} from '../../server/src/db/migration-file.ts';
import { ROOT } from '../gen/file.ts';
import { type Check, verdict } from './check.ts';
import { flawsSince } from './previous-release.ts';

/** Files up to this one are older than the rule: no release had them, so no site in use applies them. */
const BASELINE = 46;

/** A few rows each, however long the control plane runs. */
const SMALL: ReadonlySet<string> = new Set([
  'audit_sealer',
  'capacity_counters',
  'health_breaker',
  'oidc_signing_keys',
  'os_image_skus',
  'os_image_versions',
  'os_images',
  'platform_keys',
  'platform_secrets',
  'regions',
  'restores',
  'sku_catalog',
  'sku_vm_profiles',
  'trust_keys',
]);

/** Statements without comments, function bodies and texts, in one line each. */
const plainStatements = (sql: string): readonly string[] =>
  sql
    .replace(/--.*$/gm, '')
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/'(?:[^']|'')*'/g, "''")
    .split(';')
    .map((text) => text.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter((text) => text !== '');

/** The parts of an `alter table`, which commas outside parentheses separate. */
const actionsOf = (text: string): readonly string[] => {
  const parts: string[] = [''];
  let depth = 0;
  for (const letter of text) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0;
    if (letter === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
};

const CONCURRENTLY =
  'Move it to a file of its own (the next number) whose first line is "-- no transaction", and write "create index concurrently".';
const NOT_VALID =
  'Add it as a named constraint with "not valid"; in a file of its own (the next number) whose first line is "-- no transaction", write "alter table … validate constraint …".';

const HATCH = ' If the table is small everywhere, write "-- blocks <table>: <reason>" in the file instead.';

/** Why this part of an `alter table` reads or locks a table for as long as it is large, with what to write instead. */
const flawOf = (action: string): string | undefined => {
  const isValid = !/ not valid$/.test(action);
  if (/^add (?:constraint \w+ )?(?:unique|primary key|exclude)\b/.test(action))
    return / using index \w+/.test(action)
      ? undefined
      : `builds an index while all queries of the table wait. ${CONCURRENTLY} Then "add constraint … using index …".`;
  if (/^add (?:constraint \w+ )?(?:check|foreign key|not null)\b/.test(action))
    return isValid ? `checks every row while all queries of the table wait. ${NOT_VALID}` : undefined;
  if (/^add (?:column )?(?:if not exists )?\w+ .*\b(?:unique|primary key)\b/.test(action))
    return `builds an index while all queries of the table wait. Add the column without it. ${CONCURRENTLY}`;
  if (/^add (?:column )?(?:if not exists )?\w+ .*(?:\bcheck \(|\breferences\b)/.test(action))
    return `checks every row while all queries of the table wait. Add the column without it. ${NOT_VALID}`;
  if (/^add (?:column )?(?:if not exists )?\w+ .*\bgenerated always as \(.*\) stored\b/.test(action))
    return 'writes the whole table again while all queries of it wait. Add a plain column that the writers set, and fill it in batches.';
  if (/^alter (?:column )?\w+ set not null$/.test(action))
    return `reads every row while all queries of the table wait. Add a constraint "check (… is not null) not valid", and validate it in a file whose first line is "-- no transaction"; PostgreSQL then needs no "set not null".`;
  if (/^alter (?:column )?\w+ (?:set data )?type\b/.test(action))
    return 'may write the whole table again while all queries of it wait. Add a new column, and move the values in batches.';
  return undefined;
};

/** Tables that this file may block, each with a reason. */
const statedSmall = (sql: string): readonly string[] =>
  [...sql.matchAll(/^-- blocks (\w+): \S/gm)].map(([, table = '']) => table);

const flawsOfStatement = (text: string, isExempt: (table: string) => boolean): readonly string[] => {
  const [, concurrently, index = '', table = ''] =
    /^create (?:unique )?index (concurrently )?(?:if not exists )?(\w+) on (?:only )?(\w+)/.exec(text) ?? [];
  if (table !== '')
    return concurrently || isExempt(table)
      ? []
      : [`the index ${index} on ${table} blocks every writer of the table while it is built. ${CONCURRENTLY}`];
  const [, altered = '', actions = ''] = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/.exec(text) ?? [];
  if (altered === '' || isExempt(altered)) return [];
  return actionsOf(actions).flatMap((action) => {
    const flaw = flawOf(action);
    return flaw === undefined ? [] : [`"alter table ${altered} ${action.slice(0, 60)}" ${flaw}`];
  });
};

/** Flaws of the files after `baseline`, and of the numbers of all. */
export const flawsOfMigrations = (
  files: readonly Pick<Migration, 'name' | 'sql'>[],
  baseline: number = BASELINE,
): readonly string[] => {
  const misnumbered = findMisnumbered(files.map(({ name }) => name));
  const flaws = misnumbered === undefined ? [] : [misnumbered];
  for (const file of files.filter(({ name }) => numberOf(name) > baseline)) {
    const path = `server/migrations/${file.name}`;
    const statements = plainStatements(file.sql);
    if (!hasTransaction(file.sql)) {
      try {
        statementsOf(file);
      } catch (err) {
        flaws.push(err instanceof Error ? err.message : String(err));
      }
      continue;
    }
    if (statements.some((text) => /^(?:create|drop) (?:unique )?index concurrently /.test(text)))
      flaws.push(`${path}: an index is built concurrently only in a file whose first line is "-- no transaction".`);
    const created = new Set(
      statements.map((text) => /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(text)?.[1]),
    );
    const stated = statedSmall(file.sql);
    const isExempt = (table: string): boolean => created.has(table) || SMALL.has(table) || stated.includes(table);
    for (const text of statements)
      flaws.push(...flawsOfStatement(text, isExempt).map((flaw) => `${path}: ${flaw}${HATCH}`));
  }
  return flaws;
};

export const migrations: Check = {
  name: 'migrations',
  run: async () => {
    const files = await readMigrations(MIGRATIONS_DIR);
    const previous = (await readFile(join(ROOT, 'server/previous-release.txt'), 'utf8')).trim();
    return verdict([...flawsOfMigrations(files), ...flawsSince(previous, ROOT)], `${files.length} files`);
  },
};
