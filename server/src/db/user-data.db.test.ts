import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, aProof } from '../../test/placement.ts';
import { PLATFORM } from './client.ts';
import { deleteEndedUserData, removeUserData } from './statements/remove-user-data.ts';
import { findUserData, putUserData } from './user-data.ts';

const SECRET = Buffer.from('\x00\x01 sealed user data');

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  /** An allocation with user data and the tasks that started its VM, one of each state. */
  const started = async (states: readonly string[], state: 'active' | 'failed' = 'active'): Promise<string> => {
    const { id, organization_id, project_id } = await anAllocation(sql, { node, state });
    await database.write(PLATFORM, (tx) =>
      putUserData(tx, { allocation_id: id, organization_id, project_id, sealed_user_data: SECRET }),
    );
    for (const [index, ended] of states.entries())
      await sql.query(
        `insert into node_tasks (id, node_id, allocation_id, kind, params, attempt, state, correlation_id, expires_at, sealed_user_data)
         values ($1, $2, $3, 'slice.vm_start', $4, $5, $6, 'c', now() + interval '1 hour', $7)`,
        [mintId('tsk'), node.id, id, JSON.stringify({ user_data: null, install: 0 }), index + 1, ended, SECRET],
      );
    return id;
  };
  const carriers = async (id: string) =>
    (
      await sql.query<{ state: string }>(
        'select state from node_tasks where allocation_id = $1 and sealed_user_data is not null order by attempt',
        [id],
      )
    ).rows.map(({ state }) => state);
  return { database, sql, started, carriers };
};

test('removing user data deletes it from the tasks that carried it, and from no other tasks', async (t) => {
  const w = await world(t);
  const [taken, kept] = [await w.started(['completed', 'failed', 'expired']), await w.started(['completed'])];
  await w.database.write(PLATFORM, (tx) => removeUserData(tx, taken));
  const find = (id: string) => w.database.read(PLATFORM, (reader) => findUserData(reader, id));
  assert.deepEqual([await find(taken), await w.carriers(taken)], [null, []]);
  assert.deepEqual([await find(kept), await w.carriers(kept)], [SECRET, ['completed']]);
  const { rows } = await w.sql.query('select params from node_tasks where allocation_id = $1 limit 1', [taken]);
  assert.deepEqual(rows[0]?.params, { user_data: null, install: 0 }, 'the rest of the task stands');
});

test('a task already sent to a host does not change', async (t) => {
  const w = await world(t);
  const id = await w.started(['completed', 'running']);
  await w.database.write(PLATFORM, (tx) => removeUserData(tx, id));
  assert.deepEqual(await w.carriers(id), ['running']);
});

test('user data is deleted when its allocation ends and is wiped, including from its tasks', async (t) => {
  const w = await world(t);
  const id = await w.started(['completed', 'failed'], 'failed');
  assert.equal(await w.database.write(PLATFORM, (tx) => deleteEndedUserData(tx, 10)), 0, 'its slots are still claimed');
  const { rows } = await w.sql.query<{ node_id: string; slot_id: string; serial: string }>(
    `select c.node_id, c.slot_id, s.nvme_serial as serial from allocation_resource_claims c
     join node_resource_slots s on s.id = c.slot_id where c.allocation_id = $1`,
    [id],
  );
  for (const claimed of rows)
    await w.sql.query(
      'update allocation_resource_claims set released_at = clock_timestamp(), wipe_proof_id = $2 where slot_id = $1',
      [claimed.slot_id, await aProof(w.sql, { ...claimed, allocation_id: id })],
    );
  assert.equal(await w.database.write(PLATFORM, (tx) => deleteEndedUserData(tx, 10)), 1);
  assert.deepEqual(await w.carriers(id), []);
});
