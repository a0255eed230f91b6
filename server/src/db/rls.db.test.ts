import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, testClock } from '../../test/app.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { makeTenants, type Tenants } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { APP_ROLE } from './migrate.ts';

type Table = Readonly<{ name: string; rls: boolean; owner: string; columns: string[] }>;

/** How a row names its owner, where that is not `organization_id`. */
const OWNER_COLUMN: Readonly<Record<string, string>> = {
  organizations: 'id',
  users: 'id',
  ssh_keys: 'user_id',
  web_sessions: 'user_id',
  sign_up_requests: 'user_id',
  idempotency_keys: 'principal_id',
  audit_seals: 'chain',
  audit_segments: 'chain',
  audit_chains: 'chain',
};
/** Any request may have to write a row about any tenant: these accept every row and show only one's own. */
const TAKES_ANY_ROW = new Set(['audit_logs', 'outbox_events']);
/** Without a tenant: only the platform scope sees a row. */
const PLATFORM_ONLY = new Set([
  ...['oidc_signing_keys', 'oidc_records', 'trust_keys', 'node_enrollments', 'node_inventories', 'log_lines'],
  ...['platform_keys', 'platform_key_holders', 'platform_secrets', 'listener_requests', 'backups', 'restores'],
  ...['node_hosts', 'site_policy', 'group_mappings'],
]);
/** Inventory: a pool names its tenant, but it belongs to the platform, and placement reads it for all tenants. */
const INVENTORY = new Set(['pools']);

