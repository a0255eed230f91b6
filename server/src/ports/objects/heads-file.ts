/**
 * The heads file: signed ends of the audit chains, one JSON line each, on storage that the database's owner does not
 * own. A line names its number and the hash of the line before, and is signed with Ed25519. Appending ends with a
 * flush to disk; a line that a crash left half-written was never counted and is cut off by the next append.
 *
 * A full file is renamed after its last line, and the next begins with the hash of that line, so that all of them are
 * read as one: a file that is missing is missing lines.
 *
 * One writer at a time is the caller's duty (the sealer holds a lock in the database while it appends).
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type FileHandle, rename } from 'node:fs/promises';
import {
  fullName,
  LINE_BYTES_MAX,
  listFull,
  openForAppend,
  openIfThere,
  ROTATE_BYTES,
  readAll,
  writeAll,
} from './rotated-file.ts';

export type NewHead = Readonly<{ chain: string; sequence: number; hash: string; sealed_at: string }>;
type Payload = NewHead & Readonly<{ line: number; previous: string }>;
/** The end of the file: the number of its last line and the hash of that line's text. */
export type FileEnd = Readonly<{ line: number; hash: string }>;
export type HeadFileLine = Readonly<{ text_hash: string; head: Payload | null; isSigned(): boolean }>;

export type HeadsFile = Readonly<{
  /** Appends behind the last line, or behind `recorded` when the file ends before it, so that a cut stays visible. */
  append(heads: readonly NewHead[], recorded: FileEnd): Promise<FileEnd>;
  /** The number of the last line; 0 where there is none that is signed. */
  lastLine(): Promise<number>;
  /** The last complete line, whoever wrote it; null without one. */
  end(): Promise<FileEnd | null>;
  /** Of all files, the oldest first. */
  lines(): AsyncIterable<HeadFileLine>;
}>;

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
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

/** The last line of this file or, while it is empty, of the full one before it. */
const readLast = async (file: string): Promise<Buffer | null> => {
  for (const name of [file, (await listFull(file)).at(-1)]) {
    const handle = name === undefined ? undefined : await openIfThere(name, 'r');
    if (handle === undefined) continue;
    try {
      const { text } = await readEnd(handle);
      if (text !== null) return text;
    } finally {
      await handle.close();
    }
  }
  return null;
};

/** Where to append, and the last line of this file or, while it is empty, of the full one before it. */
type Place = Readonly<{ handle: FileHandle; offset: number; last: Buffer | null; isEmpty: boolean }>;

/** A file that is full gives way to the next; the crash that leaves none is continued from the last full one. */
const openPlace = async (file: string, rotateBytes: number): Promise<Place> => {
  const handle = await openForAppend(file);
  try {
    const { text, offset } = await readEnd(handle);
    if (text !== null && offset >= rotateBytes) {
      const line = parseLine(text.toString('utf8'))?.payload.line;
      // A line that cannot be read gives no name: the file stays, and verification reports the line.
      if (line !== undefined && line > 0) {
        await rename(file, fullName(file, line));
        await handle.close();
        return { handle: await openForAppend(file), offset: 0, last: text, isEmpty: true };
      }
    }
    if (text !== null || offset > 0) return { handle, offset, last: text, isEmpty: false };
    return { handle, offset, last: await readLast(file), isEmpty: true };
  } catch (err) {
    await handle.close();
    throw err;
  }
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
export const createHeadsFile = (
  options: Readonly<{ file: string; seeds: () => readonly Buffer[]; rotate_bytes?: number }>,
): HeadsFile => {
  const isSigned = ({ payload, signature }: ParsedLine): boolean =>
    options
      .seeds()
      .some((seed) => verify(null, Buffer.from(payloadText(payload)), createPublicKey(privateKeyOf(seed)), signature));

  return {
    append: async (heads, recorded) => {
      const {
        handle,
        offset,
        last: lastText,
        isEmpty,
      } = await openPlace(options.file, options.rotate_bytes ?? ROTATE_BYTES);
      try {
        const last = lastText === null ? null : parseLine(lastText.toString('utf8'));
        const isNewer = last !== null && last.payload.line >= recorded.line && isSigned(last);
        const start = isNewer && lastText !== null ? { line: last.payload.line, hash: sha256(lastText) } : recorded;
        const [seed] = options.seeds();
        if (seed === undefined) throw new Error('there is no key to sign heads with');
        const { text, end } = writeLines(heads, start, privateKeyOf(seed));
        await handle.truncate(offset);
        const joined = lastText === null && !isEmpty ? '\n' : '';
        await writeAll(handle, Buffer.from(joined + text), offset);
        await handle.datasync();
        return end;
      } finally {
        await handle.close();
      }
    },
    lastLine: async () => {
      const last = parseLine((await readLast(options.file))?.toString('utf8') ?? '');
      return last !== null && isSigned(last) ? last.payload.line : 0;
    },
    end: async () => {
      const text = await readLast(options.file);
      const line = text === null ? undefined : parseLine(text.toString('utf8'))?.payload.line;
      return text === null || line === undefined ? null : { line, hash: sha256(text) };
    },
    lines: async function* () {
      for await (const bytes of readAll(options.file)) {
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
