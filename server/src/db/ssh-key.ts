import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { SshKeys } from './types.gen.ts';

export type SshKeyRow = Readonly<
  Pick<SshKeys, 'id' | 'name' | 'algorithm' | 'public_key' | 'fingerprint' | 'last_used_at' | 'created_at'>
>;

const KEY = 'id, name, algorithm, public_key, fingerprint, last_used_at, created_at';

type NewSshKey = Readonly<Pick<SshKeys, 'id' | 'user_id' | 'name' | 'algorithm' | 'public_key' | 'fingerprint'>>;

const INSERT_SSH_KEY = statement(
  { id: 'text', user_id: 'text', name: 'text', algorithm: 'text', public_key: 'text', fingerprint: 'text' },
  `insert into ssh_keys (id, user_id, name, algorithm, public_key, fingerprint)
   values (:id, :user_id, :name, :algorithm, :public_key, :fingerprint) returning ${KEY}`,
);

export const insertSshKey = async (tx: Tx, row: NewSshKey): Promise<SshKeyRow | undefined> =>
  (await INSERT_SSH_KEY.query<SshKeyRow>(tx, row)).rows[0];

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
