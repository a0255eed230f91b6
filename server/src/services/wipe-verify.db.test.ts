/** The chains of wipe proofs as the database writes them, and the findings after tampering. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { findViolations } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { cleanedUp, gpuReset, isolated, provenDisk } from '../../test/wipe-evidence.ts';
import { PLATFORM } from '../db/client.ts';
import { listHeldSlots } from '../db/lifecycle.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { listChainedProofs } from '../db/wipe-proof.ts';
import { judgeWipe } from '../domain/wipe.ts';
import { chainGenesis, proofHash } from '../domain/wipe-chain.ts';
import { refreshSummary } from '../placement/summary.ts';
import { proveCleanup } from '../workflows/prove-cleanup.ts';
import { verifyProofs } from './wipe-verify.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  // Without the first wipes, so that the chains contain only the proofs of these tests.
  await sql.query("set session_replication_role = 'replica'");
  await sql.query("delete from wipe_proofs; delete from audit_logs where action = 'wipe_proof.record'");
  await sql.query("set session_replication_role = 'origin'");
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const prove = (made: TestAllocation) =>
    database.write(PLATFORM, async (tx) => {
      const targets = (await listHeldSlots(tx, { allocation_id: made.id, node_id: node.id })).map(
        ({ id, nvme_serial, ...slot }) => ({
          ...slot,
          slot_id: id,
          serial: nvme_serial,
          size_bytes: slot.nvme_size_bytes,
        }),
      );
      const disks = targets.map((target) => ({
        ...provenDisk(target),
        note: 'ümlaut, "quotes" and \\ in the evidence',
      }));
      const gpu_resets = targets.map(({ gpu_pci_address }) => gpuReset(gpu_pci_address));
      const verdict = judgeWipe(
        cleanedUp(disks, { gpu_resets, isolation: isolated(targets.map((one) => one.fabric_vf_pci_address ?? '')) }),
        targets,
        { minimum: 'clear', created_at: new Date().toISOString() },
      );
      const stay = { allocation_id: made.id, node_id: node.id, move_id: null };
      await proveCleanup(tx, stay, { task_id: `tsk_${made.id}`, node_id: node.id, verdict, may_try_again: false });
    });
  /** Three proofs of the first slot: an unverified one, and those of two tenants. */
  const tenant = async () => {
    const made = await anAllocation(sql, { node, gpu_count: 1, state: 'releasing' });
    await prove(made);
    return made;
  };
  const first = await tenant();
  await database.write(PLATFORM, (tx) =>
    insertWipeProof(tx, {
      node_id: node.id,
      slot_id: first.slot_ids[0] ?? '',
      allocation_id: null,
      disk_serial: 'S1',
      task_id: 'tsk_repair',
      method: 'blkdiscard',
      is_verified: false,
      evidence: {},
      correlation_id: 'cor_repair',
    }),
  );
  await tenant();
  /** As an owner of the tables could. */
  const tamper = async (statement: string, ...values: unknown[]): Promise<void> => {
    await sql.query("set session_replication_role = 'replica'");
    await sql.query(statement, values);
    await sql.query("set session_replication_role = 'origin'");
  };
  const slot_id = first.slot_ids[0] ?? '';
  return { database, sql, node, slot_id, tamper };
};

const kindsOf = async ({ database }: Awaited<ReturnType<typeof world>>) =>
  (await verifyProofs(database)).findings.map(({ kind, sequence }) => [kind, sequence]);

test('the database gives every proof its position and the hash that the server computes', async (t) => {
  const { database, slot_id } = await world(t);
  const proofs = await database.read(PLATFORM, (reader) =>
    listChainedProofs(reader, { target_id: '', sequence: 0 }, 100),
  );
  const own = proofs.filter((proof) => proof.target_id === slot_id);
  assert.deepEqual(
    own.map((proof) => proof.sequence),
    [1, 2, 3],
  );
  assert.equal(own[0]?.previous_hash, chainGenesis(slot_id));
  assert.equal(own[1]?.previous_hash, own[0]?.proof_hash);
  for (const proof of proofs) {
    assert.equal(proofHash(proof), proof.proof_hash);
    assert.deepEqual(proof.audited_hashes, [proof.proof_hash], 'an audit row records it');
  }
  assert.deepEqual(await verifyProofs(database), { intact: true, proofs: 3, chains: 1, findings: [] });
});

test('proofs of one slot written simultaneously are chained one after the other', async (t) => {
  const { database, node, slot_id } = await world(t);
  const insert = (n: number) =>
    database.write(PLATFORM, (tx) =>
      insertWipeProof(tx, {
        node_id: node.id,
        slot_id,
        allocation_id: null,
        disk_serial: 'S1',
        task_id: `tsk_${n}`,
        method: 'blkdiscard',
        is_verified: false,
        evidence: {},
        correlation_id: `cor_${n}`,
      }),
    );
  await Promise.all([1, 2, 3, 4, 5, 6].map(insert));
  assert.deepEqual(await verifyProofs(database), { intact: true, proofs: 9, chains: 1, findings: [] });
});

