import type { Reader, Tx } from './client.ts';

export type SshKeyRow = Readonly<{
  id: string;
  name: string;
  algorithm: string;
  public_key: string;
  fingerprint: string;
  last_used_at: string | null;
  created_at: string;
}>;

const KEY = 'id, name, algorithm, public_key, fingerprint, last_used_at, created_at';

type NewSshKey = Readonly<{
  id: string;
  user_id: string;
  name: string;
  algorithm: string;
  public_key: string;
  fingerprint: string;
}>;

export const insertSshKey = async (tx: Tx, row: NewSshKey): Promise<SshKeyRow | undefined> =>
  (
    await tx.query<SshKeyRow>(
      `insert into ssh_keys (id, user_id, name, algorithm, public_key, fingerprint) values ($1, $2, $3, $4, $5, $6) returning ${KEY}`,
      [row.id, row.user_id, row.name, row.algorithm, row.public_key, row.fingerprint],
    )
  ).rows[0];

export const listSshKeys = async (
  reader: Reader,
  userId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<SshKeyRow[]> =>
  (
    await reader.query<SshKeyRow>(
      `select ${KEY} from ssh_keys where user_id = $1 and ($2::text is null or id > $2) order by id limit $3`,
      [userId, page.after, page.limit],
    )
  ).rows;

export const findSshKey = async (reader: Reader, userId: string, id: string): Promise<SshKeyRow | undefined> =>
  (await reader.query<SshKeyRow>(`select ${KEY} from ssh_keys where user_id = $1 and id = $2`, [userId, id])).rows[0];

export const deleteSshKey = async (tx: Tx, userId: string, id: string): Promise<boolean> =>
  (await tx.query('delete from ssh_keys where user_id = $1 and id = $2', [userId, id])).rowCount === 1;
