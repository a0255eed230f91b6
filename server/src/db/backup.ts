/** Backups of the database, as the backup job records them. */
import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { Backups } from './types.gen.ts';

export type BackupRow = Readonly<
  Pick<Backups, 'id' | 'taken_at' | 'location' | 'size_bytes' | 'recorded_at' | 'recorded_by'>
>;

const COLUMNS = 'id, taken_at, location, size_bytes, recorded_at, recorded_by';

/** Of a page: the data is older than this, or as old and recorded before this ID. */
export type BackupsBefore = Readonly<{ taken_at: string; id: string }>;

/** Newest data first. */
export const listBackups = async (
  reader: Reader,
  page: Readonly<{ before: BackupsBefore | null; limit: number }>,
): Promise<BackupRow[]> =>
  (
    await reader.query<BackupRow>(
      `select ${COLUMNS} from backups where $1::timestamptz is null or (taken_at, id) < ($1, $2)
       order by taken_at desc, id desc limit $3`,
      [page.before?.taken_at ?? null, page.before?.id ?? null, page.limit],
    )
  ).rows;

export const findNewestBackup = async (reader: Reader): Promise<BackupRow | undefined> =>
  (await listBackups(reader, { before: null, limit: 1 }))[0];

const INSERT_BACKUP = statement(
  {
    id: 'text',
    taken_at: 'timestamptz',
    location: 'text',
    size_bytes: 'bigint | null',
    recorded_by: 'text',
    correlation_id: 'text',
  },
  `insert into backups (id, taken_at, location, size_bytes, recorded_by, correlation_id)
   values (:id, :taken_at, :location, :size_bytes, :recorded_by, :correlation_id)
   on conflict (taken_at, location) do nothing`,
);

export type NewBackup = Readonly<
  Pick<Backups, 'id' | 'taken_at' | 'location' | 'size_bytes' | 'recorded_by' | 'correlation_id'>
>;

/** A backup that was recorded before stays as it is. */
export const ensureBackup = async (tx: Tx, backup: NewBackup): Promise<BackupRow> => {
  await INSERT_BACKUP.query(tx, backup);
  const { rows } = await tx.query<BackupRow>(`select ${COLUMNS} from backups where taken_at = $1 and location = $2`, [
    backup.taken_at,
    backup.location,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error('the recorded backup is missing');
  return row;
};

/** The newest one stays at any age: the site check reports its age. */
export const deleteOldBackups = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select id from backups where taken_at < now() - make_interval(days => $2)
           and id <> (select id from backups order by taken_at desc, id desc limit 1)
         order by taken_at limit $1)
       delete from backups b using old where b.id = old.id`,
      [limit, days],
    )
  ).rowCount;
