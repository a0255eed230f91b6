/**
 * A segment is a range of one audit chain as text: a header, then one row per line with its hash. It holds what the chain is
 * computed from, so that the rows verify from the file as they did from the database.
 *
 * Pure. Whether a file is the one that was written is for its signature and its recorded hash to say; whether its rows were
 * changed, for the chain.
 */
import { type ChainedRow, chainHash, type SealedRow } from './audit-chain.ts';

export type SegmentHeader = Readonly<{
  format: 1;
  chain: string;
  first_sequence: number;
  last_sequence: number;
  /** Of the row before, in hex. */
  previous_hash: string;
  last_hash: string;
}>;

export type Segment = Readonly<{ header: SegmentHeader; seals: readonly SealedRow[] }>;

/** Of rows that follow each other. Refuses those that do not match their seals: an archive must not make a fault permanent. */
export const encodeSegment = (previous: Buffer, seals: readonly SealedRow[]): readonly string[] => {
  const [first] = seals;
  if (first === undefined) throw new Error('a segment has rows');
  let hash = previous;
  const rows = seals.map((seal, at) => {
    if (seal.row === null || seal.sequence !== first.sequence + at || !chainHash(hash, seal.row).equals(seal.hash))
      throw new Error(`chain ${seal.chain} does not verify at ${seal.sequence}; nothing of it is archived`);
    hash = seal.hash;
    return JSON.stringify({ sequence: seal.sequence, hash: seal.hash.toString('hex'), row: seal.row });
  });
  const header: SegmentHeader = {
    format: 1,
    chain: first.chain,
    first_sequence: first.sequence,
    last_sequence: first.sequence + seals.length - 1,
    previous_hash: previous.toString('hex'),
    last_hash: hash.toString('hex'),
  };
  return [JSON.stringify(header), ...rows];
};

const parse = (line: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null) throw new SyntaxError('not an object');
  return value as Record<string, unknown>;
};

/** Null for text that no segment has. */
export const decodeSegment = (lines: readonly string[]): Segment | null => {
  try {
    const [first = '', ...rest] = lines;
    const header = parse(first) as SegmentHeader;
    const seals = rest.map((line): SealedRow => {
      const { sequence, hash, row } = parse(line) as { sequence: number; hash: string; row: ChainedRow };
      return { chain: header.chain, sequence, audit_log_id: row.id, hash: Buffer.from(hash, 'hex'), row };
    });
    return header.format === 1 ? { header, seals } : null;
  } catch {
    return null;
  }
};

/** The file of a range, in a directory per chain. */
export const segmentName = (chain: string, first: number, last: number): string =>
  `${chain}/${String(first).padStart(15, '0')}-${String(last).padStart(15, '0')}.jsonl`;
