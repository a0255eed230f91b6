import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseSshPublicKey, type SshPublicKey } from './ssh-public-key.ts';

const field = (bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};
const line = (type: string, ...fields: Buffer[]): string =>
  `${type} ${Buffer.concat([field(type), ...fields]).toString('base64')}`;
const ed25519 = line('ssh-ed25519', field(Buffer.alloc(32, 7)));
const rsa = (bits: number): string => {
  const { n } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
  return line(
    'ssh-rsa',
    field(Buffer.from([1, 0, 1])),
    field(Buffer.concat([Buffer.from([0]), Buffer.from(String(n), 'base64url')])),
  );
};

describe('an SSH public key', () => {
  it('is stored without its comment, under the fingerprint ssh-keygen prints', () => {
    const known = parseSshPublicKey(
      'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl github',
    ) as SshPublicKey;
    assert.equal(known.fingerprint, 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU');
    assert.equal(known.public_key.split(' ').length, 2);
  });

  it('is refused with a reason when it is too weak, of another type, or not a key', () => {
    assert.match(String(parseSshPublicKey(rsa(2048))), /2048 bits/);
    assert.equal(typeof parseSshPublicKey(rsa(3072)), 'object');
    assert.match(String(parseSshPublicKey(line('ssh-rsa', field('e'), field(Buffer.alloc(512))))), / 0 bits/);
    assert.match(String(parseSshPublicKey(line('ssh-dss', field('x')))), /not supported/);
    assert.match(String(parseSshPublicKey(`command="rm -rf /" ${ed25519}`)), /Not an OpenSSH/);
    assert.match(String(parseSshPublicKey(`${ed25519}\n${ed25519}`)), /one key at a time/);
    assert.match(
      String(parseSshPublicKey(line('ssh-ed25519', field(Buffer.alloc(32)), field('more')))),
      /incomplete or damaged/,
    );
    assert.match(String(parseSshPublicKey(line('ssh-ed25519', field(Buffer.alloc(31))))), /incomplete or damaged/);
  });

  it('is refused when it is a private key', () => {
    assert.match(String(parseSshPublicKey('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl')), /This is a private key/);
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.base64String(),
        (text, blob) => void [parseSshPublicKey(text), parseSshPublicKey(`ssh-ed25519 ${blob}`)],
      ),
    );
  });
});
