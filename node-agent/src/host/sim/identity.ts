/** Serials, GUIDs, UUIDs and keys of a simulated host, derived from its name. */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';

/** Upper-case hexadecimal, as vendors print serials. */
export const hexOf = (length: number, ...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, length);

export const serialOf = (prefix: string, ...parts: readonly (string | number)[]): string =>
  `${prefix}${hexOf(10, 'serial', ...parts).toUpperCase()}`;

export const uuidOf = (...parts: readonly (string | number)[]): string => {
  const hex = hexOf(32, 'uuid', ...parts);
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
};

const pairs = (hex: string): string => hex.match(/../g)?.join(':') ?? '';

/** A GUID is never zero: the first byte is a vendor's. */
export const guidOf = (...parts: readonly (string | number)[]): string =>
  `b83f:d2${hexOf(2, ...parts)}:${hexOf(8, 'guid', ...parts).replace(/(....)(....)/, '$1:$2')}`;

/** Globally unique, unicast. */
export const macOf = (...parts: readonly (string | number)[]): string => pairs(`b83fd2${hexOf(6, 'mac', ...parts)}`);

/** The pair in OpenSSH's own forms: one line of a known_hosts file, and the private half as a PEM. */
export type SshPair = Readonly<{ public_key: string; private_key: string }>;

const wire = (...fields: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(
    fields.flatMap((field) => {
      const bytes = Buffer.from(field);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );

const SSH_TYPE = 'ssh-ed25519';
/** Of an Ed25519 key as PKCS #8; the 32 bytes of its seed follow. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const NUMBER_ONE = Buffer.from([0, 0, 0, 1]);

const sshSeed = (parts: readonly (string | number)[]): Buffer =>
  createHash('sha256')
    .update(['ssh', ...parts].join('\0'))
    .digest();

const sshPoint = (seed: Buffer): Buffer => {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
  return Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');
};

/** The host key of a simulated system. It is not secret: it follows from the names. */
export const sshKeyOf = (...parts: readonly (string | number)[]): string =>
  `${SSH_TYPE} ${wire(SSH_TYPE, sshPoint(sshSeed(parts))).toString('base64')}`;

export const sshPairOf = (...parts: readonly (string | number)[]): SshPair => {
  const seed = sshSeed(parts);
  const point = sshPoint(seed);
  // Two equal numbers open the private part, so that a wrong passphrase would be noticed; there is none.
  const open = Buffer.concat([NUMBER_ONE, NUMBER_ONE, wire(SSH_TYPE, point, Buffer.concat([seed, point]), '')]);
  const padding = Buffer.from(Array.from({ length: (8 - (open.length % 8)) % 8 }, (_, index) => index + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    wire('none', 'none', ''),
    NUMBER_ONE,
    wire(wire(SSH_TYPE, point), Buffer.concat([open, padding])),
  ]);
  const lines = body.toString('base64').match(/.{1,70}/g) ?? [];
  const [head, tail] = ['BEGIN', 'END'].map((word) => `-----${word} OPENSSH PRIVATE KEY-----`);
  return { public_key: sshKeyOf(...parts), private_key: [head, ...lines, tail, ''].join('\n') };
};
