/** Wipe proofs and released claims go when no certificate may be asked for any more, and their chains still verify. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, aProof } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { listClaims } from '../db/lifecycle.ts';
import { cutWipeChains } from '../db/statements/cut-wipe-chains.ts';
import { refreshSummary } from '../placement/summary.ts';
import { verifyProofs } from './wipe-verify.ts';

const YEARS = 7;

const world = async (t: TestContext) => {
  // Closed before the database is dropped.
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const slot = node.slot_ids[0] ?? '';
  const asAttacker = async (text: string): Promise<void> => {
    await sql.query('set session_replication_role = replica');
    await sql.query(text);
    await sql.query('set session_replication_role = origin');
  };
  const { rows: serials } = await sql.query<{ serial: string }>(
    'select nvme_serial as serial from node_resource_slots where id = $1',
    [slot],
  );
  /** Later proofs of the first slot; the slot keeps standing on its first. */
  const prove = (allocation_id?: string) =>
    aProof(sql, {
      node_id: node.id,
      slot_id: slot,
      serial: serials[0]?.serial ?? '',
      ...(allocation_id === undefined ? {} : { allocation_id }),
    });
  /** Makes the proof so old and gives it the hash of its new time, with its successors and their audit rows. */
  const rechain = async (ages: ReadonlyMap<string, number>): Promise<void> => {
    for (const [id, years] of ages)
      await asAttacker(`update wipe_proofs set created_at = now() - interval '${years} years' where id = '${id}'`);
    await asAttacker(`do $$ declare p wipe_proofs; begin
      for p in select * from wipe_proofs where target_id = '${slot}' order by sequence loop
        select coalesce((select b.proof_hash from wipe_proofs b where b.target_id = p.target_id and b.sequence = p.sequence - 1), p.previous_hash)
          into p.previous_hash;
        update wipe_proofs set previous_hash = p.previous_hash where id = p.id;
        update wipe_proofs w set proof_hash = wipe_proof_hash(w) where w.id = p.id returning proof_hash into p.proof_hash;
        update audit_logs set created_at = p.created_at, metadata = jsonb_set(metadata, array['wipe_proofs', p.id], to_jsonb(encode(p.proof_hash, 'hex')))
          where metadata -> 'wipe_proofs' ? p.id;
      end loop; end $$`);
  };
  /** An allocation whose only claim was ended by a proof. */
  const released = async () => {
    const made = await anAllocation(sql, { node, gpu_count: 1, state: 'releasing' });
    const proof = await aProof(sql, {
      ...{ node_id: node.id, slot_id: made.slot_ids[0] ?? '', serial: 's', allocation_id: made.id },
    });
    await asAttacker(
      `update allocation_resource_claims set released_at = now(), wipe_proof_id = '${proof}' where allocation_id = '${made.id}';
       update allocations set state = 'released', released_at = now() where id = '${made.id}'`,
    );
    return { id: made.id, proof };
  };
  const sequences = async (): Promise<number[]> =>
    (
      await sql.query<{ sequence: number }>('select sequence from wipe_proofs where target_id = $1 order by sequence', [
        slot,
      ])
    ).rows.map(({ sequence }) => sequence);
  const cut = (limit = 100) => database.write(PLATFORM, (tx) => cutWipeChains(tx, limit, YEARS));
  return { database, sql, node, slot, asAttacker, prove, rechain, released, sequences, cut };
};

test('old proofs are cut from the front of their chain, the rest verifies, and the chain continues', async (t) => {
  const w = await world(t);
  const [a, b] = [await w.prove(), await w.prove()];
  await w.prove();
  await w.rechain(
    new Map([
      [a, 9],
      [b, 8],
    ]),
  );
  assert.equal((await verifyProofs(w.database)).intact, true);
  assert.equal(await w.cut(1), 1, 'in batches');
  assert.equal(await w.cut(), 1);
  assert.equal(await w.cut(), 0);
  // The first proof is the one that the slot stands on: it stays.
  assert.deepEqual(await w.sequences(), [1, 4]);
  const { rows } = await w.sql.query('select sequence from wipe_chain_cuts where target_id = $1 order by sequence', [
    w.slot,
  ]);
  assert.deepEqual(rows, [{ sequence: 2 }, { sequence: 3 }]);
  const verdict = await verifyProofs(w.database);
  assert.deepEqual([verdict.intact, verdict.findings], [true, []]);
  await w.prove();
  assert.deepEqual(await w.sequences(), [1, 4, 5]);
  assert.equal((await verifyProofs(w.database)).intact, true);
  await assertInvariants(w.database);
});

