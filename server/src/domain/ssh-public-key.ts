/**
 * Parses one OpenSSH public key line. The blob is decoded and walked, so only the key is stored: options, comments and
 * trailing data, which could smuggle in a second line or a forced command, are dropped.
 */
import { createHash } from 'node:crypto';

export type SshPublicKey = Readonly<{ algorithm: string; public_key: string; fingerprint: string }>;

const ALGORITHMS: Readonly<Record<string, Readonly<{ fields: number }>>> = {
  'ssh-ed25519': { fields: 2 },
  'sk-ssh-ed25519@openssh.com': { fields: 3 },
  'ecdsa-sha2-nistp256': { fields: 3 },
  'ecdsa-sha2-nistp384': { fields: 3 },
  'ecdsa-sha2-nistp521': { fields: 3 },
  'sk-ecdsa-sha2-nistp256@openssh.com': { fields: 4 },
  'ssh-rsa': { fields: 3 },
};
const RSA_BITS_MIN = 3072;

/** The length-prefixed fields of a key blob; undefined when its length does not match. */
const fieldsOf = (blob: Buffer): Buffer[] | undefined => {
  const fields: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return undefined;
    const length = blob.readUInt32BE(at);
    if (at + 4 + length > blob.length) return undefined;
    fields.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return fields;
};

const bitsOf = (integer: Buffer): number =>
  BigInt(`0x0${integer.toString('hex')}`)
    .toString(2)
    .replace(/^0/, '').length;

/** The key, or the reason why it is invalid. */
export const parseSshPublicKey = (line: string): SshPublicKey | string => {
  const match = /^([a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?$/.exec(line.trim());
  const algorithm = match?.[1];
  const encoded = match?.[2];
  if (algorithm === undefined || encoded === undefined)
    return 'is not one OpenSSH public key line (type, key, optional comment)';
  const known = ALGORITHMS[algorithm];
  if (known === undefined) return `has the type ${algorithm}, which is not accepted; use ssh-ed25519`;
  const blob = Buffer.from(encoded, 'base64');
  const fields = fieldsOf(blob);
  if (fields?.[0]?.toString('latin1') !== algorithm || fields.length !== known.fields)
    return `does not hold a ${algorithm} key`;
  if (algorithm.includes('ed25519') && fields[1]?.length !== 32) return `does not hold a ${algorithm} key`;
  const bits = algorithm === 'ssh-rsa' ? bitsOf(Buffer.concat(fields.slice(2))) : RSA_BITS_MIN;
  if (bits < RSA_BITS_MIN) return `is an RSA key of ${bits} bits; at least ${RSA_BITS_MIN} are needed`;
  const fingerprint = `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
  return { algorithm, public_key: `${algorithm} ${blob.toString('base64')}`, fingerprint };
};
