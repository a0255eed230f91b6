/**
 * Recomputes the audit chains, from the first archived segment to the newest row, and compares them with the signed heads.
 * It reads in pages with a bounded state per chain, so its memory does not grow with the log.
 *
 * Rows are written while it runs, so the order of reads matters: first the recorded end of the heads file, then the
 * file (it may only be longer), then the ends of the chains (they may only be longer than the heads). Up to those ends
 * nothing may change, and later rows are not checked.
 */
import { type ChainBound, getSealer, listChainBounds, listSealedRows, listUnsealed } from '../db/audit-seal.ts';
import { countRemoved } from '../db/audit-segment.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import {
  chainOf,
  checkChain,
  FINDINGS_MAX,
  type Finding,
  type Head,
  isBefore,
  PLATFORM_CHAIN,
} from '../domain/audit-chain.ts';
import { type HeadLine, readHeads } from '../domain/audit-heads.ts';
import { type SegmentReader, takeSegments } from './audit-segments.ts';

export type ChainReport = {
  chain: string;
  rows_sealed: number;
  rows_unsealed: number;
  unsealed_ids: string[];
  head_hash: string | null;
  findings: Finding[];
};

export type VerifyOptions = Readonly<{
  database: Database;
  heads: Readonly<{ lines(): AsyncIterable<HeadLine> }>;
  /** Null when no archive directory is set. */
  archive: SegmentReader | null;
  /** One chain instead of all. */
  only: string | null;
}>;

const PAGE_ROWS = 1_000;
const UNSEALED_PAGE_ROWS = 5_000;
const UNSEALED_IDS_MAX = 100;

type Reports = Readonly<{ get(chain: string): ChainReport; all(): ChainReport[] }>;

const createReports = (): Reports => {
  const reports = new Map<string, ChainReport>();
  return {
    get: (chain) => {
      const report = reports.get(chain) ?? {
        chain,
        rows_sealed: 0,
        rows_unsealed: 0,
        unsealed_ids: [],
        head_hash: null,
        findings: [],
      };
      reports.set(chain, report);
      return report;
    },
    all: () => [...reports.values()].sort((a, b) => (a.chain < b.chain ? -1 : 1)),
  };
};

const add = (report: ChainReport, findings: readonly Finding[]): void => {
  report.findings.push(...findings.slice(0, FINDINGS_MAX - report.findings.length));
};

/** The chain's own record in the database is one more, unsigned, evidence of its length. */
const witnesses = (signed: readonly Head[], bound: ChainBound | undefined): readonly Head[] => {
  const top = signed.at(-1)?.sequence ?? 0;
  return bound !== undefined && bound.recorded_sequence > top
    ? [...signed, { chain: bound.chain, sequence: bound.recorded_sequence, hash: bound.recorded_hash }]
    : signed;
};

const checkChains = async (
  options: VerifyOptions,
  bounds: ReadonlyMap<string, ChainBound>,
  signed: ReadonlyMap<string, readonly Head[]>,
  reports: Reports,
): Promise<void> => {
  const startChain = async (chain: string) => {
    const check = checkChain(chain, witnesses(signed.get(chain) ?? [], bounds.get(chain)));
    const { archived_to, findings } = await takeSegments(options, chain, check);
    add(reports.get(chain), findings);
    return { chain, check, archived_to };
  };
  type Started = Awaited<ReturnType<typeof startChain>>;
  const end = ({ chain, check }: Started) => {
    const { rows_sealed, head_hash, findings } = check.finish();
    const report = reports.get(chain);
    Object.assign(report, { rows_sealed, head_hash });
    add(report, findings);
  };
  let current: Started | undefined;
  const seen = new Set<string>();
  let after = { chain: '', sequence: 0 };
  for (;;) {
    const page = await options.database.read(PLATFORM, (reader) =>
      listSealedRows(reader, after, options.only, PAGE_ROWS),
    );
    for (const [chain, seals] of Map.groupBy(page, (seal) => seal.chain)) {
      const bound = bounds.get(chain);
      if (bound === undefined) continue;
      if (current?.chain !== chain) {
        if (current !== undefined) end(current);
        current = await startChain(chain);
        seen.add(chain);
      }
      const { archived_to } = current;
      current.check.take(seals.filter(({ sequence }) => sequence > archived_to && sequence <= bound.sequence));
    }
    const last = page.at(-1);
    // Seals added meanwhile are after the recorded ends: a page that is not full is the last.
    if (last === undefined || page.length < PAGE_ROWS) break;
    after = { chain: last.chain, sequence: last.sequence };
  }
  if (current !== undefined) end(current);
  // The rest has a record or a signed head, but no seal.
  for (const chain of new Set([...bounds.keys(), ...signed.keys()]))
    if (!seen.has(chain) && (options.only === null || options.only === chain)) end(await startChain(chain));
};

const checkUnsealed = async (
  options: VerifyOptions,
  sealed: Readonly<{ xid: string; id: string }>,
  reports: Reports,
): Promise<void> => {
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof listUnsealed>> = await options.database.read(PLATFORM, (reader) =>
      listUnsealed(reader, after ?? '', UNSEALED_PAGE_ROWS),
    );
    for (const row of page.rows) {
      if (options.only !== null && chainOf(row) !== options.only) continue;
      const report = reports.get(chainOf(row));
      report.rows_unsealed += 1;
      if (isBefore(sealed, row)) {
        if (report.unsealed_ids.length < UNSEALED_IDS_MAX) report.unsealed_ids.push(row.id);
      } else
        add(report, [
          {
            kind: 'reordered',
            sequence: null,
            audit_log_id: row.id,
            detail: 'The row has no seal, but later rows do: it was inserted later, or its seal was removed.',
          },
        ]);
    }
    after = page.last;
  }
};

type Verdict = { intact: boolean; heads_file_lines: number; chains: ChainReport[] };

const verifyOnce = async (options: VerifyOptions): Promise<Verdict> => {
  const { database } = options;
  const recorded = await database.read(PLATFORM, getSealer);
  const file = await readHeads(() => options.heads.lines(), {
    line: recorded.heads_line,
    hash: recorded.heads_hash.toString('hex'),
  });
  const [bounds, sealer] = await database.read(PLATFORM, (reader) =>
    Promise.all([listChainBounds(reader), getSealer(reader)]),
  );
  const reports = createReports();
  if (options.only !== null) reports.get(options.only);
  await checkChains(options, new Map(bounds.map((bound) => [bound.chain, bound])), file.heads, reports);
  await checkUnsealed(options, { xid: sealer.sealed_xid, id: sealer.sealed_id }, reports);
  for (const { chain, finding } of file.findings) {
    const target = chain ?? options.only ?? PLATFORM_CHAIN;
    if (options.only === null || options.only === target) add(reports.get(target), [finding]);
  }
  const chains = reports.all();
  return { intact: chains.every((chain) => chain.findings.length === 0), heads_file_lines: file.lines, chains };
};

const ATTEMPTS_MAX = 3;

/** Rows that are archived meanwhile would be missing here and there: the check then starts again. */
export const verifyAudit = async (options: VerifyOptions): Promise<Verdict> => {
  const removed = () => options.database.read(PLATFORM, countRemoved);
  for (let attempt = 1; ; attempt++) {
    const before = await removed();
    const verdict = await verifyOnce(options);
    if (verdict.intact || attempt === ATTEMPTS_MAX || (await removed()) === before) return verdict;
  }
};
