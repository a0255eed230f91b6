import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { type AuditFilter, listAuditLogs } from './audit.ts';
import { type Database, PLATFORM, type Reader } from './client.ts';

describe('the audit log of a large platform', () => {
  let database: Database;
  let drop: () => Promise<void>;
  before(async () => {
    const db = await testDatabase();
    drop = db.drop;
    database = db.database;
    const sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    await sql.query(
      `insert into audit_logs (id, organization_id, actor_kind, actor_id, action, target_id, result, policy, correlation_id)
       select 'aud_' || lpad(n::text, 26, '0'), 'org_' || n % 50, 'user', case when n = 7 then 'usr_rare' else 'usr_' || n % 300 end,
         case when n = 9 then 'node.convert' else 'allocation.' || n % 20 end, 't', 'success', 'test', 'c' || n
       from generate_series(1, 30000) n`,
    );
    await sql.query('analyze audit_logs');
    await sql.end();
  });
  after(() => drop());

  /** The plan of the list's own query, with its values. */
  const planOf = async (filter: AuditFilter): Promise<string> => {
    let plan = '';
    await database.read(PLATFORM, async (reader) => {
      const explaining: Reader = {
        query: async (text, values) => {
          const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
          plan = rows.map((row) => row['QUERY PLAN']).join('\n');
          return { rows: [], rowCount: 0 };
        },
      };
      await listAuditLogs(explaining, filter, { before_id: undefined, limit: 50 });
    });
    return plan;
  };

  for (const [what, filter, index] of [
    ['actor', { actor_id: 'usr_rare' }, 'audit_logs_by_actor'],
    ['action', { action: 'node.convert' }, 'audit_logs_by_action'],
    ['actor within an organization', { actor_id: 'usr_rare', organization_id: 'org_7' }, 'audit_logs_by_actor'],
  ] as const)
    it(`finds the few rows of an ${what} without reading the others`, async () => {
      const plan = await planOf(filter);
      assert.match(plan, new RegExp(index));
      assert.doesNotMatch(plan, /Seq Scan on audit_logs/);
    });
});
