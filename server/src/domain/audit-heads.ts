/**
 * Reads the heads file as a whole. Lines are numbered and each holds the hash of the previous one, so a valid signature
 * on the last line covers all lines linked to it. Every signature is checked only when a link is broken.
 */
import { FINDINGS_MAX, type Finding, type Head } from './audit-chain.ts';

export type HeadLine = Readonly<{
  /** sha256 of the line, in hex, which the next line must name. */
  text_hash: string;
  /** Null when the line cannot be read as a head. */
  head: (Head & Readonly<{ line: number; previous: string }>) | null;
  isSigned(): boolean;
}>;

/** The end of the file when the database last recorded it. */
export type RecordedEnd = Readonly<{ line: number; hash: string }>;

export type HeadsReading = Readonly<{
  lines: number;
  /** A sample of each chain's heads, ascending, always including the highest. */
  heads: ReadonlyMap<string, readonly Head[]>;
  /** Faults of the file by chain; null for faults of no particular chain. */
  findings: readonly Readonly<{ chain: string | null; finding: Finding }>[];
}>;

const NO_LINE = '0'.repeat(64);
const HEADS_PER_CHAIN_MAX = 16;

/** Bounds memory by the number of chains: every second head is dropped when there are too many. */
const remember = (known: Head[], head: Head): void => {
  known.push(head);
  if (known.length <= HEADS_PER_CHAIN_MAX) return;
  const kept = known.filter((_, index) => index % 2 === 0 || index === known.length - 1);
  known.splice(0, known.length, ...kept);
};

type Reader = Readonly<{ take(line: HeadLine): void; finish(): HeadsReading; isSound(): boolean }>;

/** `thorough` checks each signature; otherwise the links are trusted, and `isSound` says whether that was enough. */
const createReader = (recorded: RecordedEnd, thorough: boolean): Reader => {
  const heads = new Map<string, Head[]>();
  const findings: { chain: string | null; finding: Finding }[] = [];
  let lines = 0;
  let last = { line: 0, hash: NO_LINE, broken: false };
  let lastLine: HeadLine | undefined;
  let sound = true;

  const report = (chain: string | null, kind: Finding['kind'], sequence: number | null, detail: string) => {
    sound = false;
    if (findings.length < FINDINGS_MAX)
      findings.push({ chain, finding: { kind, sequence, audit_log_id: null, detail } });
  };

  const takeHead = (head: Head) => {
    const known = heads.get(head.chain) ?? [];
    heads.set(head.chain, known);
    const top = known.at(-1);
    if (top === undefined || head.sequence > top.sequence) remember(known, head);
    else if (head.sequence < top.sequence)
      report(
        head.chain,
        'truncated',
        head.sequence + 1,
        `Signed heads go back from ${top.sequence} to ${head.sequence}.`,
      );
    else if (head.hash !== top.hash)
      report(head.chain, 'edited', head.sequence, 'Two signed heads of the same length have different hashes.');
  };

  return {
    take: (line) => {
      lines += 1;
      lastLine = line;
      const { head } = line;
      if (head === null || (thorough && !line.isSigned())) {
        report(
          head?.chain ?? null,
          'head_forged',
          head?.sequence ?? null,
          `Line ${lines} of the heads file has no valid signature.`,
        );
        last = { line: last.line + 1, hash: line.text_hash, broken: true };
        return;
      }
      if (head.line > last.line + 1)
        report(
          null,
          'heads_missing',
          null,
          `Lines ${last.line + 1} to ${head.line - 1} of the heads file are missing.`,
        );
      else if (head.line !== last.line + 1 || (head.previous !== last.hash && !last.broken))
        report(
          head.chain,
          'head_forged',
          head.sequence,
          `Line ${lines} of the heads file does not follow the previous line.`,
        );
      if (head.line === recorded.line && line.text_hash !== recorded.hash)
        report(
          head.chain,
          'head_forged',
          head.sequence,
          `Line ${lines} of the heads file differs from the line that was written.`,
        );
      last = { line: head.line, hash: line.text_hash, broken: false };
      takeHead(head);
    },
    isSound: () => sound && (lastLine === undefined || lastLine.isSigned()),
    finish: () => {
      if (last.line < recorded.line)
        report(
          null,
          'heads_missing',
          null,
          `The heads file ends at line ${last.line}, but ${recorded.line} were written.`,
        );
      return { lines, heads, findings };
    },
  };
};

/** Reads the file once if it is sound, and a second time line by line if it is not. */
export const readHeads = async (open: () => AsyncIterable<HeadLine>, recorded: RecordedEnd): Promise<HeadsReading> => {
  const quick = createReader(recorded, false);
  for await (const line of open()) quick.take(line);
  if (quick.isSound()) return quick.finish();
  const thorough = createReader(recorded, true);
  for await (const line of open()) thorough.take(line);
  return thorough.finish();
};
