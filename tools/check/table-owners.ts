/**
 * Every table has one owner: the only file of server/src/db that inserts, updates and deletes its rows. A file with the
 * table's name is its owner; for the other tables, OWNERS names the file. A statement on several tables is in
 * server/src/db/statements. So the writer of a column is found by the table's name or in OWNERS.
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

/** Tables without a file of their name, and the file in server/src/db that writes them. */
const OWNERS: Readonly<Record<string, string>> = {
  allocation_access_grants: 'access-grant.ts',
  allocation_installs: 'install.ts',
  allocation_placements: 'statements/claim.ts',
  allocation_resource_claims: 'statements/claim.ts',
  allocation_user_data: 'user-data.ts',
  audit_chains: 'audit-seal.ts',
  audit_logs: 'audit.ts',
  audit_sealer: 'audit-seal.ts',
  capacity_counters: 'capacity.ts',
  health_breaker: 'health-report.ts',
  idempotency_keys: 'idempotency.ts',
  log_lines_default: 'log-line.ts',
  node_enrollments: 'node-certificate.ts',
  node_fabric_partitions: 'slot.ts',
  node_health_overrides: 'health-report.ts',
  node_health_reports: 'health-report.ts',
  node_inventories: 'inventory.ts',
  node_placement_summary: 'placement.ts',
  node_resource_slots: 'slot-approval.ts',
  oidc_records: 'oidc.ts',
  oidc_signing_keys: 'oidc.ts',
  os_image_skus: 'os-image.ts',
  os_image_versions: 'os-image.ts',
  outbox_events: 'outbox.ts',
  platform_key_holders: 'platform-key.ts',
  platform_secrets: 'platform-key.ts',
  project_memberships: 'project.ts',
  schema_migrations: 'migrate.ts',
  sku_catalog: 'sku.ts',
  tenant_memberships: 'organization.ts',
  topology_candidates: 'topology.ts',
  topology_discoveries: 'topology.ts',
  usage_records: 'usage.ts',
  wipe_chain_cuts: 'statements/cut-wipe-chains.ts',
};

/** `texts` are sources of the server by path. */
export const tablesWithoutOwner = (
  texts: ReadonlyMap<string, string>,
  tables: ReadonlySet<string>,
  owners: Readonly<Record<string, string>> = OWNERS,
): string[] => {
  const writers = new Map<string, string[]>();
  for (const [file, text] of texts)
    for (const table of writtenIn(text))
      if (tables.has(table) && !file.startsWith('server/src/db/statements/'))
        writers.set(table, [...(writers.get(table) ?? []), file]);
  const gone = Object.keys(owners).filter((table) => !tables.has(table));
  return [...tables]
    .flatMap((table) => {
      const named = namedAfter(table);
      const listed = owners[table];
      if (texts.has(named) === (listed !== undefined))
        return [
          `${table}: ${listed === undefined ? 'has no file of its name; list' : 'has a file of its name; remove'} it in OWNERS`,
        ];
      const owner = listed === undefined ? named : `server/src/db/${listed}`;
      if (!texts.has(owner)) return [`${table}: its owner ${owner} does not exist`];
      return (writers.get(table) ?? [])
        .filter((file) => file !== owner)
        .map((file) => `${file}: writes ${table}, which ${owner} owns`);
    })
    .concat(gone.map((table) => `${table}: is in OWNERS and not in the schema`));
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
