/** What is read often is found without reading years of history. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { listAllocations } from './allocation.ts';
import { type Database, PLATFORM, type Reader } from './client.ts';
import { INVARIANTS, listViolations } from './invariant.ts';
import { listSkuUses, withAllocationCounts } from './statements/catalog-use.ts';

const PAST = 20_000;
const TENANT = { organization_id: 'org_a', project_id: 'prj_a' };

describe('a site after years', () => {
  let database: Database;
  let drop: () => Promise<void>;
  before(async () => {
    const db = await testDatabase();
    drop = db.drop;
    database = db.database;
    const sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    await sql.query('set session_replication_role = replica');
    const rows = `from generate_series(1, ${PAST}) n`;
    const at = `now() - interval '2 days' - n * interval '10 minutes'`;
    await sql.query(
      `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, state, state_since,
         requested_by, activated_at, release_requested_at, released_at, correlation_id, created_at)
       select 'alc_' || lpad(n::text, 26, '0'), 'org_a', 'prj_' || substr('abcdefghijklmnopqrst', 1 + n % 20, 1), 'past-' || n, 'gpu_slice', 's', 'r', 1, 'released', ${at}, 'u', ${at}, ${at}, ${at},
         'c', ${at} ${rows}`,
    );
    await sql.query(
      `insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, gpu_count, gpu_hourly_price_minor, currency, scores)
       select 'alc_' || lpad(n::text, 26, '0'), 'org_a', 'prj_a', 'nod_a', '{}', 1, 1, 'USD', '{}' ${rows}`,
    );
    await sql.query(
      `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor, currency, started_at,
         ended_at, cost_minor, correlation_id)
       select 'usg_' || n, 'alc_' || lpad(n::text, 26, '0'), 'org_a', 'prj_a', 's', 1, 1, 'USD', ${at}, ${at}, 1, 'c' ${rows}`,
    );
    await sql.query(
      `insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id, sequence, previous_hash,
         proof_hash, created_at)
       select 'wpf_' || n, 'nod_a', 'slt_a', 'alc_' || lpad(n::text, 26, '0'), 'tsk_' || n, 'm', true, '{}', 'c', n, sha256(''), sha256(''), ${at} ${rows}`,
    );
    await sql.query(
      `insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count,
         slot_generation, created_at, released_at, wipe_proof_id)
       select 'clm_' || n, 'alc_' || lpad(n::text, 26, '0'), 'org_a', 'prj_a', 'slot', 'nod_a', 'slt_a', 1, 1, ${at}, ${at}, 'wpf_' || n ${rows}`,
    );
    await sql.query('vacuum analyze');
    await sql.end();
  });
  after(() => drop());

  /** The plan of a query's own text, with its values. */
  const planOf = async (work: (reader: Reader) => Promise<unknown>): Promise<string> => {
    let plan = '';
    await database.read(PLATFORM, async (reader) => {
      await work({
        query: async (text, values) => {
          if (text.includes('set_config')) return reader.query(text, values);
          const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
          plan = rows.map((row) => row['QUERY PLAN']).join('\n');
          return { rows: [], rowCount: 0 };
        },
      });
    });
    return plan;
  };

  it('lists the newest allocations of a project in the order of an index', async () => {
    const none = { organization_id: null, node_id: null, state: null, name: null, before: null };
    const plan = await planOf((reader) =>
      listAllocations(reader, { ...none, project_id: TENANT.project_id, limit: 51 }),
    );
    assert.match(plan, /Index Scan Backward using allocations_(by_project|pkey)/);
    assert.doesNotMatch(plan, /Sort/, plan);
    assert.match(plan, /Index Scan using allocation_placements_pkey/);
  });

  it('counts the allocations of regions and SKUs among those that have not ended', async () => {
    for (const column of ['region_name', 'sku_name'] as const) {
      const plan = await planOf((reader) => withAllocationCounts(reader, column, [{ name: 'r' }, { name: 's' }]));
      assert.match(plan, /allocations_live/, plan);
      assert.doesNotMatch(plan, /Seq Scan/, plan);
    }
    const plan = await planOf((reader) => listSkuUses(reader, 's'));
    assert.match(plan, /allocations_live/, plan);
  });

  for (const [name, table] of [
    ['claim_released_with_proof', 'allocation_resource_claims'],
    ['proof_is_of_its_task', 'allocation_resource_claims'],
    ['proof_is_of_its_task', 'wipe_proofs'],
    ['proof_is_in_its_chain', 'wipe_proofs'],
    ['change_has_deadline_and_owner', 'allocations'],
    ['charged_time_is_active_time', 'allocations'],
    ['charged_time_is_active_time', 'usage_records'],
    ['charged_by_one_record', 'usage_records'],
    ['usage_never_overlaps', 'usage_records'],
    ['closed_cost_is_right', 'usage_records'],
  ] as const)
    it(`checks ${name} without reading all of ${table}`, async () => {
      const invariant = INVARIANTS.find((one) => one.name === name);
      assert.ok(invariant !== undefined);
      const plan = await planOf((reader) => listViolations(reader, invariant));
      assert.match(plan, new RegExp(`on ${table}\\b|on \\w+_\\w+`));
      assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${table}\\b`), plan);
    });
});
