import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { findHeldNode } from '../db/lifecycle.ts';
import { refreshSummary } from '../placement/summary.ts';
import { adoptHostGenerations } from './adopt-generation.ts';

test('disks of a whole node use the claim time as generation, until an operator adopts the host’s', async (t) => {
  const clients: Client[] = [];
  t.after(() => Promise.all(clients.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  clients.push(sql);
  const node = await aNode(sql);
  const made = await anAllocation(sql, { node, shape: 'baremetal', state: 'releasing' });
  const slice = await anAllocation(sql, { node: await aNode(sql), state: 'releasing' });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const stay = { allocation_id: made.id, node_id: node.id, move_id: null };
  const generation = async () =>
    (await database.read(PLATFORM, (reader) => findHeldNode(reader, stay)))?.generation ?? assert.fail('not held');
  const { rows: claims } = await sql.query<{ at: number }>(
    'select floor(extract(epoch from created_at))::integer as at from allocation_resource_claims where allocation_id = $1',
    [made.id],
  );
  assert.deepEqual(
    [await generation()],
    claims.map(({ at }) => at),
  );
  await database.write(PLATFORM, (tx) => adoptHostGenerations(tx, stay, []));
  const { rows } = await sql.query('select floor(extract(epoch from clock_timestamp()))::integer as now');
  assert.ok(Math.abs((await generation()) - rows[0].now) < 3600, 'later than any claim that the host has seen');
  const { rows: held } = await sql.query('select node_id from allocation_resource_claims where allocation_id = $1', [
    slice.id,
  ]);
  const ofSlots = { allocation_id: slice.id, node_id: held[0].node_id, move_id: null };
  await assert.rejects(
    database.write(PLATFORM, (tx) => adoptHostGenerations(tx, ofSlots, [])),
    /has not reported a newer generation/,
  );
});
