/**
 * The owner of a credential, with all roles, in one query each. Runs in the platform scope, because no user is signed
 * in yet.
 */
import type { ProjectRole, TenantRole } from '@gpuaas/contract';
import type { Reader, Tx } from './client.ts';
import type { ApiTokens, ServiceAccounts, Users } from './types.gen.ts';

type Roles = Readonly<{
  tenants: Readonly<Record<string, TenantRole>>;
  projects: Readonly<Record<string, ProjectRole>>;
  personal_organization_id: string | null;
}>;

export type UserPrincipalRow = Roles &
  Readonly<
    Pick<Users, 'id' | 'name' | 'email' | 'email_verified' | 'platform_role' | 'state' | 'groups' | 'last_seen_at'>
  >;

/**
 * The personal organization of the user `u` is the one whose first membership is theirs: both rows are of one
 * transaction and have its time. Becoming owner of another user's organization is not enough, or that user would read
 * the new owner's audit rows.
 */
export const PERSONAL_ORGANIZATION = `
  (select m.organization_id from tenant_memberships m join organizations o on o.id = m.organization_id
    where m.user_id = u.id and o.kind = 'personal' and m.created_at = o.created_at) as personal_organization_id`;

const USER_WITH_ROLES = `
  u.id, u.name, u.email, u.email_verified, u.platform_role, u.state, u.groups, u.last_seen_at,
  coalesce((select jsonb_object_agg(m.organization_id, m.role) from tenant_memberships m where m.user_id = u.id), '{}') as tenants,
  coalesce((select jsonb_object_agg(p.project_id, p.role) from project_memberships p where p.user_id = u.id), '{}') as projects,
  ${PERSONAL_ORGANIZATION}`;

export const findUserBySubject = async (
  reader: Reader,
  issuer: string,
  subject: string,
): Promise<UserPrincipalRow | undefined> =>
  (
    await reader.query<UserPrincipalRow>(
      `select ${USER_WITH_ROLES} from users u where u.issuer = $1 and u.subject = $2`,
      [issuer, subject],
    )
  ).rows[0];

export type TokenPrincipalRow = Readonly<
  Pick<ApiTokens, 'kind' | 'scopes' | 'expires_at'> & {
    token_id: ApiTokens['id'];
    token_project_id: ApiTokens['project_id'];
    token_last_used_at: ApiTokens['last_used_at'];
    service_account: Readonly<Pick<ServiceAccounts, 'id' | 'name' | 'organization_id' | 'project_id' | 'state'>> | null;
  }
> & { [K in keyof UserPrincipalRow]: UserPrincipalRow[K] | null };

/** Only tokens that are neither revoked nor expired; the database's clock decides. */
export const findTokenPrincipal = async (reader: Reader, tokenHash: Buffer): Promise<TokenPrincipalRow | undefined> =>
  (
    await reader.query<TokenPrincipalRow>(
      `select t.id as token_id, t.kind, t.scopes, t.project_id as token_project_id, t.expires_at, t.last_used_at as token_last_used_at,
         (select jsonb_build_object('id', s.id, 'name', s.name, 'organization_id', s.organization_id, 'project_id', s.project_id, 'state', s.state)
            from service_accounts s where s.id = t.service_account_id and s.deleted_at is null) as service_account,
         ${USER_WITH_ROLES}
       from api_tokens t left join users u on u.id = t.user_id
       where t.token_hash = $1 and t.revoked_at is null and t.expires_at > now()`,
      [tokenHash],
    )
  ).rows[0];

export type WebSessionPrincipalRow = UserPrincipalRow &
  Readonly<{ web_session_id: string; expires_at: string; auth_time: string | null }>;

/** Only sessions that are neither ended nor idle for too long; the database's clock decides. */
export const findWebSessionPrincipal = async (
  reader: Reader,
  tokenHash: Buffer,
): Promise<WebSessionPrincipalRow | undefined> =>
  (
    await reader.query<WebSessionPrincipalRow>(
      `select w.id as web_session_id, w.expires_at, w.auth_time, ${USER_WITH_ROLES}
       from web_sessions w join users u on u.id = w.user_id
       where w.token_hash = $1 and w.idle_expires_at > clock_timestamp()`,
      [tokenHash],
    )
  ).rows[0];

/**
 * A member's roles, which stay until the end of this transaction; undefined for non-members. A removal or another role waits,
 * and then finds what the member has made.
 */
export const holdRolesAt = async (
  tx: Tx,
  userId: string,
  organizationId: string,
  projectId: string | null,
): Promise<{ tenant: TenantRole; project: ProjectRole | null } | undefined> => {
  const [organization, project] = await Promise.all([
    tx.query<{ role: TenantRole }>(
      'select role from tenant_memberships where organization_id = $2 and user_id = $1 for share',
      [userId, organizationId],
    ),
    tx.query<{ role: ProjectRole }>(
      'select role from project_memberships where project_id = $2 and user_id = $1 for share',
      [userId, projectId],
    ),
  ]);
  const tenant = organization.rows[0]?.role;
  return tenant === undefined ? undefined : { tenant, project: project.rows[0]?.role ?? null };
};

export const findProjectOrganization = async (reader: Reader, projectId: string): Promise<string | undefined> =>
  (
    await reader.query<{ organization_id: string }>(
      'select organization_id from projects where id = $1 and deleted_at is null',
      [projectId],
    )
  ).rows[0]?.organization_id;

export const hasSuperadmin = async (reader: Reader): Promise<boolean> =>
  (await reader.query("select 1 as one from users where platform_role = 'superadmin' and state = 'active' limit 1"))
    .rowCount > 0;
