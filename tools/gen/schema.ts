/**
 * schema.sql: the whole schema after the last migration, for reading, for review of a migration's real effect, and to
 * check that migrations on an empty database create what the code expects. It is valid SQL: a test loads it into an
 * empty database and prints it again.
 */
import type { Catalog, Column, Constraint, Grant, Table } from './catalog.ts';

const HEADER = `-- Written by \`make gen\` from a freshly migrated database; do not edit. Change the schema with a new migration.`;

/** Tables after those they refer to, otherwise by name. */
const inOrder = (tables: readonly Table[]): readonly Table[] => {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const seen = new Set<string>();
  const ordered: Table[] = [];
  const visit = (table: Table): void => {
    if (seen.has(table.name)) return;
    seen.add(table.name);
    const targets = [...table.constraints.map((constraint) => constraint.target), table.partition_of];
    for (const name of targets.filter((target) => target !== null).sort()) {
      const target = byName.get(name);
      if (target) visit(target);
    }
    ordered.push(table);
  };
  for (const table of tables) visit(table);
  return ordered;
};

const columnLine = (column: Column): string => {
  let line = `${column.name} ${column.type}`;
  if (column.identity !== '') line += ` generated ${column.identity === 'a' ? 'always' : 'by default'} as identity`;
  else if (column.generated === 's') line += ` generated always as (${column.default}) stored`;
  else if (column.default !== null) line += ` default ${column.default}`;
  return column.not_null && column.identity === '' ? `${line} not null` : line;
};

const constraintLine = (constraint: Constraint): string => `constraint ${constraint.name} ${constraint.definition}`;

const grantLines = (kind: string, name: string, grants: readonly Grant[]): string[] =>
  [...Map.groupBy(grants, (grant) => `${grant.grantee}${grant.grantable ? ' with grant option' : ''}`)].map(
    ([to, list]) => {
      const privileges = list.map((grant) => grant.privilege + (grant.column === null ? '' : ` (${grant.column})`));
      return `grant ${privileges.join(', ')} on ${kind}${name} to ${to};`;
    },
  );

const policyText = (table: string, policy: Table['policies'][number]): string =>
  [
    [
      `create policy ${policy.name} on ${table}`,
      ...(policy.permissive ? [] : ['as restrictive']),
      ...(policy.command === 'all' ? [] : [`for ${policy.command}`]),
      ...(policy.roles.join() === 'public' ? [] : [`to ${policy.roles.join(', ')}`]),
    ].join(' '),
    ...(policy.using === null ? [] : [`  using (${policy.using})`]),
    ...(policy.check === null ? [] : [`  with check (${policy.check})`]),
  ].join('\n');

/** After all tables, because a policy may read any of them. */
const securityText = (table: Table): string =>
  [
    `alter table ${table.name} enable row level security;`,
    ...(table.row_security_forced ? [`alter table ${table.name} force row level security;`] : []),
    ...table.policies.map((policy) => `${policyText(table.name, policy)};`),
  ].join('\n');

const tableText = (table: Table, earlier: ReadonlySet<string>): string => {
  // A reference to a later table, which a cycle makes unavoidable, is added after it.
  const inline = table.constraints.filter(
    ({ target }) => target === null || earlier.has(target) || target === table.name,
  );
  const own = table.partition_of === null ? table.columns.map(columnLine) : [];
  const body = [...own, ...inline.map(constraintLine)].map((line) => `  ${line}`).join(',\n');
  const head = `create table ${table.name}${table.partition_of === null ? '' : ` partition of ${table.partition_of}`}`;
  const tail =
    (table.partition_bound === null ? '' : ` ${table.partition_bound}`) +
    (table.partition_key === null ? '' : ` partition by ${table.partition_key}`);
  return [
    `${head}${body === '' ? '' : ` (\n${body}\n)`}${tail};`,
    ...table.indexes.map((index) => `${index.replace(' ON public.', ' ON ')};`),
    ...table.triggers.map((trigger) => `${trigger};`),
    ...grantLines('', table.name, table.grants),
  ].join('\n');
};

const functionText = ({ definition }: Catalog['functions'][number]): string =>
  `${definition.replace('FUNCTION public.', 'FUNCTION ').trimEnd()};`;

export const schemaText = (catalog: Catalog): string => {
  const parts: string[] = [
    HEADER,
    // A function may name a table that comes after it.
    'set check_function_bodies = off;',
    ...catalog.extensions.map((name) => `create extension ${name};`),
    ...catalog.enums.map(
      ({ name, labels }) => `create type ${name} as enum (${labels.map((l) => `'${l}'`).join(', ')});`,
    ),
    ...catalog.functions.filter(({ reads }) => reads === null).map(functionText),
    ...catalog.sequences.map(({ name, grants }) =>
      [`create sequence ${name};`, ...grantLines('sequence ', name, grants)].join('\n'),
    ),
  ];
  const earlier = new Set<string>();
  const late: string[] = [];
  for (const table of inOrder(catalog.tables)) {
    parts.push(
      tableText(table, earlier),
      ...catalog.functions.filter(({ reads }) => reads === table.name).map(functionText),
    );
    for (const constraint of table.constraints)
      if (constraint.target !== null && constraint.target !== table.name && !earlier.has(constraint.target))
        late.push(`alter table ${table.name} add ${constraintLine(constraint)};`);
    earlier.add(table.name);
  }
  for (const table of catalog.tables) if (table.row_security) parts.push(securityText(table));
  for (const view of catalog.views)
    parts.push(
      [`create view ${view.name} as\n${view.definition}`, ...grantLines('', view.name, view.grants)].join('\n'),
    );
  return `${[...parts, ...late].join('\n\n')}\n`;
};
