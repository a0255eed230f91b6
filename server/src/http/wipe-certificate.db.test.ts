/** Wipe certificates as a tenant gets and verifies them offline. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { verifyWipeCertificate, type WipeCertificateKey } from '@gpuaas/sdk';
import { startTestApp, testClock } from '../../test/app.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { newReleased } from '../../test/scenarios-wipe.ts';
import { CACHE_OVER_MS, makeTenants, must, type Tenants } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { insertWipeProof } from '../db/statements/prove.ts';

const KEYS = '/api/v1/wipe-certificate-keys';

describe('a wipe certificate', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const clock = testClock();
  let tenants: Tenants;
  let path: string;
  let id: string;
  before(async () => {
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
    const released = await newReleased(tenants);
    id = released.id;
    path = `${released.path}/wipe-certificate`;
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const keys = async (): Promise<WipeCertificateKey[]> => {
    const answer = (await (await fetch(`${tenants.test.app.url}${KEYS}`)).json()) as { items: WipeCertificateKey[] };
    return answer.items;
  };
  const certificate = async () => must(await tenants.acme.owner.get(path), 200).body;

  it('is signed by a publicly readable key, and verifies offline', async () => {
    const signed = await certificate();
    const published = await keys();
    assert.deepEqual(await verifyWipeCertificate(signed, published), { is_valid: true, key: published[0] });
    assert.deepEqual(await certificate(), signed, 'the same every time');
  });

  it('does not verify after any change', async () => {
    const signed = await certificate();
    const published = await keys();
    const [disk] = signed.certificate.disks;
    for (const changed of [
      { ...signed.certificate, issuer: 'https://elsewhere.example' },
      { ...signed.certificate, allocation: { ...signed.certificate.allocation, gpu_count: 8 } },
      { ...signed.certificate, disks: [] },
      { ...signed.certificate, disks: [{ ...disk, bytes_read_back: disk.bytes_read_back + 1 }] },
      { ...signed.certificate, note: 'added' },
    ]) {
      const verdict = await verifyWipeCertificate({ ...signed, certificate: changed }, published);
      assert.equal(verdict.is_valid, false);
    }
    assert.equal((await verifyWipeCertificate(signed, [])).is_valid, false, 'no such key');
    const otherwise = { ...signed.signature, value: '!' };
    assert.equal((await verifyWipeCertificate({ ...signed, signature: otherwise }, published)).is_valid, false);
  });

  it('names the proofs of the disks and nothing about the host', async () => {
    const signed = await certificate();
    const { rows } = await tenants.sql.query(
      `select p.id, encode(p.proof_hash, 'hex') as hash, n.id as node_id, n.name, s.id as slot_id, s.nvme_serial, s.gpu_pci_address,
         s.fabric_vf_pci_address from wipe_proofs p join nodes n on n.id = p.node_id
       join node_resource_slots s on s.id = p.slot_id where p.allocation_id = $1`,
      [id],
    );
    assert.deepEqual(
      signed.certificate.disks.map((disk: { wipe_proof_id: string; proof_hash: string }) => [
        disk.wipe_proof_id,
        disk.proof_hash,
      ]),
      rows.map((row) => [row.id, row.hash]),
    );
    const shown = JSON.stringify(signed);
    for (const row of rows)
      for (const inside of [
        row.node_id,
        row.name,
        row.slot_id,
        row.nvme_serial,
        row.gpu_pci_address,
        row.fabric_vf_pci_address,
      ])
        assert.ok(!shown.includes(inside), inside);
  });

  it('does not exist before its disks are proven wiped, and the refusal states what is pending', async () => {
    const node = await aNode(tenants.sql);
    const { organization_id, project_id } = tenants.acme.ids;
    for (const [state, said] of [
      ['active', /available after the release/],
      ['releasing', /being wiped/],
      ['release_failed', /Release the allocation again/],
      ['failed', /cleaned up/],
    ] as const) {
      const made = await anAllocation(tenants.sql, { node, tenant: { organization_id, project_id }, state });
      const answer = await tenants.acme.owner.get(path.replace(id, made.id));
      assert.equal(answer.status, 409);
      assert.match(answer.body.detail, said);
    }
  });

  it('is not found by another tenant or for another allocation', async () => {
    assert.equal((await tenants.rival.owner.get(path)).status, 404);
    assert.equal((await tenants.acme.owner.get(path.replace(id, `alc_${'0'.repeat(26)}`))).status, 404);
  });

  it('made before a new key signs still verifies, and one by a revoked key does not', async () => {
    const old = await certificate();
    const trust = '/api/v1/admin/trust-keys';
    const because = { reason: 'yearly' };
    const staged = must(await tenants.superadmin.post(trust, { purpose: 'certificate_signer', ...because }), 201).body;
    assert.equal((await keys()).length, 1, 'a staged key has signed nothing');
    await until('the worker has created it', async () => {
      const { state } = must(await tenants.superadmin.get(`${trust}/${staged.id}`), 200).body;
      return state === 'staged';
    });
    clock.advance(CACHE_OVER_MS + 60_000);
    const version = (key: { version: number }) => ({ 'if-match': `"v${key.version}"` });
    must(await tenants.superadmin.post(`${trust}/${staged.id}/activate`, because, version(staged)), 200);
    const fresh = await certificate();
    assert.notEqual(fresh.signature.key_id, old.signature.key_id);
    for (const signed of [old, fresh]) assert.equal((await verifyWipeCertificate(signed, await keys())).is_valid, true);
    const before = must(await tenants.superadmin.get(`${trust}/${old.signature.key_id}`), 200).body;
    must(await tenants.superadmin.post(`${trust}/${before.id}/revoke`, because, version(before)), 200);
    const verdict = await verifyWipeCertificate(old, await keys());
    assert.match(verdict.is_valid ? '' : verdict.reason, /revoked/);
  });

  it('shows the operator the proofs of a slot, newest first', async () => {
    const { rows } = await tenants.sql.query('select node_id, slot_id from wipe_proofs where allocation_id = $1', [id]);
    const list = `/api/v1/admin/nodes/${rows[0].node_id}/resource-slots/${rows[0].slot_id}/wipe-proofs`;
    const { items, next_cursor } = must(await tenants.superadmin.get(list), 200).body;
    assert.deepEqual([items[0].allocation_id, items[0].sequence, next_cursor], [id, 2, null]);
    const verdict = must(await tenants.superadmin.get('/api/v1/admin/wipe-proofs/verify'), 200).body;
    assert.deepEqual([verdict.intact, verdict.findings], [true, []]);
    assert.ok(verdict.proofs >= 1);
  });

  it('shares nothing with the previous certificate, and a guest cannot derive its disk name', async () => {
    const again = await newReleased(tenants);
    const shown = JSON.stringify(
      must(await tenants.acme.owner.get(`${again.path}/wipe-certificate`), 200).body.certificate,
    );
    const { rows } = await tenants.sql.query(
      `select encode(p.previous_hash, 'hex') as previous_hash, s.nvme_serial
       from wipe_proofs p join node_resource_slots s on s.id = p.slot_id where p.allocation_id = $1`,
      [again.id],
    );
    assert.ok(rows.length > 0);
    for (const { previous_hash, nvme_serial } of rows) {
      assert.ok(!shown.includes(previous_hash), 'the certificate before it has this hash');
      const guess = createHash('sha256').update(`${again.id}\n${nvme_serial}`).digest('hex').slice(0, 32);
      assert.ok(!shown.includes(guess), 'a guest reads the serial number');
    }
    assert.ok(!shown.includes('sequence'), 'how often the disk was erased is not shown');
  });

  it('states how the wipe was accepted, and how the last accepted one before was', async () => {
    const outcomes = async (at: string) =>
      must(await tenants.acme.owner.get(at), 200).body.certificate.disks.map(
        ({ outcome, outcome_before }: Record<string, unknown>) => [outcome, outcome_before],
      );
    assert.deepEqual(await outcomes(path), [['verified', 'verified']]);
    const overridden = await newReleased(tenants, async (made) => {
      const claim = 'select node_id, slot_id from allocation_resource_claims where allocation_id = $1';
      const { rows } = await tenants.sql.query<{ node_id: string; slot_id: string }>(claim, [made]);
      for (const method of ['two_person_override', 'nvme_sanitize'])
        for (const slot of rows)
          await tenants.test.db.database.write(PLATFORM, (tx) =>
            insertWipeProof(tx, {
              ...{ ...slot, method, is_verified: false, allocation_id: null, disk_serial: 'S1', evidence: {} },
              ...{ task_id: mintId('tsk'), correlation_id: 'test' },
            }),
          );
    });
    const at = `${overridden.path}/wipe-certificate`;
    assert.deepEqual(await outcomes(at), [['verified', 'overridden']], 'a wipe that failed is none');
  });
});
