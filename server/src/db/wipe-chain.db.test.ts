/** Proofs from before the chain existed, when the schema adds it. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { emptyDatabase } from '../../test/database.ts';
import { type ChainedProof, chainGenesis, proofHash } from '../domain/wipe-chain.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS_DIR, readMigrations } from './migration-file.ts';

const log = silentLog();
const CHAINING = '0012_wipe_chain.sql';

test('existing proofs are chained in the order in which they were written', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-migrations-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (const { name } of await readMigrations())
    if (name < CHAINING) await copyFile(join(MIGRATIONS_DIR, name), join(dir, name));
  const url = await emptyDatabase(t);
  await migrate({ url, log, dir });
  const sql = new Client({ connectionString: url });
  await sql.connect();
  // Without their hosts, slots and allocations.
  await sql.query("set session_replication_role = 'replica'");
  for (const [id, slot, minute] of [
    ['wpf_c', 'slt_a', 3],
    ['wpf_a', 'slt_a', 1],
    ['wpf_d', null, 2],
    ['wpf_b', 'slt_a', 2],
  ])
    await sql.query(
      `insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id, created_at)
       values ($1, 'nod_a', $2, 'alc_a', 'tsk_a', 'nvme_sanitize', true, '{"serial": "S1"}', 'cor_a', $3)`,
      [id, slot, `2026-01-01T00:0${minute}:00Z`],
    );
  await sql.end();
  await copyFile(join(MIGRATIONS_DIR, CHAINING), join(dir, CHAINING));
  assert.deepEqual(await migrate({ url, log, dir }), [CHAINING]);

  const reading = new Client({ connectionString: url });
  await reading.connect();
  const { rows: proofs } = await reading.query<ChainedProof>(
    `select p.id, p.target_id, p.sequence, encode(p.previous_hash, 'hex') as previous_hash, encode(p.proof_hash, 'hex') as proof_hash,
       p.node_id, p.slot_id, p.allocation_id, p.task_id, p.method, p.is_verified::text as is_verified, p.evidence::text as evidence_text,
       p.disk_serial, p.correlation_id, to_char(p.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_us
     from wipe_proofs p order by p.target_id, p.sequence`,
  );
  await reading.end();
  assert.deepEqual(
    proofs.map(({ target_id, sequence, id }) => [target_id, sequence, id]),
    [
      ['nod_a', 1, 'wpf_d'],
      ['slt_a', 1, 'wpf_a'],
      ['slt_a', 2, 'wpf_b'],
      ['slt_a', 3, 'wpf_c'],
    ],
  );
  for (const [index, proof] of proofs.entries()) {
    assert.equal(
      proof.previous_hash,
      proof.sequence === 1 ? chainGenesis(proof.target_id) : proofs[index - 1]?.proof_hash,
    );
    assert.equal(proof.proof_hash, proofHash(proof));
  }
});
