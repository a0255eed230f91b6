import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { aGrant, aSession } from '../../test/access.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { listGrants } from './access-grant.ts';
import { type Database, PLATFORM, type Reader } from './client.ts';
import { countLiveSessions } from './terminal-session.ts';

describe('the sessions and grants of an allocation that had very many', () => {
  let database: Database;
  let drop: () => Promise<void>;
  let busy: TestAllocation;
  let other: TestAllocation;
  before(async () => {
    const db = await testDatabase();
    drop = db.drop;
    database = db.database;
    const sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    busy = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    other = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    await sql.query("insert into users (id, issuer, subject, name) values ('usr_a', 'i', 's', 'a')");
    const copies = async (table: string, id: string, change: string): Promise<void> => {
      await sql.query(
        `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(s) || jsonb_build_object('id', s.id || n) || ${change})).*
         from ${table} s, generate_series(1, 3000) n where s.id = $1`,
        [id],
      );
      await sql.query(`analyze ${table}`);
    };
    await copies('terminal_sessions', await aSession(sql, busy, { principal_id: 'usr_a' }), "'{}'");
    await aSession(sql, busy, { principal_id: 'usr_a', state: 'open' });
    const revoked = `jsonb_build_object('state', 'revoked', 'revoked_at', now())`;
    await copies('allocation_access_grants', await aGrant(sql, busy, 'usr_a'), revoked);
    await sql.end();
  });
  after(() => drop());

  const planOf = async (ask: (reader: Reader) => Promise<unknown>): Promise<string> => {
    let plan = '';
    await database.read(PLATFORM, async (reader) => {
      const explaining: Reader = {
        query: async (text, values) => {
          const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
          plan = rows.map((row) => row['QUERY PLAN']).join('\n');
          return { rows: [], rowCount: 0 };
        },
      };
      await ask(explaining);
    });
    return plan;
  };

  it('are counted without reading ended ones, because the allocation is locked meanwhile', async () => {
    assert.match(await planOf((reader) => countLiveSessions(reader, busy.id)), /terminal_sessions_unclosed/);
  });

  it('are listed without reading other allocations’ grants', async () => {
    const page = { before: null, limit: 50 };
    assert.match(await planOf((reader) => listGrants(reader, other.id, page)), /access_grants_by_allocation/);
  });
});
