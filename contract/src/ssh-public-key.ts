/**
 * Reads one OpenSSH public key from pasted text or a file. The server decides by it, and clients report a problem by it
 * before they send anything; `make gen` copies this file into the SDK, which imports nothing. A private key never
 * leaves the computer it is on: `isPrivateKey` is checked first.
 */

export type SshPublicKeyReading = Readonly<
  | { public_key: string; algorithm: string; comment: string; problem: null }
  | { public_key: null; problem: string; is_private: boolean }
>;

/** Fields of the decoded key, the algorithm's name included. */
const FIELD_COUNTS: Readonly<Record<string, number>> = {
  'ssh-ed25519': 2,
  'sk-ssh-ed25519@openssh.com': 3,
  'ecdsa-sha2-nistp256': 3,
  'ecdsa-sha2-nistp384': 3,
  'ecdsa-sha2-nistp521': 3,
  'sk-ecdsa-sha2-nistp256@openssh.com': 4,
  'ssh-rsa': 3,
};
export const SSH_RSA_BITS_MIN = 3072;
const ED25519_BYTES = 32;
const EXAMPLE = 'ssh-ed25519 AAAA… you@laptop';
const LINE = /^([a-z0-9@.-]+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+(.*))?$/;

/** OpenSSH, PEM and PuTTY formats. */
const isPrivateKey = (text: string): boolean => /PRIVATE KEY|PuTTY-User-Key-File/.test(text);

const bytesOf = (base64: string): Uint8Array | null => {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
};

/** The length-prefixed fields of a decoded key, or null if a length points past the end. */
const fieldsOf = (blob: Uint8Array): readonly Uint8Array[] | null => {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const fields: Uint8Array[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return null;
    const end = at + 4 + view.getUint32(at);
    if (end > blob.length) return null;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
};

const bitsOf = (integer: Uint8Array): number => {
  const first = integer.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (integer.length - first) * 8 - Math.clz32(integer[first] ?? 0) + 24;
};

const refused = (problem: string, is_private = false): SshPublicKeyReading => ({
  public_key: null,
  problem,
  is_private,
});

export const readSshPublicKey = (text: string): SshPublicKeyReading => {
  if (isPrivateKey(text))
    return refused('This is a private key. Add the public key instead: the file that ends in .pub.', true);
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) return refused('No public key found.');
  if (lines.length > 1) return refused('More than one line found. Add one key at a time.');
  const [, algorithm = '', encoded = '', comment = ''] = LINE.exec(lines[0] ?? '') ?? [];
  if (algorithm === '') return refused(`Not an OpenSSH public key. Expected one line such as ${EXAMPLE}.`);
  const fieldCount = FIELD_COUNTS[algorithm];
  if (fieldCount === undefined) return refused(`Key type ${algorithm} is not supported. Use ssh-ed25519.`);
  const blob = bytesOf(encoded);
  const fields = blob === null ? null : fieldsOf(blob);
  const isWhole =
    fields?.length === fieldCount &&
    String.fromCharCode(...(fields[0] ?? [])) === algorithm &&
    (!algorithm.includes('ed25519') || fields[1]?.length === ED25519_BYTES);
  if (fields === null || !isWhole) return refused(`The ${algorithm} key is incomplete or damaged. Copy it again.`);
  const bits = algorithm === 'ssh-rsa' ? bitsOf(fields[2] ?? new Uint8Array()) : SSH_RSA_BITS_MIN;
  if (bits < SSH_RSA_BITS_MIN)
    return refused(`The RSA key has ${bits} bits; at least ${SSH_RSA_BITS_MIN} are required. Use ssh-ed25519.`);
  return { public_key: `${algorithm} ${encoded}`, algorithm, comment, problem: null };
};
