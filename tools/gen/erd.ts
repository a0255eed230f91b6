/**
 * doc/architecture/erd.md: the tables and their keys as diagrams, one per part of the system. Read from the catalog of
 * a freshly migrated database, so that a diagram never shows a table that does not exist.
 */
import type { Catalog, Column, Constraint, Table } from './catalog.ts';

const GROUPS: readonly Readonly<{ title: string; tables: readonly string[] }>[] = [
  {
    title: 'Identity',
    tables: [
      'organizations',
      'users',
      'tenant_memberships',
      'projects',
      'project_memberships',
      'invitations',
      'service_accounts',
      'api_tokens',
      'ssh_keys',
      'oidc_signing_keys',
      'oidc_records',
    ],
  },
  {
    title: 'Catalog',
    tables: [
      'regions',
      'sku_catalog',
      'sku_vm_profiles',
      'os_images',
      'os_image_versions',
      'os_image_skus',
      'os_image_availability',
    ],
  },
  {
    title: 'Inventory',
    tables: [
      'pools',
      'nodes',
      'node_fabric_partitions',
      'node_resource_slots',
      'node_placement_summary',
      'capacity_counters',
    ],
  },
  {
    title: 'Allocations and claims',
    tables: ['allocations', 'allocation_resource_claims', 'allocation_placements', 'node_tasks', 'wipe_proofs'],
  },
  { title: 'Money', tables: ['quotas', 'usage_records'] },
  { title: 'Workflows', tables: ['workflow_runs', 'workflow_steps', 'workflow_signals'] },
  {
    title: 'System',
    tables: [
      'audit_logs',
      'audit_seals',
      'audit_chains',
      'audit_sealer',
      'outbox_events',
      'idempotency_keys',
      'schema_migrations',
    ],
  },
];

const HEADER = `<!-- Written by \`make gen\` from a freshly migrated database; do not edit. -->
# Entities and relations

Every table with its columns and keys. What the tables are for stands in [data-model.md](data-model.md); checks, partial
unique indexes and policies stand in \`server/schema.sql\`.
`;

const keysOf = (table: Table, column: Column): string => {
  const isIn = (kinds: string) =>
    table.constraints.some(({ kind, columns }) => kinds.includes(kind) && columns?.includes(column.name));
  const isUnique = table.constraints.some(
    ({ kind, columns }) => kind === 'u' && columns.length === 1 && columns[0] === column.name,
  );
  return [isIn('p') ? 'PK' : '', isIn('f') ? 'FK' : '', isUnique ? 'UK' : ''].filter((key) => key !== '').join(', ');
};

/** Mermaid takes one word for a type. */
const typeOf = ({ type }: Column): string =>
  type.replace('timestamp with time zone', 'timestamptz').replaceAll(' ', '_');

const columnLine = (table: Table, column: Column): string => {
  const notes = [column.not_null ? '' : 'null', column.generated === 's' ? 'generated' : ''].filter((note) => note);
  const keys = keysOf(table, column);
  return `    ${typeOf(column)} ${column.name}${keys ? ` ${keys}` : ''}${notes.length > 0 ? ` "${notes.join(', ')}"` : ''}`;
};

/** How many rows of the child one row of the parent may have, and whether a child may have no parent. */
const relationLine = (table: Table, key: Constraint): string => {
  const isNullable = table.columns.some((column) => key.columns.includes(column.name) && !column.not_null);
  const isUnique = table.constraints.some(
    ({ kind, columns }) =>
      'pu'.includes(kind) && columns.length > 0 && columns.every((name) => key.columns.includes(name)),
  );
  return `  ${key.target} ${isNullable ? '|o' : '||'}--${isUnique ? 'o|' : 'o{'} ${table.name} : "${key.columns.join(', ')}"`;
};

const diagram = (tables: readonly Table[]): string =>
  [
    '```mermaid',
    'erDiagram',
    ...tables.flatMap((table) => [
      `  ${table.name} {`,
      ...table.columns.map((column) => columnLine(table, column)),
      '  }',
    ]),
    ...tables.flatMap((table) =>
      table.constraints.filter(({ kind }) => kind === 'f').map((key) => relationLine(table, key)),
    ),
    '```',
  ].join('\n');

export const erd = (catalog: Catalog): string => {
  const tables = catalog.tables.filter((table) => table.partition_of === null);
  const isGrouped = new Set(GROUPS.flatMap((group) => group.tables));
  const rest = tables.filter((table) => !isGrouped.has(table.name));
  const groups = [
    ...GROUPS.map(({ title, tables: names }) => ({ title, of: tables.filter(({ name }) => names.includes(name)) })),
    { title: 'Other', of: rest },
  ];
  const sections = groups.filter(({ of }) => of.length > 0).map(({ title, of }) => `## ${title}\n\n${diagram(of)}\n`);
  return `${HEADER}\n${sections.join('\n')}`;
};
