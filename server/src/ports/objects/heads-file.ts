/**
 * The heads file: signed ends of the audit chains, one JSON line each, on storage that the database's owner does not
 * own. A line names its number and the hash of the line before, and is signed with Ed25519. Appending ends with a
 * flush to disk; a line that a crash left half-written was never counted and is cut off by the next append.
 *
 * One writer at a time is the caller's duty (the sealer holds a lock in the database while it appends).
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

export type NewHead = Readonly<{ chain: string; sequence: number; hash: string; sealed_at: string }>;
type Payload = NewHead & Readonly<{ line: number; previous: string }>;
/** The end of the file: the number of its last line and the hash of that line's text. */
export type FileEnd = Readonly<{ line: number; hash: string }>;
export type HeadFileLine = Readonly<{ text_hash: string; head: Payload | null; isSigned(): boolean }>;

export type HeadsFile = Readonly<{
  /** Appends behind the last line, or behind `recorded` when the file ends before it, so that a cut stays visible. */
  append(heads: readonly NewHead[], recorded: FileEnd): Promise<FileEnd>;
  lines(): AsyncIterable<HeadFileLine>;
}>;

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const LINE_BYTES_MAX = 16_384;
const NEWLINE = 0x0a;

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

const payloadText = (head: Payload): string =>
  JSON.stringify({
    line: head.line,
    chain: head.chain,
    sequence: head.sequence,
    hash: head.hash,
    sealed_at: head.sealed_at,
    previous: head.previous,
  });

const isHex = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

type ParsedLine = Readonly<{ payload: Payload; signature: Buffer }>;

const parseLine = (text: string): ParsedLine | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { line, chain, sequence, hash, sealed_at, previous, signature } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(line) || !Number.isSafeInteger(sequence) || !isHex(hash) || !isHex(previous)) return null;
  if (typeof chain !== 'string' || typeof sealed_at !== 'string' || typeof signature !== 'string') return null;
  const payload = { line: line as number, chain, sequence: sequence as number, hash, sealed_at, previous };
  return { payload, signature: Buffer.from(signature, 'base64') };
};

/** Complete lines only. An over-long one is passed on truncated, which matches no signature. */
const readLines = async function* (file: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE, start)) {
        yield rest.subarray(start, at);
        start = at + 1;
      }
      rest = rest.subarray(start);
      if (rest.length > LINE_BYTES_MAX) rest = rest.subarray(0, LINE_BYTES_MAX);
    }
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
};

/** The last complete line and the offset after it; without any line, the offset where the next one may start. */
const readEnd = async (handle: FileHandle): Promise<{ text: Buffer | null; offset: number }> => {
  const { size } = await handle.stat();
  const from = Math.max(0, size - 2 * LINE_BYTES_MAX);
  const tail = Buffer.alloc(size - from);
  await handle.read(tail, 0, tail.length, from);
  const last = tail.lastIndexOf(NEWLINE);
  if (last === -1) return { text: null, offset: from };
  const before = last === 0 ? -1 : tail.lastIndexOf(NEWLINE, last - 1);
  return { text: tail.subarray(before + 1, last), offset: from + last + 1 };
};

const openForAppend = async (file: string): Promise<FileHandle> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return await open(file, 'r+');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
  const handle = await open(file, 'wx+', 0o600);
  // Without this the new file name may be lost in a power failure.
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return handle;
};

const writeAll = async (handle: FileHandle, bytes: Buffer, offset: number): Promise<void> => {
  for (let done = 0; done < bytes.length; )
    done += (await handle.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
};

const writeLines = (heads: readonly NewHead[], end: FileEnd, key: KeyObject): { text: string; end: FileEnd } => {
  let text = '';
  let last = end;
  for (const head of heads) {
    const payload = payloadText({ ...head, line: last.line + 1, previous: last.hash });
    const signature = sign(null, Buffer.from(payload), key).toString('base64');
    const line = `${payload.slice(0, -1)},"signature":"${signature}"}`;
    text += `${line}\n`;
    last = { line: last.line + 1, hash: sha256(line) };
  }
  return { text, end: last };
};

const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });

/**
 * A seed is the 32 bytes of an Ed25519 private key. The first one signs; lines that any of them signed are valid, so that
 * lines from before a rotation of the platform key are.
 */
export const createHeadsFile = (options: Readonly<{ file: string; seeds: () => readonly Buffer[] }>): HeadsFile => {
  const isSigned = ({ payload, signature }: ParsedLine): boolean =>
    options
      .seeds()
      .some((seed) => verify(null, Buffer.from(payloadText(payload)), createPublicKey(privateKeyOf(seed)), signature));

  return {
    append: async (heads, recorded) => {
      const handle = await openForAppend(options.file);
      try {
        const { text: lastText, offset } = await readEnd(handle);
        const last = lastText === null ? null : parseLine(lastText.toString('utf8'));
        const isNewer = last !== null && last.payload.line >= recorded.line && isSigned(last);
        const start = isNewer && lastText !== null ? { line: last.payload.line, hash: sha256(lastText) } : recorded;
        const [seed] = options.seeds();
        if (seed === undefined) throw new Error('there is no key to sign heads with');
        const { text, end } = writeLines(heads, start, privateKeyOf(seed));
        await handle.truncate(offset);
        const joined = lastText === null && offset > 0 ? '\n' : '';
        await writeAll(handle, Buffer.from(joined + text), offset);
        await handle.datasync();
        return end;
      } finally {
        await handle.close();
      }
    },
    lines: async function* () {
      for await (const bytes of readLines(options.file)) {
        const parsed = parseLine(bytes.toString('utf8'));
        yield {
          text_hash: sha256(bytes),
          head: parsed?.payload ?? null,
          isSigned: () => parsed !== null && isSigned(parsed),
        };
      }
    },
  };
};
