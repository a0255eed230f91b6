/** Restores of the database from a backup, and the nodes whose destructive tasks are held since then. */
import type { Reader } from './client.ts';
import type { Restores } from './types.gen.ts';

export type EndedCredentials = Readonly<{
  api_tokens: number;
  service_account_secrets: number;
  web_sessions: number;
  terminal_sessions: number;
  invitations: number;
  enrollments: number;
}>;
export type LostChanges = Readonly<{ organization_id: string | null; audit_rows: number }>;

export type RestoreRow = Readonly<
  Pick<Restores, 'id' | 'began_at' | 'began_by' | 'reason' | 'older_than'> & {
    ended: EndedCredentials;
    lost_changes: LostChanges[];
  }
>;

export const findNewestRestore = async (reader: Reader): Promise<RestoreRow | undefined> =>
  (
    await reader.query<RestoreRow>(
      `select id, began_at, began_by, reason, older_than, ended, lost_changes from restores order by id desc limit 1`,
    )
  ).rows[0];

export type HeldNode = Readonly<{ node_id: string; name: string; inventory_at: string | null; findings: number }>;

/** A report from before the restore does not count: it came with the backup. */
export const listHeldNodes = async (reader: Reader): Promise<HeldNode[]> =>
  (
    await reader.query<HeldNode>(
      `select n.id as node_id, n.name, i.received_at as inventory_at, coalesce(jsonb_array_length(i.findings), 0) as findings
       from nodes n join restores r on r.id = n.restore_hold_id
         left join node_inventories i on i.node_id = n.id and i.received_at > r.began_at
       where n.restore_hold_id is not null order by n.name`,
    )
  ).rows;

export const countHeldNodes = async (reader: Reader): Promise<number> =>
  (await reader.query<{ count: number }>('select count(*) as count from nodes where restore_hold_id is not null'))
    .rows[0]?.count ?? 0;