test('a chain whose proofs are all gone continues from its cut', async (t) => {
  const w = await world(t);
  const a = await w.prove();
  await w.rechain(new Map([[a, 8]]));
  await w.cut();
  assert.deepEqual(await w.sequences(), [1]);
  await w.prove();
  assert.deepEqual(await w.sequences(), [1, 3]);
  assert.equal((await verifyProofs(w.database)).intact, true);
});

test('a proof that was removed after the cut, or changed, is found', async (t) => {
  const w = await world(t);
  const old = await w.prove();
  const [b, c] = [await w.prove(), await w.prove()];
  await w.rechain(new Map([[old, 8]]));
  await w.cut();
  await w.asAttacker(`delete from wipe_proofs where id = '${b}'`);
  const kinds = async () =>
    (await verifyProofs(w.database)).findings.map(({ kind, wipe_proof_id }) => [kind, wipe_proof_id]);
  assert.deepEqual(await kinds(), [
    ['deleted', c],
    ['deleted', b],
  ]);
  await w.asAttacker(
    `update wipe_chain_cuts set proof_hash = sha256('x'); update wipe_proofs set sequence = 3 where id = '${c}'`,
  );
  assert.ok((await kinds()).length > 0);
});

test('the claims of an allocation go with its proofs, once all of them are old', async (t) => {
  const w = await world(t);
  const made = await w.released();
  await w.asAttacker(`update wipe_proofs set created_at = now() - interval '8 years' where id = '${made.proof}'`);
  assert.equal(await w.cut(), 0, 'the claims are young');
  await w.asAttacker(
    `update allocation_resource_claims set created_at = now() - interval '9 years', released_at = now() - interval '8 years' where allocation_id = '${made.id}'`,
  );
  assert.equal(await w.cut(), 1);
  assert.deepEqual(await w.database.read(PLATFORM, (reader) => listClaims(reader, [made.id])), []);
  const { rowCount } = await w.sql.query('select from allocations where id = $1', [made.id]);
  assert.equal(rowCount, 1, 'the allocation itself stays');
});

test('neither a young proof nor a claim can be removed, and a cut never changes', async (t) => {
  const w = await world(t);
  const old = await w.prove();
  const made = await w.released();
  await w.rechain(new Map([[old, 8]]));
  await w.cut();
  await assert.rejects(
    w.sql.query('delete from wipe_proofs where id not in (select wipe_proof_id from node_resource_slots)'),
    /append-only|violates foreign key/,
  );
  const young = await w.prove();
  await assert.rejects(w.sql.query('delete from wipe_proofs where id = $1', [young]), /append-only/);
  await assert.rejects(
    w.sql.query('delete from allocation_resource_claims where allocation_id = $1', [made.id]),
    /only ever changes by its release/,
  );
  await assert.rejects(w.sql.query('update wipe_chain_cuts set sequence = 9'), /append-only/);
  await assert.rejects(w.sql.query('delete from wipe_chain_cuts'), /append-only/);
  for (const text of [
    'delete from wipe_proofs',
    'delete from allocation_resource_claims',
    "insert into wipe_chain_cuts (target_id, sequence, proof_hash, last_proof_at) values ('x', 1, sha256('x'), now())",
  ])
    await assert.rejects(
      w.database.write(PLATFORM, (tx) => tx.query(text)),
      /permission denied/,
    );
  await assert.rejects(
    w.database.write(PLATFORM, (tx) => cutWipeChains(tx, 1, 0)),
    (err: Error) => /a year at least/.test(`${err.message} ${String(err.cause)}`),
  );
});
