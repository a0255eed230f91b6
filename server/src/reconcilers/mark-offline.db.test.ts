import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { markOffline } from './mark-offline.ts';

describe('nodes with disconnected agents', () => {
  let db: TestDatabase;
  let sql: Client;
  before(async () => {
    db = await testDatabase();
    sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    await assertInvariants(db.database);
    await sql.end();
    await db.drop();
  });

  const newNode = async (seenAgo: string | null): Promise<string> => {
    const { id } = await aNode(sql);
    if (seenAgo !== null)
      await sql.query(
        `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
         values ($1, clock_timestamp() - $2::interval, '0.1.0', 'b', now(), '{}')`,
        [id, seenAgo],
      );
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    return id;
  };
  const stateOf = async (id: string) =>
    (
      await sql.query(
        `select n.state, s.is_schedulable, (select count(*)::int from outbox_events e where e.subject = n.id
           and e.event_type = 'node.changed') as events
         from nodes n join node_placement_summary s on s.node_id = n.id where n.id = $1`,
        [id],
      )
    ).rows[0];
  const seen = (id: string, ago: string) =>
    sql.query('update node_agents set last_seen_at = clock_timestamp() - $2::interval where node_id = $1', [id, ago]);

  it('become offline after 25 seconds, accept no launches then, and return when seen', async () => {
    const id = await newNode('24 s');
    await markOffline(db);
    assert.deepEqual(await stateOf(id), { state: 'active', is_schedulable: true, events: 0 });
    await seen(id, '26 s');
    await markOffline(db);
    assert.deepEqual(await stateOf(id), { state: 'offline', is_schedulable: false, events: 1 });
    await markOffline(db);
    assert.equal((await stateOf(id)).events, 1, 'told once');
    await seen(id, '1 s');
    await markOffline(db);
    assert.deepEqual(await stateOf(id), { state: 'active', is_schedulable: true, events: 2 });
  });

  it('keep their tasks and claims', async () => {
    const id = await newNode('60 s');
    const task = `tsk_${'1'.repeat(26)}`;
    await sql.query(
      `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at)
       values ($1, $2, 'image.evict', '{}', 'running', 'c', now() + interval '1 hour')`,
      [task, id],
    );
    await markOffline(db);
    assert.equal((await stateOf(id)).state, 'offline');
    assert.equal((await sql.query('select state from node_tasks where id = $1', [task])).rows[0].state, 'running');
  });

  it('are unchanged when they never had an agent, or an operator moved them', async () => {
    const [bare, draining] = [await newNode(null), await newNode('60 s')];
    await sql.query("update nodes set state = 'draining' where id = $1", [draining]);
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, draining));
    await markOffline(db);
    assert.equal((await stateOf(bare)).state, 'active');
    assert.equal((await stateOf(draining)).state, 'draining');
  });
});
