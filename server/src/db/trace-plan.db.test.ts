import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { type Database, PLATFORM, type Reader, type Scope } from './client.ts';
import * as db from './trace.ts';

describe('tracing an id on a large platform', () => {
  let database: Database;
  let drop: () => Promise<void>;
  let allocation: TestAllocation;
  before(async () => {
    const made = await testDatabase();
    drop = made.drop;
    database = made.database;
    const sql = new Client({ connectionString: made.ownerUrl });
    await sql.connect();
    allocation = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    const { organization_id, project_id, node_id } = allocation;
    const nodes = [node_id];
    for (let n = 1; n < 40; n++) nodes.push((await aNode(sql, { slots: false })).id);
    const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 26, '0')`;
    const fill = (text: string, values: unknown[] = []) =>
      sql.query(`${text} from generate_series(1, 20000) n`, values);
    await fill(
      `insert into audit_logs (id, organization_id, project_id, actor_kind, action, target_id, result, policy, correlation_id)
       select ${id('aud')}, $1, $2, 'user', 'thing.do', 't' || n, 'success', 'test', 'c' || n`,
      [organization_id, project_id],
    );
    await fill(
      `insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id)
       select ${id('evt')}, 'some.event', $1, $2, 's' || n, '{}', 'c' || n`,
      [organization_id, project_id],
    );
    await fill(
      `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id,
         steps, step, deadline_ms, deadline_at)
       select ${id('wfr')}, 'w', 1, 's' || n, $1, $2, 'c' || n, '{a}', 'a', 1000, now()`,
      [organization_id, project_id],
    );
    await fill(
      `insert into workflow_steps (run_id, sequence, step, attempt, outcome, started_at, finished_at)
       select ${id('wfr')}, 1, 'a', 1, 'next', now(), now()`,
    );
    await fill(
      `insert into node_tasks (id, node_id, kind, params, correlation_id, expires_at)
       select ${id('tsk')}, ($1::text[])[n % 40 + 1], 'diag.health_probe', '{}', 'c' || n, now()`,
      [nodes],
    );
    await fill(
      `insert into log_lines (logged_at, service, host_role, host_name, node_id, level, message, correlation_id, fields, origin, number)
       select now() - n * interval '1 second', 's', 'worker_compute', 'h', ($1::text[])[n % 40 + 1],
         case when n % 50 = 0 then 'error' else 'info' end, 'm', 'c' || n, '{}', 'o', n`,
      [nodes],
    );
    for (const table of ['audit_logs', 'outbox_events', 'workflow_runs', 'workflow_steps', 'node_tasks', 'log_lines'])
      await sql.query(`analyze ${table}`);
    await sql.end();
  });
  after(() => drop());

  const planOf = async (ask: (reader: Reader) => Promise<unknown>, scope: Scope = PLATFORM): Promise<string> => {
    let plan = '';
    await database.read(scope, async (reader) => {
      const explaining: Reader = {
        query: async (text, values) => {
          // The planner settings are those of production.
          if (text.startsWith('select set_config')) return reader.query(text, values);
          const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
          plan = rows.map((row) => row['QUERY PLAN']).join('\n');
          return { rows: [], rowCount: 0 };
        },
      };
      await ask(explaining);
    });
    return plan;
  };
  const big = /Seq Scan on (?:audit_logs|outbox_events|workflow_runs|workflow_steps|node_tasks|log_lines)/;
  const sought = (by: db.TraceQuery['by'], values: readonly string[]): db.TraceQuery => ({
    by,
    values,
    project_id: null,
    since_ms: by === 'about' ? Date.now() - 86_400_000 : null,
    limit: 1_001,
  });
  const C = sought('correlation', ['c7', 'c8']);
  const about = () => sought('about', [allocation.node_id, 's7', 't7']);

  const asked: readonly (readonly [string, (reader: Reader) => Promise<unknown>, readonly RegExp[]])[] = [
    ['audit rows by correlation', (r) => db.listAuditFacts(r, C), [/audit_logs_by_correlation/]],
    ['audit rows by target', (r) => db.listAuditFacts(r, about()), [/audit_logs_by_target/]],
    ['runs by correlation', (r) => db.listRunFacts(r, C), [/workflow_runs_by_correlation/]],
    ['runs by subject', (r) => db.listRunFacts(r, about()), [/workflow_runs_by_subject/]],
    ['steps', (r) => db.listStepFacts(r, ['wfr_1', 'wfr_2'], 1_001), [/workflow_steps_pkey/]],
    ['events by correlation', (r) => db.listEventFacts(r, C), [/outbox_events_by_correlation/]],
    ['events by subject', (r) => db.listEventFacts(r, about()), [/outbox_events_by_subject/]],
    ['tasks by correlation', (r) => db.listTaskFacts(r, C), [/node_tasks_by_correlation/, /log_lines.*_correlation/]],
    ['tasks of a node', (r) => db.listTaskFacts(r, about()), [/node_tasks_of_node/]],
    ['lines by correlation', (r) => db.listLogFacts(r, C), [/correlation_id_logged_at_idx/]],
    ['lines of a node', (r) => db.listLogFacts(r, about()), [/node_id_logged_at_idx/]],
    [
      'correlation ids of an allocation',
      (r) => db.listCorrelations(r, [allocation.id], null, 50),
      [/workflow_runs_by_subject/, /audit_logs_by_target/, /outbox_events_by_subject/],
    ],
    ['what is related', (r) => db.listRelated(r, allocation.id), [/workflow_runs_by_subject/]],
  ];
  for (const [what, ask, indexes] of asked)
    it(`finds ${what} without reading other rows`, async () => {
      for (const scope of [PLATFORM, { tenant_id: allocation.organization_id, principal_id: '' }]) {
        const plan = await planOf(ask, scope);
        for (const index of indexes) assert.match(plan, index);
        assert.doesNotMatch(plan, big);
      }
    });
});
