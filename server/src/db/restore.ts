/** Restores of the database from a backup, and the nodes whose destructive tasks are held since then. */
import type { IdentityChange } from '../domain/identity-change.ts';
import type { Reader } from './client.ts';
import { ALLOCATION_HELD } from './predicates.ts';
import type { Restores } from './types.gen.ts';

export type EndedCredentials = Readonly<{
  api_tokens: number;
  service_account_secrets: number;
  web_sessions: number;
  terminal_sessions: number;
  invitations: number;
  enrollments: number;
  node_certificates: number;
}>;
export type LostChanges = Readonly<{ organization_id: string | null; audit_rows: number }>;

export type LostIdentityChange = Omit<IdentityChange, 'chain' | 'sequence'>;

export type RestoreRow = Readonly<
  Pick<Restores, 'id' | 'began_at' | 'began_by' | 'reason' | 'older_than'> & {
    ended: EndedCredentials;
    lost_changes: LostChanges[];
    identity_changes: LostIdentityChange[];
  }
>;

export const findNewestRestore = async (reader: Reader): Promise<RestoreRow | undefined> =>
  (
    await reader.query<RestoreRow>(
      `select id, began_at, began_by, reason, older_than, jsonb_build_object('node_certificates', 0) || ended as ended, lost_changes, identity_changes
       from restores order by id desc limit 1`,
    )
  ).rows[0];

export type HeldKey = Readonly<{ allocation_id: string; user_id: string; user_name: string; fingerprint: string }>;
export type HeldNode = Readonly<{
  node_id: string;
  name: string;
  inventory_at: string | null;
  findings: number;
  ssh_keys: HeldKey[];
}>;

/** Of the allocations on `n`: the keys of their launches and their grants, as this database would install them. */
const KEYS_TO_INSTALL = `(select coalesce(jsonb_agg(jsonb_build_object('allocation_id', k.allocation_id, 'user_id', k.user_id,
    'user_name', k.user_name, 'fingerprint', k.fingerprint) order by k.allocation_id, k.fingerprint), '[]')
  from (select a.id as allocation_id, s.user_id, u.name as user_name, s.fingerprint from allocations a
      cross join lateral unnest(a.ssh_key_ids) as w (key_id) join ssh_keys s on s.id = w.key_id join users u on u.id = s.user_id
      where a.node_id = n.id and a.state ${ALLOCATION_HELD}
    union select g.allocation_id, g.user_id, g.user_name, g.fingerprint from allocation_access_grants g join allocations a on a.id = g.allocation_id
      where a.node_id = n.id and a.state ${ALLOCATION_HELD} and g.revoked_at is null) k)`;

/** A report from before the restore does not count: it came with the backup. */
export const listHeldNodes = async (reader: Reader): Promise<HeldNode[]> =>
  (
    await reader.query<HeldNode>(
      `select n.id as node_id, n.name, i.received_at as inventory_at, coalesce(jsonb_array_length(i.findings), 0) as findings,
         ${KEYS_TO_INSTALL} as ssh_keys
       from nodes n join restores r on r.id = n.restore_hold_id
         left join node_inventories i on i.node_id = n.id and i.received_at > r.began_at
       where n.restore_hold_id is not null order by n.name`,
    )
  ).rows;

export const countHeldNodes = async (reader: Reader): Promise<number> =>
  (await reader.query<{ count: number }>('select count(*) as count from nodes where restore_hold_id is not null'))
    .rows[0]?.count ?? 0;
