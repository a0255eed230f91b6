/** Recordings of terminals, part by part. */
import { ACCESS_DEFAULTS } from './access-policy.ts';
import type { Reader, Tx } from './client.ts';

export const insertRecordingPart = async (
  tx: Tx,
  part: Readonly<{ session_id: string; organization_id: string; part: number; sealed_content: Buffer }>,
): Promise<void> => {
  await tx.query(
    `insert into terminal_recordings (session_id, part, organization_id, sealed_content, keep_until)
     values ($1, $2, $3, $4, clock_timestamp() + make_interval(days => coalesce(
       (select recording_days from access_policies where organization_id = $3), $5)))`,
    [part.session_id, part.part, part.organization_id, part.sealed_content, ACCESS_DEFAULTS.recording_days],
  );
};

/** Parts of a recording in their order, after the one that was read last. */
export const listRecordingParts = async (
  reader: Reader,
  sessionId: string,
  page: Readonly<{ after: number; limit: number }>,
): Promise<Readonly<{ part: number; sealed_content: Buffer }>[]> =>
  (
    await reader.query<{ part: number; sealed_content: Buffer }>(
      `select r.part, r.sealed_content from terminal_recordings r where r.session_id = $1 and r.part > $2 and r.keep_until > clock_timestamp()
       order by r.part limit $3`,
      [sessionId, page.after, page.limit],
    )
  ).rows;

/** Parts never change, so none is locked first: a concurrent deletion finds fewer to remove. */
export const deleteOldRecordings = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select session_id, part from terminal_recordings where keep_until < now() order by keep_until limit $1)
       delete from terminal_recordings r using old where (r.session_id, r.part) = (old.session_id, old.part)`,
      [limit],
    )
  ).rowCount;
