/**
 * Ranges of audit chains that were written to signed files. A range is recorded once its file is on disk; its rows leave
 * the database through a function of the schema, which checks them against the record.
 */
import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { CLOCK_TRUSTED } from './predicates.ts';
import type { AuditSegments } from './types.gen.ts';

export type AuditSegmentRow = Readonly<
  Pick<
    AuditSegments,
    | 'chain'
    | 'first_sequence'
    | 'last_sequence'
    | 'previous_hash'
    | 'last_hash'
    | 'first_row_at'
    | 'last_row_at'
    | 'file_name'
    | 'file_sha256'
    | 'removed_at'
  >
>;

const SEGMENT = `e.chain, e.first_sequence, e.last_sequence, e.previous_hash, e.last_hash, e.first_row_at, e.last_row_at, e.file_name,
  e.file_sha256, e.removed_at`;

/** Where a chain continues after its last segment. */
export type Continuation = Readonly<{ chain: string; sequence: number; hash: Buffer | null; first_row_at: string }>;

/** Rows from before this time may be archived, in milliseconds; null while the clock of the database is not trusted. */
export const readArchiveLimit = async (reader: Reader, onlineDays: number): Promise<number | null> =>
  (
    await reader.query<{ until: number | null }>(
      `select case when ${CLOCK_TRUSTED} then (extract(epoch from now() - make_interval(days => $1)) * 1000)::float8 end as until`,
      [onlineDays],
    )
  ).rows[0]?.until ?? null;

/** How long the oldest row in the database has been older than so many days, in seconds. */
export const archiveLag = async (reader: Reader, onlineDays: number): Promise<number> =>
  (
    await queryByIndex<{ lag_s: number }>(
      reader,
      `select coalesce((select greatest(extract(epoch from clock_timestamp() - make_interval(days => $1) - l.created_at), 0)
         from audit_logs l order by l.id limit 1), 0)::float8 as lag_s`,
      [onlineDays],
    )
  ).rows[0]?.lag_s ?? 0;

/** Chains whose first row that is in no segment is older than so many days, the oldest first. */
export const listArchivable = async (reader: Reader, onlineDays: number, limit: number): Promise<Continuation[]> =>
  (
    await queryByIndex<Continuation>(
      reader,
      `select c.chain, coalesce(e.last_sequence, 0) as sequence, e.last_hash as hash, l.created_at as first_row_at
       from audit_chains c
       left join lateral (select x.last_sequence, x.last_hash from audit_segments x where x.chain = c.chain
         order by x.first_sequence desc limit 1) e on true
       join lateral (select s.audit_log_id from audit_seals s where s.chain = c.chain
         and s.sequence = coalesce(e.last_sequence, 0) + 1 limit 1) s on true
       join lateral (select x.created_at from audit_logs x where x.id = s.audit_log_id limit 1) l on true
       where l.created_at < now() - make_interval(days => $1) order by l.created_at limit $2`,
      [onlineDays, limit],
    )
  ).rows;

/** The database sets the times: they decide when the rows may go. */
export const insertSegment = async (
  tx: Tx,
  segment: Omit<AuditSegmentRow, 'first_row_at' | 'last_row_at' | 'removed_at'>,
): Promise<void> => {
  await tx.query(
    `insert into audit_segments (chain, first_sequence, last_sequence, previous_hash, last_hash, file_name, file_sha256)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      segment.chain,
      segment.first_sequence,
      segment.last_sequence,
      segment.previous_hash,
      segment.last_hash,
      segment.file_name,
      segment.file_sha256,
    ],
  );
};

/** Of one chain or all, in their order. */
export const listSegments = async (reader: Reader, chain: string | null): Promise<AuditSegmentRow[]> =>
  (
    await reader.query<AuditSegmentRow>(
      `select ${SEGMENT} from audit_segments e where $1::text is null or e.chain = $1 order by e.chain, e.first_sequence`,
      [chain],
    )
  ).rows;

/** Those whose rows are still in the database and may go: the first of each chain, the oldest first. */
export const listRemovable = async (reader: Reader, onlineDays: number, limit: number): Promise<AuditSegmentRow[]> =>
  (
    await reader.query<AuditSegmentRow>(
      `select ${SEGMENT} from audit_segments e where e.removed_at is null and e.created_at < now() - interval '1 day'
         and e.last_row_at < now() - make_interval(days => $1)
         and not exists (select from audit_segments b where b.chain = e.chain and b.first_sequence < e.first_sequence
           and b.removed_at is null)
       order by e.created_at limit $2`,
      [onlineDays, limit],
    )
  ).rows;

/** How many rows left the database. */
export const removeArchived = async (
  tx: Tx,
  { chain, first_sequence }: Pick<AuditSegmentRow, 'chain' | 'first_sequence'>,
  onlineDays: number,
): Promise<number> =>
  (
    await tx.query<{ removed: number }>('select remove_archived_audit($1, $2, $3) as removed', [
      chain,
      first_sequence,
      onlineDays,
    ])
  ).rows[0]?.removed ?? 0;

/** The time of the newest row that left the database, of one chain or all; null while every row is there. */
export const findArchivedUntil = async (reader: Reader, chain: string | null): Promise<string | null> =>
  (
    await reader.query<{ at: string | null }>(
      'select max(last_row_at) as at from audit_segments where removed_at is not null and ($1::text is null or chain = $1)',
      [chain],
    )
  ).rows[0]?.at ?? null;

/** How many segments have left the database: a number that only grows. */
export const countRemoved = async (reader: Reader): Promise<number> =>
  (await reader.query<{ count: number }>('select count(*) as count from audit_segments where removed_at is not null'))
    .rows[0]?.count ?? 0;
