import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { countUnseenNodes } from '../db/node-agent.ts';
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

describe('many silent agents at once', () => {
  const fleet = async (t: TestContext) => {
    const open: Client[] = [];
    t.after(() => Promise.all(open.map((client) => client.end())));
    const { database, ownerUrl } = await testDatabase(t);
    const sql = new Client({ connectionString: ownerUrl });
    await sql.connect();
    open.push(sql);
    const ids: string[] = [];
    for (let count = 0; count < 20; count++) ids.push((await aNode(sql, { slots: false })).id);
    await sql.query(
      `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
       select id, clock_timestamp(), '0.1.0', 'b', now(), '{}' from nodes`,
    );
    for (const id of ids) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    return {
      database,
      silence: (count: number) =>
        sql.query(
          "update node_agents set last_seen_at = clock_timestamp() - interval '26 s' where node_id = any ($1)",
          [ids.slice(0, count)],
        ),
      allSeen: () => sql.query('update node_agents set last_seen_at = clock_timestamp()'),
      offline: async () => (await sql.query("select count(*)::int from nodes where state = 'offline'")).rows[0].count,
      breaker: async () => (await sql.query('select is_tripped, reason from health_breaker')).rows[0],
      reset: () =>
        sql.query("update health_breaker set is_tripped = false, reset_at = clock_timestamp(), reset_by = 'u'"),
      unseen: () => database.read(PLATFORM, (reader) => countUnseenNodes(reader, 10)),
    };
  };

  it('without any heartbeat no node is moved and no breaker trips: the node API is away', async (t) => {
    const { database, silence, offline, breaker, unseen, allSeen } = await fleet(t);
    await silence(20);
    assert.equal(await markOffline({ database }), 0);
    assert.deepEqual([await offline(), (await breaker()).is_tripped, (await unseen()).unseen], [0, false, 20]);
    await allSeen();
    await silence(1);
    assert.deepEqual([await markOffline({ database }), await offline()], [1, 1], 'one of 20 is that host');
  });

  it('a tenth of the fleet trips the circuit breaker before any is moved; after a reset they are', async (t) => {
    const { database, silence, offline, breaker, reset, unseen } = await fleet(t);
    await silence(19);
    assert.equal(await markOffline({ database }), 0);
    assert.deepEqual(await breaker(), { is_tripped: true, reason: '19 of 20 hosts sent no heartbeat for 25 seconds.' });
    assert.deepEqual([await markOffline({ database }), await offline(), (await unseen()).unseen], [0, 0, 19]);
    await reset();
    assert.deepEqual([await markOffline({ database }), await offline(), (await unseen()).unseen], [19, 19, 0]);
    assert.equal((await breaker()).is_tripped, false);
  });

  it('one after another they are counted together, and those that return become active under a tripped breaker', async (t) => {
    const { database, silence, offline, breaker, allSeen } = await fleet(t);
    await silence(4);
    assert.equal(await markOffline({ database }), 4);
    await silence(5);
    assert.equal(await markOffline({ database }), 0);
    assert.match((await breaker()).reason, /^5 of 20/);
    await allSeen();
    assert.deepEqual([await markOffline({ database }), await offline()], [4, 0]);
  });
});
