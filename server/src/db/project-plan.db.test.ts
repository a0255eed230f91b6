import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { aSession } from '../../test/access.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { PLATFORM, type Reader } from './client.ts';
import { findHeldProject, listProjectHoldings } from './project.ts';

const HISTORY = 3_000;

test('the holdings of a project are read without its history', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  const node = await aNode(sql);
  const held = await anAllocation(sql, { node, state: 'active' });
  const session = await aSession(sql, held, { state: 'open', principal_id: 'usr_x' });
  const { project_id, organization_id } = held;
  const other = await anAllocation(sql, { node, state: 'active' });
  const busy = await aSession(sql, other, { state: 'open', principal_id: 'usr_x' });
  const copies = async (table: string, id: string, change: string) => {
    const { rows } = await sql.query<{ names: string }>(
      `select string_agg(column_name, ', ') as names from information_schema.columns
       where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
      [table],
    );
    const names = rows[0]?.names;
    await sql.query(
      `insert into ${table} (${names}) select ${names} from (
         select (jsonb_populate_record(x, ${change})).* from ${table} x, generate_series(1, ${HISTORY}) n where x.id = $1) copy`,
      [id],
    );
  };
  await copies(
    'allocations',
    held.id,
    `jsonb_build_object('id', 'alc_' || lpad(n::text, 26, '0'), 'name', 'old-' || n, 'state', 'failed', 'state_reason', 'It failed.',
       'failure_reason', 'It failed.', 'failed_at', now(), 'power_state', null, 'power_since', null)`,
  );
  await copies(
    'terminal_sessions',
    session,
    `jsonb_build_object('id', x.id || n, 'state', 'closed', 'closed_at', now(), 'end_reason', 'ended')`,
  );
  await copies('terminal_sessions', busy, "jsonb_build_object('id', x.id || n)");
  await sql.query(
    `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step,
       deadline_ms, deadline_at, state, finished_at)
     select 'wfr_' || lpad(n::text, 26, '0'), 'w', 1, 's' || n, $1, $2, 'c' || n, '{a}', 'a', 1000, now(), 'done', now()
     from generate_series(1, ${HISTORY}) n`,
    [organization_id, project_id],
  );
  for (const table of ['allocations', 'allocation_resource_claims', 'workflow_runs', 'terminal_sessions'])
    await sql.query(`analyze ${table}`);
  await sql.end();

  const planOf = async (ask: (reader: Reader) => Promise<unknown>): Promise<string> => {
    let plan = '';
    await database.read(PLATFORM, async (reader) => {
      // Two claims would be read sequentially; thousands are not.
      await reader.query("select set_config('enable_seqscan', 'off', true)");
      await ask({
        query: async (text, values) => {
          const explained = `explain (analyze, costs off, timing off, summary off) ${text}`;
          plan = (await reader.query<{ 'QUERY PLAN': string }>(explained, values)).rows
            .map((row) => row['QUERY PLAN'])
            .join('\n');
          return { rows: [], rowCount: 0 };
        },
      });
    });
    return plan;
  };
  for (const ask of [
    (reader: Reader) => findHeldProject(reader, project_id),
    (reader: Reader) => listProjectHoldings(reader, [project_id]),
  ]) {
    const plan = await planOf(ask);
    for (const index of [
      'allocations_name',
      'claims_live_by_project',
      'workflow_runs_live_by_project',
      'terminal_sessions_live_by_project',
    ])
      assert.match(plan, new RegExp(index), plan);
    assert.doesNotMatch(plan, /Seq Scan on (?:allocations|workflow_runs|terminal_sessions)/, plan);
    assert.doesNotMatch(plan, /Rows Removed by Filter: \d{3,}/, plan);
  }
  const [found] = await database.read(PLATFORM, (reader) => listProjectHoldings(reader, [project_id]));
  assert.equal(found?.allocations.length, 1);
});
