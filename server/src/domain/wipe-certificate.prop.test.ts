import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type CertifiedProof,
  canonicalJson,
  certificateBytes,
  certificateOf,
  diskFingerprint,
} from './wipe-certificate.ts';

const allocation = {
  id: 'alc_1',
  name: 'a',
  project_id: 'prj_1',
  organization_id: 'org_1',
  capacity_shape: 'gpu_slice',
  sku_name: 'h200-sxm-slice',
  region_name: 'us-buffalo-1',
  gpu_count: 1,
  activated_at: null,
  release_requested_at: '2026-01-01T00:00:00.000Z',
  released_at: '2026-01-01T00:01:00.000Z',
} as const;

const SECRET = ['SERIAL-1', '0000:1b:00.0', 'slt_secret', 'nod_secret'] as const;
const evidence = {
  serial: SECRET[0],
  slot_id: SECRET[2],
  node_id: SECRET[3],
  major_minor: '259:1',
  size_bytes: 1024,
  generation: 3,
  attempt: 1,
  method: 'nvme_format',
  level: 'purge',
  erase: 'crypto',
  command_status: 0,
  rule: 'changed',
  bytes_read_back: 512,
  bytes_not_erased: 0,
  samples: [{ offset: 0, length: 512, sha256: 'ab' }, 'nonsense', {}],
  started_at: '2026-01-01T00:00:30.000Z',
  finished_at: '2026-01-01T00:00:50.000Z',
  wipe_minimum: 'purge',
  gpu_reset: { gpu_pci_address: SECRET[1], method: 'bus', scope: [SECRET[1]], is_ok: true },
  fabric_function: { fabric_vf_pci_address: SECRET[1], method: 'flr', is_cleared: true },
  isolation: {
    network: {
      is_port_removed: true,
      is_reservation_removed: true,
      is_lease_removed: true,
      is_translation_removed: true,
    },
    is_vm_removed: true,
    is_seed_removed: true,
    partitions: [{ partition_id: 3, is_deactivated: true }, { partition_id: 4, is_deactivated: false }, 7],
  },
};
const proofOf = (told: Readonly<Record<string, unknown>>, method = 'nvme_format'): CertifiedProof => ({
  id: 'wpf_1',
  outcome: method === 'two_person_override' ? 'overridden' : 'verified',
  outcome_before: null,
  method,
  evidence: told,
  proof_hash: 'h',
  created_at: '2026-01-01T00:01:00.000Z',
});
const disk_key = Buffer.alloc(32, 1);
const certify = (...proofs: readonly CertifiedProof[]) =>
  certificateOf({ issuer: 'https://gpuaas.test', allocation, disk_key, proofs });

test('a certificate states what was done to each disk, and names no host, slot, address or serial number', () => {
  const certificate = certify(proofOf(evidence), proofOf({ reason: null }, 'every disk'));
  const [disk] = certificate.disks;
  assert.equal(certificate.disks.length, 1, 'the proof of the whole is about no disk');
  assert.deepEqual(
    [disk?.level, disk?.erase, disk?.rule, disk?.samples.length, disk?.gpu_reset, disk?.fabric_function],
    [
      'purge',
      'crypto',
      'changed',
      2,
      { method: 'bus', functions: 1, is_ok: true },
      { method: 'flr', is_cleared: true },
    ],
  );
  assert.deepEqual([certificate.wipe_minimum, certificate.isolation?.partitions_deactivated], ['purge', 1]);
  assert.equal(disk?.disk, diskFingerprint(disk_key, 'alc_1', SECRET[0]));
  const shown = JSON.stringify(certificate);
  for (const secret of SECRET) assert.ok(!shown.includes(secret), secret);
});

test('a proof of an earlier build counts under its original names', () => {
  const { is_vm_removed: _, ...isolation } = evidence.isolation;
  const of = (is_machine_removed: boolean) =>
    certify(proofOf({ ...evidence, isolation: { ...isolation, is_machine_removed } })).isolation?.is_vm_removed;
  assert.deepEqual([of(true), of(false)], [true, false]);
});

