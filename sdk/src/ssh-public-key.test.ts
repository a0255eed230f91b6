import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sshKeyNameFrom } from './ssh-key-name.ts';
import { readSshPublicKey } from './ssh-public-key.gen.ts';

const field = (content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const line = (type: string, ...fields: readonly Buffer[]): string =>
  `${type} ${Buffer.concat([field(type), ...fields]).toString('base64')}`;
const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
const rsa = (bits: number): string => {
  const { n } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
  const modulus = Buffer.concat([Buffer.from([0]), Buffer.from(String(n), 'base64url')]);
  return line('ssh-rsa', field(Buffer.from([1, 0, 1])), field(modulus));
};
const TYPES = [
  'ssh-ed25519',
  'sk-ssh-ed25519@openssh.com',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'ssh-rsa',
  'ssh-dss',
];

describe('readSshPublicKey', () => {
  it('returns the key without its comment, which suggests a name', () => {
    assert.deepEqual(readSshPublicKey(`  ${ED25519}  ada@Laptop.local\r\n`), {
      public_key: ED25519,
      algorithm: 'ssh-ed25519',
      comment: 'ada@Laptop.local',
      problem: null,
    });
    assert.equal(readSshPublicKey(`# work laptop\n\n${ED25519}\n`).public_key, ED25519);
    assert.equal(sshKeyNameFrom('ada@Laptop.local'), 'laptop');
    assert.equal(sshKeyNameFrom('Work Key!'), 'work-key');
    assert.equal(sshKeyNameFrom(''), '');
    assert.match(sshKeyNameFrom('x-'.repeat(80)), /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
  });

  it('refuses every private key format', () => {
    for (const text of [
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----',
      '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----',
      `PuTTY-User-Key-File-3: ssh-ed25519\n${ED25519}`,
    ]) {
      const reading = readSshPublicKey(text);
      assert.ok(reading.problem !== null && reading.is_private, text);
      assert.match(reading.problem, /private key/);
    }
  });

  it('names the problem of anything else that is not one usable key', () => {
    const problems: readonly (readonly [string, RegExp])[] = [
      ['', /No public key/],
      ['# only a comment', /No public key/],
      ['hello', /Not an OpenSSH public key/],
      ['ssh-ed25519', /Not an OpenSSH public key/],
      [`command="rm -rf /" ${ED25519}`, /Not an OpenSSH public key/],
      [`${ED25519}\n${ED25519}`, /one key at a time/],
      [line('ssh-dss', field('x')), /ssh-dss is not supported/],
      ['ssh-ed25519 AAAA', /incomplete or damaged/],
      [ED25519.slice(0, -4), /incomplete or damaged/],
      [rsa(2048), /2048 bits/],
    ];
    for (const [text, problem] of problems) assert.match(readSshPublicKey(text).problem ?? '', problem, text);
  });

  it('accepts exactly the lines that hold one key of their type', () => {
    const counts = { accepted: 0, refused: 0 };
    const FIELDS: Readonly<Record<string, number>> = {
      'ssh-ed25519': 2,
      'sk-ssh-ed25519@openssh.com': 3,
      'ecdsa-sha2-nistp256': 3,
      'ecdsa-sha2-nistp384': 3,
      'ecdsa-sha2-nistp521': 3,
      'sk-ecdsa-sha2-nistp256@openssh.com': 4,
      'ssh-rsa': 3,
    };
    const blobs = fc.array(fc.oneof(fc.constant(32), fc.integer({ min: 1, max: 600 })), { maxLength: 4 });
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), fc.constantFrom(...TYPES), blobs, (type, inner, sizes) => {
        const content = [field(inner), ...sizes.map((size) => field(Buffer.alloc(size, 255)))];
        const text = `${type} ${Buffer.concat(content).toString('base64')}`;
        const expected =
          type === inner &&
          sizes.length + 1 === FIELDS[type] &&
          (!type.includes('ed25519') || sizes[0] === 32) &&
          (type !== 'ssh-rsa' || (sizes[1] ?? 0) * 8 >= 3072);
        const reading = readSshPublicKey(text);
        assert.equal(reading.problem === null, expected, `${text}: ${reading.problem}`);
        if (expected) assert.equal(reading.public_key, text);
        counts[expected ? 'accepted' : 'refused'] += 1;
      }),
      { numRuns: 2_000 },
    );
    assert.ok(counts.accepted > 10 && counts.refused > 50, JSON.stringify(counts));
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.base64String(), (text, blob) => {
        readSshPublicKey(text);
        readSshPublicKey(`ssh-ed25519 ${blob}`);
      }),
    );
  });
});
