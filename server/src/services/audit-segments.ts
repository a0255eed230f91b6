/** Archived audit rows, as verification and export read them: from signed files, against their records. */
import type { AuditFilter, AuditLogRow } from '../db/audit.ts';
import { type AuditSegmentRow, listSegments } from '../db/audit-segment.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { ChainCheck, ChainedRow, Finding, SealedRow } from '../domain/audit-chain.ts';
import { decodeSegment, type Segment } from '../domain/audit-segment.ts';
import { AppError } from '../errors.ts';

export type SegmentReader = Readonly<{
  read(name: string): Promise<Readonly<{ sha256: Buffer; lines: readonly string[]; is_signed: boolean }> | undefined>;
}>;

const isOfRange = ({ header, seals }: Segment, row: AuditSegmentRow): boolean =>
  header.chain === row.chain &&
  header.first_sequence === row.first_sequence &&
  seals.length === row.last_sequence - row.first_sequence + 1;

/** What is wrong with the file, and its rows as far as they are those of the record. */
const readSegment = async (
  archive: SegmentReader | null,
  row: AuditSegmentRow,
): Promise<Readonly<{ finding: Finding | null; seals: readonly SealedRow[] | null }>> => {
  const at = (kind: Finding['kind'], detail: string): Finding => ({
    kind,
    sequence: row.first_sequence,
    audit_log_id: null,
    detail,
  });
  const name = `Segment ${row.file_name}`;
  if (archive === null)
    return { finding: at('deleted', `${name} cannot be read: GPUAAS_AUDIT_ARCHIVE_DIR is not set.`), seals: null };
  const file = await archive.read(row.file_name);
  if (file === undefined) return { finding: at('deleted', `${name} is missing.`), seals: null };
  const segment = decodeSegment(file.lines);
  if (segment === null) return { finding: at('edited', `${name} cannot be read as a segment.`), seals: null };
  if (!isOfRange(segment, row))
    return { finding: at('reordered', `${name} holds other rows than recorded.`), seals: null };
  const isAsWritten = file.is_signed && file.sha256.equals(row.file_sha256);
  return {
    finding: isAsWritten ? null : at('edited', `${name} is not the file that was written.`),
    seals: segment.seals,
  };
};

/**
 * Gives the check the archived rows of its chain. Rows that are in a segment and still in the database are checked there;
 * their file is only compared with its record.
 */
export const takeSegments = async (
  { database, archive }: Readonly<{ database: Database; archive: SegmentReader | null }>,
  chain: string,
  check: ChainCheck,
): Promise<Readonly<{ archived_to: number; findings: readonly Finding[] }>> => {
  const findings: Finding[] = [];
  let archived_to = 0;
  for (const row of await database.read(PLATFORM, (reader) => listSegments(reader, chain))) {
    const { finding, seals } = await readSegment(archive, row);
    if (finding !== null) findings.push(finding);
    if (row.removed_at === null) continue;
    if (seals === null) check.skip({ sequence: row.last_sequence, hash: row.last_hash });
    else check.take(seals);
    archived_to = row.last_sequence;
  }
  return { archived_to, findings };
};

/** Times of the filter have milliseconds, those of rows microseconds. */
const toMicroseconds = (time: string): string => `${time.slice(0, 23)}000Z`;

const matches = (row: ChainedRow, filter: AuditFilter): boolean => {
  const { since, until, ...equal } = filter;
  return (
    Object.entries(equal).every(([name, value]) => value === undefined || row[name as keyof typeof equal] === value) &&
    (since === undefined || row.created_at_us >= toMicroseconds(since)) &&
    (until === undefined || row.created_at_us < toMicroseconds(until))
  );
};

const rowOf = ({ xid: _, created_at_us, metadata_text, ...row }: ChainedRow): AuditLogRow => ({
  ...row,
  actor_kind: row.actor_kind as AuditLogRow['actor_kind'],
  result: row.result as AuditLogRow['result'],
  created_at: `${created_at_us.slice(0, 23)}Z`,
  metadata: JSON.parse(metadata_text) as AuditLogRow['metadata'],
  sealed: true,
});

/** The rows of these segments that the filter selects, oldest first. */
export const listArchived = async function* (
  archive: SegmentReader | null,
  segments: readonly AuditSegmentRow[],
  filter: AuditFilter,
): AsyncGenerator<AuditLogRow> {
  for (const segment of segments) {
    if (filter.since !== undefined && Date.parse(segment.last_row_at) < Date.parse(filter.since) - 1) continue;
    if (filter.until !== undefined && Date.parse(segment.first_row_at) >= Date.parse(filter.until)) continue;
    const { seals } = await readSegment(archive, segment);
    if (seals === null)
      throw new AppError(
        'unavailable',
        'Archived audit rows cannot be read. Ask an operator to check the archive directory, or export from a later time.',
      );
    for (const { row } of seals) if (row !== null && matches(row, filter)) yield rowOf(row);
  }
};