test('facts that a host did not report are shown as not reported', () => {
  const certificate = certify(proofOf({ serial: 'S1', isolation: 'gone', samples: 'many' }, 'two_person_override'));
  const [disk] = certificate.disks;
  assert.deepEqual(
    [disk?.level, disk?.erase, disk?.size_bytes, disk?.gpu_reset, disk?.fabric_function, certificate.isolation],
    [null, null, null, null, null, null],
  );
  assert.deepEqual([disk?.samples, certificate.wipe_minimum, disk?.finished_at], [[], null, disk?.proven_at]);
  const vague = certify(proofOf({ serial: 'S1', gpu_reset: {}, fabric_function: {}, isolation: {} }));
  assert.deepEqual(vague.disks[0]?.gpu_reset, { method: 'none', functions: 0, is_ok: false });
  assert.deepEqual(vague.disks[0]?.fabric_function, { method: 'none', is_cleared: false });
  assert.equal(vague.isolation?.is_port_removed, false, 'silence is no removal');
  assert.deepEqual(certify().disks, []);
  const whole = { ...allocation, capacity_shape: 'baremetal' } as const;
  const ofNode = certificateOf({
    issuer: 'https://gpuaas.test',
    allocation: whole,
    disk_key,
    proofs: [proofOf(evidence)],
  });
  assert.equal(ofNode.isolation, null, 'a whole node had no machine on it');
});

test('a certificate counts the disks of a whole node that were not wiped, and names none', () => {
  const of = (unwiped_disks: unknown) =>
    certify(proofOf(evidence), proofOf({ reason: null, unwiped_disks }, 'every disk'));
  assert.equal(of(['SERIAL-9', null]).unwiped_disks, 2);
  assert.ok(!JSON.stringify(of(['SERIAL-9'])).includes('SERIAL-9'));
  assert.equal(of([]).unwiped_disks, 0);
  assert.deepEqual([of(undefined).unwiped_disks, certify(proofOf(evidence)).unwiped_disks], [null, null], 'not stated');
  assert.notDeepEqual(certificateBytes(of([])), certificateBytes(of(['SERIAL-9'])), 'it is signed');
});

test('a serial number without the secret does not reveal the disk’s name', () => {
  const named = diskFingerprint(disk_key, 'alc_1', 'S1');
  assert.match(named, /^[0-9a-f]{32}$/);
  assert.equal(diskFingerprint(disk_key, 'alc_1', 'S1'), named);
  const others = [
    diskFingerprint(Buffer.alloc(32, 2), 'alc_1', 'S1'),
    diskFingerprint(disk_key, 'alc_2', 'S1'),
    diskFingerprint(disk_key, 'alc_1', 'S2'),
    createHash('sha256').update('alc_1\nS1').digest('hex').slice(0, 32),
  ];
  assert.equal(new Set([named, ...others]).size, 5);
});

test('the hash of the data read is shown for blank data, and omitted where random data would identify the disk', () => {
  const hashes = (rule: string) =>
    certify(proofOf({ ...evidence, rule })).disks[0]?.samples.map(({ sha256 }) => sha256);
  assert.deepEqual(hashes('blank'), ['ab', '']);
  assert.deepEqual(hashes('changed'), [null, null]);
});

const json = fc.jsonValue({ depthSize: 'small' });

test('canonical JSON keeps the meaning and does not depend on field order', () => {
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, field]) => [name, turned(field)]),
    );
  };
  fc.assert(
    fc.property(json, (value) => {
      const spelled = canonicalJson(value);
      assert.deepEqual(JSON.parse(spelled), JSON.parse(JSON.stringify(value)));
      assert.equal(canonicalJson(turned(value)), spelled);
    }),
  );
  assert.equal(canonicalJson({ b: [1, { z: null, a: 'ä' }], a: true }), '{"a":true,"b":[1,{"a":"ä","z":null}]}');
});

test('two certificates that differ anywhere are signed over different bytes', () => {
  const first = certificateBytes(certify(proofOf(evidence)));
  const inside = new Set(['level', 'slot_id', 'node_id', 'major_minor', 'generation', 'method', 'wipe_minimum']);
  for (const [name, value] of Object.entries(evidence).filter(([key]) => !inside.has(key))) {
    const other = typeof value === 'number' ? value + 1 : undefined;
    assert.notDeepEqual(certificateBytes(certify(proofOf({ ...evidence, [name]: other }))), first, name);
  }
});
