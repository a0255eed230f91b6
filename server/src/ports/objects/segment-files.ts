/**
 * Files that are written once and kept: lines of text, then a line with an Ed25519 signature of all of them and its public
 * key, which outlives rotations of the key. Writing ends with a flush to disk, and the same name written again, after a
 * crash, replaces the file as a whole.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export type SegmentFile = Readonly<{
  /** Of the whole file. */
  sha256: Buffer;
  lines: readonly string[];
  /** By the key that it names. */
  is_signed: boolean;
}>;

export type SegmentFiles = Readonly<{
  write(name: string, lines: readonly string[]): Promise<void>;
  /** Undefined when there is no such file. */
  read(name: string): Promise<SegmentFile | undefined>;
}>;

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest();

const syncDirectory = async (directory: string): Promise<void> => {
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

const isSignedBy = (lastLine: string, text: string): boolean => {
  try {
    const { public_key, signature } = JSON.parse(lastLine) as { public_key: string; signature: string };
    const key = createPublicKey({ key: Buffer.from(public_key, 'base64'), format: 'der', type: 'spki' });
    return verify(null, sha256(text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
};

/** The first seed, the 32 bytes of a private key, signs. */
export const createSegmentFiles = (
  options: Readonly<{ directory: string; seeds: () => readonly Buffer[] }>,
): SegmentFiles => ({
  write: async (name, lines) => {
    const [seed] = options.seeds();
    if (seed === undefined) throw new Error('there is no key to sign segments with');
    const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });
    const text = lines.map((line) => `${line}\n`).join('');
    const public_key = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
    const signature = sign(null, sha256(text), key).toString('base64');
    const file = join(options.directory, name);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(`${file}.part`, 'w', 0o600);
    try {
      await handle.writeFile(`${text}${JSON.stringify({ public_key, signature })}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${file}.part`, file);
    await syncDirectory(dirname(file));
    await syncDirectory(options.directory);
  },
  read: async (name) => {
    const bytes = await readFile(join(options.directory, name)).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
      return undefined;
    });
    if (bytes === undefined) return undefined;
    const lines = bytes.toString('utf8').split('\n');
    // The text ends with a line feed, so the last part is empty.
    const [lastLine = '', ...before] = lines.slice(0, -1).toReversed();
    const own = before.toReversed();
    return {
      sha256: sha256(bytes),
      lines: own,
      is_signed: isSignedBy(lastLine, own.map((line) => `${line}\n`).join('')),
    };
  },
});
