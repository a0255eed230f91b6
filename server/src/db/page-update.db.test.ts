/** What changes all the time is in no index, so a change stays on its page and rewrites no index entry. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { rawPlacement } from '../../test/raw-placement.ts';

type Counts = Readonly<{ updated: number; on_page: number }>;

test('a slot changes its status, and an agent its last poll, without an index', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
  const nodeId = await raw.node();
  const slotId = await raw.slot(nodeId);
  const sql = raw.owner;
  const count = async (table: string): Promise<Counts> =>
    (
      await sql.query<Counts>(
        `select n_tup_upd::integer as updated, n_tup_hot_upd::integer as on_page from pg_stat_xact_user_tables
         where relname = $1`,
        [table],
      )
    ).rows[0] ?? { updated: 0, on_page: 0 };
  // What a claim refers to is a key.
  await sql.query("update node_resource_slots set status = 'reserved' where id = $1", [slotId]);
  await sql.query(
    `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
     values ($1, now(), '1', 'boot', now(), '{}')`,
    [nodeId],
  );
  await sql.query('begin');
  // Statistics of statements before the transaction may not be flushed yet.
  const before = { slots: await count('node_resource_slots'), agents: await count('node_agents') };
  const since = (start: Counts, now: Counts): Counts => ({
    updated: now.updated - start.updated,
    on_page: now.on_page - start.on_page,
  });
  for (const status of ['in_use', 'cleaning', 'cleanup_blocked', 'quarantined'])
    await sql.query('update node_resource_slots set status = $2, status_since = clock_timestamp() where id = $1', [
      slotId,
      status,
    ]);
  for (let polls = 0; polls < 3; polls++)
    await sql.query('update node_agents set last_seen_at = clock_timestamp() where node_id = $1', [nodeId]);
  assert.deepEqual(since(before.slots, await count('node_resource_slots')), { updated: 4, on_page: 4 });
  assert.deepEqual(since(before.agents, await count('node_agents')), { updated: 3, on_page: 3 });
  await sql.query('rollback');
});
