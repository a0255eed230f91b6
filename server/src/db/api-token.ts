import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { ApiTokens } from './types.gen.ts';

export type ApiTokenRow = Readonly<
  Pick<
    ApiTokens,
    | 'id'
    | 'name'
    | 'token_prefix'
    | 'scopes'
    | 'project_id'
    | 'expires_at'
    | 'last_used_at'
    | 'revoked_at'
    | 'created_at'
  >
>;

const TOKEN = 'id, name, token_prefix, scopes, project_id, expires_at, last_used_at, revoked_at, created_at';

export type NewApiToken = Readonly<
  Pick<
    ApiTokens,
    | 'id'
    | 'kind'
    | 'user_id'
    | 'service_account_id'
    | 'organization_id'
    | 'project_id'
    | 'name'
    | 'token_prefix'
    | 'token_hash'
  > & {
    scopes: readonly string[];
    expires_in_s: number;
  }
>;

const INSERT_API_TOKEN = statement(
  {
    id: 'text',
    kind: 'text',
    user_id: 'text | null',
    service_account_id: 'text | null',
    organization_id: 'text | null',
    project_id: 'text | null',
    name: 'text',
    token_prefix: 'text',
    token_hash: 'bytea',
    scopes: 'text[]',
    expires_in_s: 'float8',
  },
  `insert into api_tokens (id, kind, user_id, service_account_id, organization_id, project_id, name, token_prefix, token_hash, scopes,
     expires_at)
   values (:id, :kind, :user_id, :service_account_id, :organization_id, :project_id, :name, :token_prefix, :token_hash, :scopes,
     now() + make_interval(secs => :expires_in_s)) returning ${TOKEN}`,
);

export const insertApiToken = async (tx: Tx, row: NewApiToken): Promise<ApiTokenRow | undefined> =>
  (await INSERT_API_TOKEN.query<ApiTokenRow>(tx, row)).rows[0];

type Owner = Readonly<{ user_id: string }> | Readonly<{ service_account_id: string }>;
const ownerOf = (owner: Owner): readonly [string, string] =>
  'user_id' in owner ? ['user_id', owner.user_id] : ['service_account_id', owner.service_account_id];

/** One-hour access tokens are not listed: there may be one per job, and they expire automatically. */
export const listApiTokens = async (
  reader: Reader,
  owner: Owner,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<ApiTokenRow[]> => {
  const [column, id] = ownerOf(owner);
  return (
    await reader.query<ApiTokenRow>(
      `select ${TOKEN} from api_tokens where ${column} = $1 and kind <> 'access' and ($2::text is null or id > $2) order by id limit $3`,
      [id, page.after, page.limit],
    )
  ).rows;
};

/** Revoking twice is the same as revoking once: false only when there is no such token. */
export const revokeApiToken = async (tx: Tx, owner: Owner, tokenId: string): Promise<boolean> => {
  const [column, id] = ownerOf(owner);
  return (
    (
      await tx.query(
        `update api_tokens set revoked_at = coalesce(revoked_at, now()) where ${column} = $1 and id = $2 and kind <> 'access'`,
        [id, tokenId],
      )
    ).rowCount === 1
  );
};

/** A day's grace keeps a token that just ended readable in lists and audit look-ups. */
export const deleteExpiredAccessTokens = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from api_tokens where kind = 'access' and expires_at < now() - interval '1 day'
         order by expires_at limit $1 for update skip locked)
       delete from api_tokens t using old where t.id = old.id`,
      [limit],
    )
  ).rowCount;

/** Revoked or expired long ago: lists show a token until then. */
export const deleteOldTokens = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select id from api_tokens where least(expires_at, revoked_at) < now() - make_interval(days => $2)
         order by least(expires_at, revoked_at) limit $1 for update skip locked)
       delete from api_tokens t using old where t.id = old.id`,
      [limit, days],
    )
  ).rowCount;
