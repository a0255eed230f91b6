/**
 * The audit chain. Rows of one tenant are chained in commit order: hash = sha256(previous hash, row). Each hash is
 * stored as a seal beside the row, and the end of each chain is signed and written to a file outside the database. A
 * row that was edited, removed, moved or inserted later no longer matches its hash. The signed heads reveal a tail
 * removed with its seals, and a chain rewritten with new seals.
 *
 * Everything here is a pure function. A fault does not stop the check: it continues from the stored hash, so that one
 * bad row is one finding and not a thousand.
 */
import { createHash } from 'node:crypto';

/** A row as the chain sees it: every column as text, times to the microsecond, exactly as PostgreSQL prints them. */
export type ChainedRow = Readonly<{
  id: string;
  xid: string;
  created_at_us: string;
  organization_id: string | null;
  project_id: string | null;
  actor_kind: string;
  actor_id: string | null;
  actor_role: string | null;
  source_ip: string | null;
  user_agent: string | null;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  result: string;
  error_code: string | null;
  policy: string;
  correlation_id: string;
  metadata_text: string;
}>;

export type Seal = Readonly<{ chain: string; sequence: number; audit_log_id: string; hash: Buffer }>;
/** A seal with the row it covers; null when the row is missing. */
export type SealedRow = Seal & Readonly<{ row: ChainedRow | null }>;
/** The least end of a chain according to the database and the signed heads. */
export type Head = Readonly<{ chain: string; sequence: number; hash: string }>;

export type FindingKind = 'edited' | 'deleted' | 'reordered' | 'truncated' | 'head_forged' | 'heads_missing';
export type Finding = Readonly<{
  kind: FindingKind;
  sequence: number | null;
  audit_log_id: string | null;
  detail: string;
}>;

export const PLATFORM_CHAIN = 'platform';
export const FINDINGS_MAX = 100;

export const chainOf = (row: Readonly<{ organization_id: string | null }>): string =>
  row.organization_id ?? PLATFORM_CHAIN;

/** Hashed with the first row of a chain, so that two chains never share a hash. */
export const genesis = (chain: string): Buffer => createHash('sha256').update(`gpuaas audit chain ${chain}`).digest();

/** A JSON array separates columns and nulls unambiguously. */
const canonical = (row: ChainedRow): string =>
  JSON.stringify([
    row.id,
    row.xid,
    row.created_at_us,
    row.organization_id,
    row.project_id,
    row.actor_kind,
    row.actor_id,
    row.actor_role,
    row.source_ip,
    row.user_agent,
    row.action,
    row.target_kind,
    row.target_id,
    row.result,
    row.error_code,
    row.policy,
    row.correlation_id,
    row.metadata_text,
  ]);

export const chainHash = (previous: Buffer, row: ChainedRow): Buffer =>
  createHash('sha256').update(previous).update(canonical(row)).digest();

/** Commit order: transaction IDs exceed a double, so they are compared as integers, not as text. */
export const isBefore = (
  a: Readonly<{ xid: string; id: string }>,
  b: Readonly<{ xid: string; id: string }>,
): boolean => {
  const left = BigInt(a.xid);
  const right = BigInt(b.xid);
  return left < right || (left === right && a.id < b.id);
};

type ChainEnd = Readonly<{ sequence: number; hash: Buffer }>;

/** Seals rows in commit order, each after the end of its chain. */
export const sealRows = (
  rows: readonly ChainedRow[],
  ends: ReadonlyMap<string, ChainEnd>,
): { seals: Seal[]; ends: Map<string, ChainEnd> } => {
  const moved = new Map<string, ChainEnd>();
  const seals = rows.map((row) => {
    const chain = chainOf(row);
    const end = moved.get(chain) ?? ends.get(chain) ?? { sequence: 0, hash: genesis(chain) };
    const next = { sequence: end.sequence + 1, hash: chainHash(end.hash, row) };
    moved.set(chain, next);
    return { chain, sequence: next.sequence, audit_log_id: row.id, hash: next.hash };
  });
  return { seals, ends: moved };
};

