/** Serials, GUIDs, UUIDs and keys of a simulated host: always the same for one host name, never the same for two. */
import { createHash } from 'node:crypto';

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

/** An OpenSSH public key of the right shape. Nobody has its private half. */
export const sshKeyOf = (...parts: readonly (string | number)[]): string => {
  const type = Buffer.from('ssh-ed25519');
  const length = (value: number): Buffer => Buffer.from([0, 0, 0, value]);
  const key = createHash('sha256')
    .update(['ssh', ...parts].join('\0'))
    .digest();
  return `ssh-ed25519 ${Buffer.concat([length(type.length), type, length(key.length), key]).toString('base64')}`;
};