describe('row-level security', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;
  let app: Client;
  let tables: Table[];

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
    await tenants.sql.query(
      `insert into oidc_signing_keys (kid, algorithm, sealed_jwk) values ('k', 'RS256', 'x');
       insert into oidc_records (model, id_hash, sealed_payload, expires_at) values ('Session', decode(repeat('00', 32), 'hex'), 'x', now());
       insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key)
         values ('tky_test', 'task_signer', 'retired', 'x', repeat('0', 64), 'x');
       insert into restores (id, began_by, reason, older_than, ended, lost_changes, correlation_id)
         values ('rst_test', 'x', 'x', now() - interval '1 minute', '{}', '[]', 'x');
       insert into backups (id, taken_at, location, recorded_by, correlation_id) values ('bkp_test', now(), 'x', 'x', 'x');
       insert into listener_requests (id, names, csr_pem) values ('lcr_test', '{localhost}', 'x');
       insert into log_lines (logged_at, service, host_role, host_name, level, message, fields, origin, number)
         values (now(), 'test', 'platform_control', 'here', 'info', 'x', '{}', 'test', 1)`,
    );
    const node = await aNode(tenants.sql);
    const left = await aNode(tenants.sql);
    await tenants.sql.query(
      "insert into node_hosts (node_id, product_serial, bound_at) values ($1, 'SN-TEST', now())",
      [node.id],
    );
    await tenants.sql.query(
      `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, expires_at)
       values ('enr_test', $1, decode(repeat('00', 32), 'hex'), 'x', 'x', now())`,
      [node.id],
    );
    await tenants.sql.query(
      `insert into node_inventories (node_id, observed_at, boot_id, content) values ($1, now(), 'boot-1', '{"vms": []}')`,
      [node.id],
    );
    for (const { organization_id, ids, owner } of [tenants.acme, tenants.rival]) {
      const tenant = { organization_id, project_id: ids.project_id };
      const { id } = await anAllocation(tenants.sql, { node, tenant, state: 'active' });
      await tenants.sql.query(
        `insert into allocation_user_data (allocation_id, organization_id, project_id, sealed_user_data) values ($1, $2, $3, '\\x000100')`,
        [id, organization_id, ids.project_id],
      );
      await tenants.sql.query(
        `insert into allocation_installs (allocation_id, organization_id, project_id, run_id, install_number, ssh_key_ids)
         values ($1, $2, $3, 'wfr_x', 1, '{}')`,
        [id, organization_id, ids.project_id],
      );
      await tenants.sql.query(
        `insert into allocation_moves (id, allocation_id, organization_id, project_id, number, from_node_id, to_node_id, slot_ids, scores, task_id, reason)
         values ('mov_' || $1, $1, $2, $3, 1, $4, $5, '{}', '{}', '', 'The VM did not start.')`,
        [id, organization_id, ids.project_id, left.id, node.id],
      );
      await tenants.sql.query('insert into access_policies (organization_id) values ($1)', [organization_id]);
      await tenants.sql.query("insert into sign_up_requests (id, user_id) values ('sur_' || $1, $1)", [owner.me.id]);
      await tenants.sql.query(
        "insert into group_mappings (id, group_name, organization_id, role) values ('grm_' || $1, '/group', $1, 'viewer')",
        [organization_id],
      );
      await tenants.sql.query('insert into group_access_blocks (organization_id, user_id) values ($1, $2)', [
        organization_id,
        owner.me.id,
      ]);
    }
    app = new Client({ connectionString: tenants.test.db.url });
    await app.connect();
    tables = (
      await tenants.sql.query<Table>(
        `select c.relname as name, c.relrowsecurity as rls, pg_get_userbyid(c.relowner) as owner,
           array(select attname::text from pg_attribute a where attrelid = c.oid and attnum > 0 and not attisdropped
             and attgenerated = '' and attidentity = '') as columns
         from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
      )
    ).rows;
    await sealed();
    await tenants.sql.query(
      `insert into audit_segments (chain, first_sequence, last_sequence, previous_hash, last_hash, first_row_at, last_row_at, file_name, file_sha256)
       select chain, 1, sequence, sha256(convert_to('gpuaas audit chain ' || chain, 'UTF8')), hash, now(), now(), 'f', hash
       from audit_seals where chain = $1 and sequence = 1`,
      [tenants.acme.organization_id],
    );
  });
  after(async () => {
    await app.end();
    for (const close of closers) await close();
  });

  /** The sealer runs beside the API; its chains are among the rows to hide. */
  const sealed = () =>
    until('a sealed chain', async () => {
      const found = await tenants.sql.query('select from audit_chains where chain = $1', [
        tenants.acme.organization_id,
      ]);
      return found.rowCount === 1;
    });

  const asRival = async <T>(fn: () => Promise<T>): Promise<T> => {
    await app.query('begin');
    try {
      await app.query("select set_config('gpuaas.tenant_id', $1, true), set_config('gpuaas.principal_id', $2, true)", [
        tenants.rival.organization_id,
        tenants.rival.owner.me.id,
      ]);
      return await fn();
    } finally {
      await app.query('rollback');
    }
  };
  const walled = () => tables.filter((table) => table.rls && !PLATFORM_ONLY.has(table.name));
  const columnOf = (name: string) => OWNER_COLUMN[name] ?? 'organization_id';
  const ours = (name: string): string => {
    const column = columnOf(name);
    const isPerson = column === 'user_id' || column === 'principal_id' || name === 'users';
    return isPerson ? tenants.acme.owner.me.id : tenants.acme.organization_id;
  };
  const sqlState = (err: unknown): string => (err instanceof Error && 'code' in err ? String(err.code) : String(err));
  const attempt = (text: string, values: readonly unknown[]): Promise<number | string> =>
    asRival(() =>
      app.query(text, [...values]).then(
        (result) => result.rowCount ?? 0,
        (err: unknown) => sqlState(err),
      ),
    );

  it('the application connects as a role that owns nothing and cannot bypass it', async () => {
    assert.ok(tables.length > 15);
    for (const table of tables) assert.notEqual(table.owner, APP_ROLE, table.name);
    const { rows } = await tenants.sql.query(
      'select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin from pg_roles where rolname = $1',
      [APP_ROLE],
    );
    assert.deepEqual(
      [rows[0].rolsuper, rows[0].rolbypassrls, rows[0].rolcreaterole, rows[0].rolcreatedb],
      [false, false, false, false],
    );
    assert.equal((await app.query('select current_user as who')).rows[0].who, APP_ROLE);
  });

  it('every table with a tenant or user column has it', () => {
    const named = ['organization_id', 'project_id', 'user_id', 'principal_id', 'service_account_id'];
    const open = tables.filter(
      (table) => !table.rls && !INVENTORY.has(table.name) && table.columns.some((column) => named.includes(column)),
    );
    assert.deepEqual(
      open.map((table) => table.name),
      [],
    );
  });

  it('every protected table holds a row of this tenant, so that the next tests prove something', async () => {
    for (const { name } of walled()) {
      const { rowCount } = await tenants.sql.query(`select from ${name} where ${columnOf(name)} = $1`, [ours(name)]);
      assert.ok((rowCount ?? 0) > 0, name);
    }
  });

  it('another tenant sees none of this tenant’s rows', async () => {
    for (const { name } of walled())
      assert.equal(await attempt(`select from ${name} where ${columnOf(name)} = $1`, [ours(name)]), 0, name);
    for (const name of PLATFORM_ONLY) assert.equal(await attempt(`select from ${name}`, []), 0, name);
  });

  it('a session without a tenant or user sees no rows', async () => {
    for (const table of tables.filter(({ rls }) => rls)) {
      const { rowCount } = await app.query(`select from ${table.name}`);
      assert.equal(rowCount, 0, table.name);
    }
  });

  it('another tenant can neither change nor delete this tenant’s rows', async () => {
    for (const { name } of walled()) {
      const column = columnOf(name);
      for (const text of [
        `update ${name} set ${column} = ${column} where ${column} = $1`,
        `delete from ${name} where ${column} = $1`,
      ]) {
        const outcome = await attempt(text, [ours(name)]);
        assert.ok(outcome === 0 || outcome === '42501', `${text}: ${outcome}`);
      }
    }
  });

  it('another tenant cannot insert a row as this tenant', async () => {
    for (const { name, columns } of walled()) {
      if (TAKES_ANY_ROW.has(name)) continue;
      const { rows } = await tenants.sql.query(
        `select to_jsonb(x) as row from ${name} x where ${columnOf(name)} = $1 limit 1`,
        [ours(name)],
      );
      const list = columns.join(', ');
      const outcome = await attempt(
        `insert into ${name} (${list}) select ${list} from jsonb_populate_record(null::${name}, $1)`,
        [JSON.stringify(rows[0].row)],
      );
      assert.equal(outcome, '42501', name);
    }
  });

  it('another tenant cannot reassign its own row to this tenant', async () => {
    for (const { name } of walled()) {
      if (TAKES_ANY_ROW.has(name) || columnOf(name) === 'id') continue;
      const isPerson = ['user_id', 'principal_id'].includes(columnOf(name));
      const theirs = isPerson ? tenants.rival.owner.me.id : tenants.rival.organization_id;
      const outcome = await attempt(`update ${name} set ${columnOf(name)} = $2 where ${columnOf(name)} = $1`, [
        theirs,
        ours(name),
      ]);
      assert.ok(outcome === '42501' || (name === 'audit_chains' && outcome === 0), `${name}: ${outcome}`);
    }
  });

  it('audit rows and seals never change, for any role', async () => {
    for (const name of ['audit_logs', 'audit_seals'])
      for (const verb of ['update', 'delete', 'truncate']) {
        const { rows } = await tenants.sql.query('select has_table_privilege($1, $2, $3) as held', [
          APP_ROLE,
          name,
          verb,
        ]);
        assert.equal(rows[0].held, false, `${verb} ${name}`);
      }
    const texts = (name: string) => [`update ${name} set hash = hash`, `delete from ${name}`, `truncate ${name}`];
    for (const text of [...texts('audit_seals'), 'update audit_logs set policy = policy', 'delete from audit_logs'])
      await assert.rejects(tenants.sql.query(text), { code: '42501' }, text);
  });
});
