/**
 * Moves old audit rows to signed segment files: ranges of one chain, a month or ROWS_MAX rows each. A file is written and
 * read back before its range is recorded, and read back again before the rows leave the database, a day later at the
 * earliest. A chain that does not verify is never archived, and nothing is while the clock of the database is not trusted. A
 * directory that hangs ends no turn late.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { listSealedRows } from '../db/audit-seal.ts';
import {
  type AuditSegmentRow,
  type Continuation,
  insertSegment,
  listArchivable,
  listRemovable,
  readArchiveLimit,
  removeArchived,
} from '../db/audit-segment.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { runExclusively } from '../db/lock.ts';
import { genesis } from '../domain/audit-chain.ts';
import { decodeSegment, encodeSegment, segmentName } from '../domain/audit-segment.ts';
import type { SegmentFile, SegmentFiles } from '../ports/objects/segment-files.ts';
import { workOnFiles } from './file-work.ts';

export type ArchiveDeps = Readonly<{
  database: Database;
  files: SegmentFiles;
  online_days: number;
  rows_max?: number;
  /** How long a turn waits for a call of the archive directory. */
  files_wait_ms?: number;
}>;

const ROWS_MAX = 5_000;
/** A chain with few rows has a file a month. */
const MONTH_MS = 31 * 86_400_000;
const CHAINS_MAX = 100;
const REMOVALS_MAX = 20;
const FILES_WAIT_MS = 10_000;

const readBack = async (files: SegmentFiles, name: string): Promise<SegmentFile> => {
  const file = await files.read(name);
  if (file?.is_signed !== true || decodeSegment(file.lines) === null)
    throw new Error(`Audit segment ${name} cannot be read back from the archive directory.`);
  return file;
};

/** Archives rows from before `until`. Returns whether there is more of the chain. */
const archiveChain = async (deps: ArchiveDeps, from: Continuation, until: number): Promise<boolean> => {
  const { database, files, rows_max = ROWS_MAX } = deps;
  const page = await database.read(PLATFORM, (reader) =>
    listSealedRows(reader, { chain: from.chain, sequence: from.sequence }, from.chain, rows_max),
  );
  const young = page.findIndex(({ row }) => row !== null && Date.parse(row.created_at_us) >= until);
  const seals = young === -1 ? page : page.slice(0, young);
  const [first, last] = [seals[0], seals.at(-1)];
  const isMonthOver = Date.parse(from.first_row_at) < until - MONTH_MS;
  if (!first?.row || !last?.row || (seals.length < rows_max && !isMonthOver)) return false;
  const previous = from.hash ?? genesis(from.chain);
  const file_name = segmentName(from.chain, first.sequence, last.sequence);
  await files.write(file_name, encodeSegment(previous, seals));
  const { sha256 } = await readBack(files, file_name);
  await database.write(PLATFORM, async (tx) => {
    await insertSegment(tx, {
      chain: from.chain,
      first_sequence: first.sequence,
      last_sequence: last.sequence,
      previous_hash: previous,
      last_hash: last.hash,
      file_name,
      file_sha256: sha256,
    });
    // In a chain of its own right: the record of a segment cannot be changed unseen.
    await insertSystemAudit(tx, {
      organization_id: null,
      project_id: null,
      action: 'audit_segment.record',
      target_kind: 'audit_segment',
      target_id: `${from.chain}.${first.sequence}`,
      policy: 'reconciler',
      correlation_id: `archive-${randomUUID()}`,
      metadata: { file_name, sha256: sha256.toString('hex'), last_sequence: last.sequence },
    });
  });
  return seals.length === rows_max;
};

const removeOne = async ({ database, files, online_days }: ArchiveDeps, segment: AuditSegmentRow): Promise<void> => {
  const { sha256 } = await readBack(files, segment.file_name);
  if (!sha256.equals(segment.file_sha256))
    throw new Error(`Audit segment ${segment.file_name} differs from its record; its rows stay in the database.`);
  await database.write(PLATFORM, async (tx) => {
    if (await isClockTrusted(tx)) await removeArchived(tx, segment, online_days);
  });
};

const archiveSome = async (deps: ArchiveDeps, signal: AbortSignal | undefined): Promise<void> => {
  const failures: unknown[] = [];
  /** One chain that fails does not keep the others from their turn. */
  const attempt = async (work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return !signal?.aborted && (await work());
    } catch (err) {
      failures.push(err);
      return false;
    }
  };
  await runExclusively(deps.database, 'archive_audit', async () => {
    const until = await deps.database.read(PLATFORM, (reader) => readArchiveLimit(reader, deps.online_days));
    if (until === null) return;
    const chains = await deps.database.read(PLATFORM, (reader) => listArchivable(reader, deps.online_days, CHAINS_MAX));
    // The rest of a long chain waits for the next turn.
    for (const chain of chains) await attempt(() => archiveChain(deps, chain, until));
    const segments = await deps.database.read(PLATFORM, (reader) =>
      listRemovable(reader, deps.online_days, REMOVALS_MAX),
    );
    for (const segment of segments) await attempt(() => removeOne(deps, segment).then(() => true));
  });
  if (failures.length > 0)
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'Audit segments failed.');
};

const hung = (seconds: number): string =>
  `The archive directory has not responded for ${seconds} s. No audit row is archived or removed meanwhile; check its file system.`;

export const archiveAudit = (deps: ArchiveDeps, signal?: AbortSignal): Promise<void> =>
  workOnFiles(deps.files, { wait_ms: deps.files_wait_ms ?? FILES_WAIT_MS, hung }, (call) => {
    const files: SegmentFiles = {
      write: (name, lines) => call(() => deps.files.write(name, lines)),
      read: (name) => call(() => deps.files.read(name)),
    };
    return archiveSome({ ...deps, files }, signal);
  });