export type ChainCheck = Readonly<{
  /** Takes the next seals of the chain in sequence order. */
  take(seals: readonly SealedRow[]): void;
  /** Continues after rows that cannot be read, at their recorded end. */
  skip(to: Readonly<{ sequence: number; hash: Buffer }>): void;
  finish(): Readonly<{ rows_sealed: number; head_hash: string | null; findings: readonly Finding[] }>;
}>;

/** Checks one chain, page by page. `heads` are ascending by sequence; the last one states the length of the chain. */
export const checkChain = (chain: string, heads: readonly Head[]): ChainCheck => {
  const findings: Finding[] = [];
  const headAt = new Map(heads.map((head) => [head.sequence, head.hash]));
  let end: ChainEnd = { sequence: 0, hash: genesis(chain) };
  let lastRow: ChainedRow | undefined;
  let rows = 0;
  let rewritten = false;

  const report = (kind: FindingKind, sequence: number, id: string | null, detail: string) => {
    if (findings.length < FINDINGS_MAX) findings.push({ kind, sequence, audit_log_id: id, detail });
  };

  const checkRow = (seal: SealedRow, row: ChainedRow, next: SealedRow | undefined, stored: ReadonlySet<string>) => {
    const outOfOrder =
      (lastRow !== undefined && !isBefore(lastRow, row)) || (next?.row != null && !isBefore(row, next.row));
    const hash = chainHash(end.hash, row);
    if (chainOf(row) !== chain)
      report(
        'edited',
        seal.sequence,
        row.id,
        `The row now names ${chainOf(row)} but was sealed in the chain of ${chain}.`,
      );
    else if (!hash.equals(seal.hash)) {
      // The right hash beside the wrong row means that seals or rows were swapped.
      if (outOfOrder || stored.has(hash.toString('hex')))
        report('reordered', seal.sequence, row.id, 'The row is not at its sealed position.');
      else report('edited', seal.sequence, row.id, 'The row does not match its seal.');
    } else if (outOfOrder) report('reordered', seal.sequence, row.id, 'The row is sealed out of commit order.');
    lastRow = row;
  };

  const checkSeal = (seal: SealedRow, next: SealedRow | undefined, stored: ReadonlySet<string>) => {
    const expected = end.sequence + 1;
    rows += 1;
    if (seal.sequence !== expected) {
      report('deleted', expected, null, `Seals ${expected} to ${seal.sequence - 1} are missing.`);
      lastRow = seal.row ?? undefined;
    } else if (seal.row === null) report('deleted', seal.sequence, seal.audit_log_id, 'The sealed row is missing.');
    else checkRow(seal, seal.row, next, stored);
    end = { sequence: seal.sequence, hash: seal.hash };
    const signed = headAt.get(seal.sequence);
    if (signed !== undefined && signed !== seal.hash.toString('hex') && !rewritten) {
      rewritten = true;
      const detail =
        'The hash differs from the signed head: this row or an earlier one was rewritten together with its seals.';
      report('edited', seal.sequence, seal.audit_log_id, detail);
    }
  };

  return {
    take: (seals) => {
      const stored = new Set(seals.map((seal) => seal.hash.toString('hex')));
      for (const [index, seal] of seals.entries()) checkSeal(seal, seals[index + 1], stored);
    },
    skip: ({ sequence, hash }) => {
      end = { sequence, hash };
      lastRow = undefined;
    },
    finish: () => {
      const longest = heads.at(-1);
      if (longest !== undefined && longest.sequence > end.sequence)
        report(
          'truncated',
          end.sequence + 1,
          null,
          `The chain ends at ${end.sequence}, but it was ${longest.sequence} rows long.`,
        );
      return { rows_sealed: rows, head_hash: end.sequence === 0 ? null : end.hash.toString('hex'), findings };
    },
  };
};
