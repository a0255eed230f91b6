/** A wipe certificate with a real signature, by a key generated here for the tests. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { Operations, SignedWipeCertificate, WipeProof } from '@gpuaas/sdk';
import { canonicalJson } from '../../sdk/src/wipe-certificate.ts';
import { allocation } from './fixtures-allocation.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
});
const public_key_pem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
const hash = (letter: string): string => letter.repeat(64);

const disk = (n: number): SignedWipeCertificate['certificate']['disks'][number] => ({
  disk: String(n).repeat(32),
  outcome: 'verified',
  outcome_before: n === 1 ? 'verified' : 'overridden',
  size_bytes: 3_840_755_982_336,
  method: 'nvme_sanitize',
  level: 'purge',
  erase: 'crypto',
  command_status: 0,
  rule: 'changed',
  bytes_read_back: 35_651_584,
  bytes_not_erased: 0,
  samples: [
    { offset: 0, length: 16_777_216, sha256: null },
    { offset: 20_480, length: 65_536, sha256: null },
  ],
  attempt: 1,
  started_at: '2026-11-15T12:00:05.000Z',
  finished_at: '2026-11-15T12:00:25.000Z',
  proven_at: '2026-11-15T12:00:30.000Z',
  gpu_reset: { method: 'bus', functions: 1, is_ok: true },
  fabric_function: { method: 'flr', is_cleared: true },
  wipe_proof_id: id('wpf', `${n}a`),
  proof_hash: hash('d'),
});

const certificate: SignedWipeCertificate['certificate'] = {
  format: 'gpuaas wipe certificate v1',
  issuer: 'https://gpuaas.example.org',
  allocation: {
    id: allocation.id,
    name: allocation.name,
    project_id: allocation.project_id,
    organization_id: id('org', '1a'),
    capacity_shape: 'gpu_slice',
    sku_name: allocation.sku_name,
    region_name: allocation.region_name,
    gpu_count: 2,
    activated_at: '2026-11-15T10:04:02.000Z',
    release_requested_at: '2026-11-15T12:00:00.000Z',
    released_at: '2026-11-15T12:00:30.000Z',
  },
  wipe_minimum: 'purge',
  disks: [disk(1), { ...disk(2), rule: 'blank', erase: 'block', gpu_reset: null, fabric_function: null }],
  unwiped_disks: null,
  isolation: {
    is_port_removed: true,
    is_reservation_removed: true,
    is_lease_removed: true,
    is_translation_removed: true,
    is_vm_removed: true,
    is_seed_removed: true,
    partitions_deactivated: 1,
  },
};

export const signed: SignedWipeCertificate = {
  certificate,
  signature: {
    key_id: id('tky', '9c'),
    algorithm: 'Ed25519',
    value: sign(null, Buffer.from(`${certificate.format}\n${canonicalJson(certificate)}`), privateKey).toString(
      'base64',
    ),
  },
};

export const keys: Operations['wipeCertificateKeyList']['response'] = {
  items: [
    {
      key_id: signed.signature.key_id,
      state: 'active',
      public_key_pem,
      fingerprint_sha256: hash('e'),
      created_at: '2026-11-01T00:00:00.000Z',
    },
  ],
  next_cursor: null,
};

const proof: WipeProof = {
  id: id('wpf', '1a'),
  node_id: id('nod', '1a'),
  slot_id: id('slt', '1a'),
  allocation_id: allocation.id,
  disk_serial: null,
  task_id: id('tsk', '1a'),
  method: 'nvme_sanitize',
  outcome: 'verified' as const,
  evidence: { reason: null },
  correlation_id: 'corr-2',
  sequence: 41,
  previous_hash: hash('c'),
  proof_hash: hash('d'),
  created_at: '2026-11-15T12:00:30.000Z',
};

export const certificateAnswers = {
  allocationWipeCertificateGet: signed,
  wipeCertificateKeyList: keys,
  adminNodeSlotProofList: {
    items: [
      proof,
      {
        ...proof,
        id: id('wpf', '0b'),
        sequence: 40,
        outcome: 'failed' as const,
        evidence: { reason: 'The disk read-back found data.' },
      },
    ],
    next_cursor: null,
  },
  adminWipeProofVerify: {
    intact: true,
    checked_at: '2026-11-15T13:00:00.000Z',
    proofs: 4_120,
    chains: 80,
    findings: [],
  } satisfies Operations['adminWipeProofVerify']['response'] as Operations['adminWipeProofVerify']['response'],
};
