/** Ends the approval of disks that moved, with the data disks of their former nodes. */
import type { Tx } from '../client.ts';

/** A disk that is in another place now is no data disk of these nodes any more. */
export const revokeDisksElsewhere = async (
  tx: Tx,
  nodeIds: readonly string[],
  serials: readonly string[],
  reason: string,
): Promise<void> => {
  await tx.query(
    `with gone as (update disk_ownerships set state = 'revoked', state_reason = $3, state_since = clock_timestamp(), version = version + 1
       where node_id = any ($1) and serial = any ($2) and state = 'owned' returning node_id, serial)
     update nodes n set version = n.version + 1, data_disks = coalesce((select jsonb_agg(d) from jsonb_array_elements(n.data_disks) d
         where not exists (select from gone where gone.node_id = n.id and gone.serial = d ->> 'serial')), '[]')
     where n.id in (select node_id from gone)`,
    [nodeIds, serials, reason],
  );
};
