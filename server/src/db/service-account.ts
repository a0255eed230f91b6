import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { ServiceAccounts } from './types.gen.ts';

export type ServiceAccountRow = Readonly<
  Pick<
    ServiceAccounts,
    | 'id'
    | 'project_id'
    | 'name'
    | 'description'
    | 'state'
    | 'secret_rotated_at'
    | 'last_used_at'
    | 'version'
    | 'created_at'
  >
>;

export const ACCOUNT = 'id, project_id, name, description, state, secret_rotated_at, last_used_at, version, created_at';

type NewServiceAccount = Readonly<
  Pick<ServiceAccounts, 'id' | 'organization_id' | 'project_id' | 'name' | 'description' | 'secret_hash'>
>;

const INSERT_SERVICE_ACCOUNT = statement(
  {
    id: 'text',
    organization_id: 'text',
    project_id: 'text',
    name: 'text',
    description: 'text | null',
    secret_hash: 'bytea',
  },
  `insert into service_accounts (id, organization_id, project_id, name, description, secret_hash)
   values (:id, :organization_id, :project_id, :name, :description, :secret_hash) returning ${ACCOUNT}`,
);

export const insertServiceAccount = async (tx: Tx, row: NewServiceAccount): Promise<ServiceAccountRow | undefined> =>
  (await INSERT_SERVICE_ACCOUNT.query<ServiceAccountRow>(tx, row)).rows[0];

export const findServiceAccount = async (
  reader: Reader,
  projectId: string,
  id: string,
): Promise<ServiceAccountRow | undefined> =>
  (
    await reader.query<ServiceAccountRow>(
      `select ${ACCOUNT} from service_accounts where project_id = $1 and id = $2 and deleted_at is null`,
      [projectId, id],
    )
  ).rows[0];

export const listServiceAccounts = async (
  reader: Reader,
  projectId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<ServiceAccountRow[]> =>
  (
    await reader.query<ServiceAccountRow>(
      `select ${ACCOUNT} from service_accounts where project_id = $1 and deleted_at is null and ($2::text is null or id > $2) order by id limit $3`,
      [projectId, page.after, page.limit],
    )
  ).rows;

type Change = Readonly<{ state: 'enabled' | 'disabled' | null; description: string | null }>;

export const updateServiceAccount = async (
  tx: Tx,
  projectId: string,
  id: string,
  version: number,
  change: Change,
): Promise<ServiceAccountRow | undefined> =>
  (
    await tx.query<ServiceAccountRow>(
      `update service_accounts set state = coalesce($4, state), description = coalesce($5, description), version = version + 1
       where project_id = $1 and id = $2 and version = $3 and deleted_at is null returning ${ACCOUNT}`,
      [projectId, id, version, change.state, change.description],
    )
  ).rows[0];

export const rotateSecret = async (
  tx: Tx,
  projectId: string,
  id: string,
  secretHash: Buffer,
  overlapS: number,
): Promise<ServiceAccountRow | undefined> =>
  (
    await tx.query<ServiceAccountRow>(
      `update service_accounts set
         previous_secret_hash = case when $4 > 0 then secret_hash end,
         previous_secret_until = case when $4 > 0 then now() + make_interval(secs => $4) end,
         secret_hash = $3, secret_rotated_at = now(), version = version + 1
       where project_id = $1 and id = $2 and deleted_at is null returning ${ACCOUNT}`,
      [projectId, id, secretHash, overlapS],
    )
  ).rows[0];

export type SecretRow = Readonly<
  Pick<ServiceAccounts, 'id' | 'organization_id' | 'project_id' | 'state' | 'secret_hash' | 'previous_secret_hash'>
>;

/** Platform scope: the caller is not known yet. The previous secret is returned only while it is valid. */
export const findSecret = async (reader: Reader, id: string): Promise<SecretRow | undefined> =>
  (
    await reader.query<SecretRow>(
      `select id, organization_id, project_id, state, secret_hash, case when previous_secret_until > now() then previous_secret_hash end as previous_secret_hash
       from service_accounts where id = $1 and deleted_at is null`,
      [id],
    )
  ).rows[0];
