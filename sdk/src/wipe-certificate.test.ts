import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import type { SignedWipeCertificate, WipeCertificateKey } from './api.gen.ts';
import { certificateText } from './certificate-text.ts';
import { canonicalJson, isSignedCertificate, verifyWipeCertificate } from './wipe-certificate.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key: WipeCertificateKey = {
  key_id: 'tky_1',
  state: 'retired',
  public_key_pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  fingerprint_sha256: '',
  created_at: '2026-01-01T00:00:00.000Z',
};
const certificate = {
  format: 'gpuaas wipe certificate v1',
  issuer: 'https://gpuaas.example.org',
  disks: [{ disk: 'd', bytes_read_back: 1 }],
} as unknown as SignedWipeCertificate['certificate'];
const text = `gpuaas wipe certificate v1\n${canonicalJson(certificate)}`;
const signed: SignedWipeCertificate = {
  certificate,
  signature: {
    key_id: 'tky_1',
    algorithm: 'Ed25519',
    value: sign(null, Buffer.from(text), privateKey).toString('base64'),
  },
};

const reasonOf = async (given: SignedWipeCertificate, keys: readonly WipeCertificateKey[] = [key]) => {
  const verdict = await verifyWipeCertificate(given, keys);
  return verdict.is_valid ? null : verdict.reason;
};

test('a certificate is valid with its key, also after rotation of that key and in any field order', async () => {
  assert.deepEqual(await verifyWipeCertificate(signed, [key]), { is_valid: true, key });
  const turned = Object.fromEntries(Object.entries(certificate).reverse()) as unknown as typeof certificate;
  assert.equal(await reasonOf({ ...signed, certificate: turned }), null);
});

test('a modified certificate, or one whose key is unknown or revoked, is invalid', async () => {
  assert.match((await reasonOf({ ...signed, certificate: { ...certificate, disks: [] } })) ?? '', /was changed/);
  assert.match((await reasonOf(signed, [])) ?? '', /publishes no key tky_1/);
  assert.match((await reasonOf(signed, [{ ...key, state: 'revoked' }])) ?? '', /revoked/);
  const { publicKey: other } = generateKeyPairSync('ed25519');
  const public_key_pem = other.export({ type: 'spki', format: 'pem' }).toString();
  assert.match((await reasonOf(signed, [{ ...key, public_key_pem }])) ?? '', /another server issued it/);
  const mangled = { ...signed.signature, value: '%' };
  assert.match((await reasonOf({ ...signed, signature: mangled })) ?? '', /cannot be read/);
  const otherwise = { ...signed.signature, algorithm: 'none' } as unknown as typeof signed.signature;
  assert.match((await reasonOf({ ...signed, signature: otherwise })) ?? '', /not supported/);
});

test('only data with all parts of a certificate is accepted as one', () => {
  assert.ok(isSignedCertificate(signed));
  for (const value of [
    null,
    [],
    'text',
    {},
    { certificate },
    { ...signed, certificate: {} },
    { ...signed, signature: {} },
  ])
    assert.equal(isSignedCertificate(value), false);
});

test('the disks of a whole node that were not wiped are stated, and nothing where a certificate does not state them', async () => {
  const text = (unwiped_disks: number | null) => certificateText.unwiped({ unwiped_disks });
  assert.deepEqual([text(null), text(0)], [null, 'none']);
  assert.match(text(1) ?? '', /^1 disk; its data stays readable/);
  assert.match(text(2) ?? '', /^2 disks; their data/);
  assert.equal(certificateText.unwiped(certificate), null, 'made before the field existed');
  assert.match((await reasonOf({ ...signed, certificate: { ...certificate, unwiped_disks: 0 } })) ?? '', /was changed/);
});