test('an edited proof is found, by the check and by the invariant', async (t) => {
  const w = await world(t);
  await w.tamper(
    'update wipe_proofs set evidence = evidence || \'{"bytes_read_back": 1}\' where target_id = $1 and sequence = 3',
    w.slot_id,
  );
  assert.deepEqual(await kindsOf(w), [['edited', 3]]);
  const broken = await findViolations(w.database);
  assert.equal(broken.filter(({ invariant }) => invariant === 'proof_is_in_its_chain').length, 1);
});

test('a proof whose time was changed is found, to the microsecond', async (t) => {
  const w = await world(t);
  await w.tamper(
    "update wipe_proofs set created_at = created_at + interval '1 microsecond' where target_id = $1 and sequence = 2",
    w.slot_id,
  );
  assert.deepEqual(await kindsOf(w), [['edited', 2]]);
});

test('a proof rewritten with its hash is found by the next proof and by the audit log', async (t) => {
  const w = await world(t);
  await w.tamper("update wipe_proofs set method = 'nvme_sanitize' where target_id = $1 and sequence = 2", w.slot_id);
  await w.tamper(
    'update wipe_proofs p set proof_hash = wipe_proof_hash(p) where target_id = $1 and sequence = 2',
    w.slot_id,
  );
  assert.deepEqual(await kindsOf(w), [
    ['edited', 2],
    ['reordered', 3],
  ]);
});

test('a deleted proof is found, in the middle and at the end', async (t) => {
  const w = await world(t);
  await w.tamper('delete from wipe_proofs where target_id = $1 and sequence = 2', w.slot_id);
  assert.deepEqual(await kindsOf(w), [
    ['deleted', 3],
    ['deleted', null],
  ]);
  const end = await world(t);
  await end.tamper('delete from wipe_proofs where target_id = $1 and sequence = 3', end.slot_id);
  assert.deepEqual(await kindsOf(end), [['deleted', null]], 'the audit row still records it');
});

test('swapped proofs are found', async (t) => {
  const w = await world(t);
  for (const [from, to] of [
    [2, 9],
    [3, 2],
    [9, 3],
  ])
    await w.tamper('update wipe_proofs set sequence = $3 where target_id = $1 and sequence = $2', w.slot_id, from, to);
  assert.ok((await kindsOf(w)).length >= 2);
});

test('a proof inserted past the control plane is chained and found by its missing audit row', async (t) => {
  const w = await world(t);
  await w.sql.query(
    `insert into wipe_proofs (id, node_id, slot_id, disk_serial, task_id, method, is_verified, evidence, correlation_id)
     values ('wpf_forged', $1, $2, 'S1', 'tsk_none', 'nvme_sanitize', true, '{}', 'cor_forged')`,
    [w.node.id, w.slot_id],
  );
  assert.deepEqual(await kindsOf(w), [['unaudited', 4]]);
});

/** The last proof, rewritten together with its hash: the chain stays consistent. */
const rewrite = async (w: Awaited<ReturnType<typeof world>>, change: string): Promise<void> => {
  await w.tamper(`update wipe_proofs set ${change} where target_id = $1 and sequence = 3`, w.slot_id);
  await w.tamper(
    'update wipe_proofs p set proof_hash = wipe_proof_hash(p) where target_id = $1 and sequence = 3',
    w.slot_id,
  );
};

/** An audit row that matches the current proof, written as the control plane does. */
const forgeAudit = (w: Awaited<ReturnType<typeof world>>, action: string) =>
  w.sql.query(
    `insert into audit_logs (id, actor_kind, action, result, policy, correlation_id, metadata)
     select 'aud_00000000000000000000000000', 'system', $2, 'success', 'workflow', p.correlation_id,
       jsonb_build_object('wipe_proofs', jsonb_build_object(p.id, encode(p.proof_hash, 'hex')))
     from wipe_proofs p where p.target_id = $1 and p.sequence = 3`,
    [w.slot_id, action],
  );

for (const action of ['wipe_proof.record', 'allocation.prove_cleanup', 'node.update'])
  test(`a rewritten proof is found although a matching audit row of ${action} was added`, async (t) => {
    const w = await world(t);
    await rewrite(w, "method = 'blkdiscard'");
    await forgeAudit(w, action);
    assert.deepEqual(await kindsOf(w), [['edited', 3]]);
  });

test('an audit row of another action does not confirm a proof', async (t) => {
  const w = await world(t);
  await rewrite(w, "method = 'blkdiscard'");
  await forgeAudit(w, 'node.update');
  await w.tamper("delete from audit_logs where action = 'allocation.prove_cleanup'");
  assert.deepEqual(
    (await kindsOf(w)).filter(([, sequence]) => sequence === 3),
    [['unaudited', 3]],
  );
});

test('a proof rewritten to match a new audit row is found by the old one', async (t) => {
  const w = await world(t);
  await rewrite(w, "correlation_id = 'cor_other'");
  await forgeAudit(w, 'wipe_proof.record');
  assert.deepEqual(await kindsOf(w), [['edited', null]]);
});
