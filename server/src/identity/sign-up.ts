/**
 * First sign-in: a user, a personal organization and its default project, in one transaction. Two first requests at
 * once end with one user: the unique subject refuses the second, which then finds the first.
 */
import { mintId } from '@gpuaas/kit';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { insertMembership, insertOrganization, organizationNameTaken } from '../db/organization.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { insertProject } from '../db/project.ts';
import { insertUser } from '../db/user.ts';
import type { VerifiedToken } from '../ports/identity/verifier.ts';

type Request = Readonly<{ correlation_id: string; source_ip: string; user_agent: string; superadmin: boolean }>;

/** A valid name from the address or subject, with a suffix when it is taken. */
const organizationName = async (tx: Tx, token: VerifiedToken): Promise<string> => {
  const base =
    (token.email?.split('@')[0] ?? token.name)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 50)
      .replace(/-+$/, '') || 'personal';
  return (await organizationNameTaken(tx, base)) ? `${base}-${mintId('x').slice(-8)}` : base;
};

const create = async (tx: Tx, token: VerifiedToken, request: Request): Promise<void> => {
  const userId = mintId('usr');
  const organizationId = mintId('org');
  const projectId = mintId('prj');
  await insertUser(tx, {
    id: userId,
    issuer: token.issuer,
    subject: token.subject,
    name: token.name,
    email: token.email,
    email_verified: token.email_verified,
    platform_role: request.superadmin ? 'superadmin' : null,
  });
  const name = await organizationName(tx, token);
  await insertOrganization(tx, {
    id: organizationId,
    name,
    display_name: token.name,
    kind: 'personal',
    created_by: userId,
  });
  await insertMembership(tx, { organization_id: organizationId, user_id: userId, role: 'owner' });
  await insertProject(tx, { id: projectId, organization_id: organizationId, name: 'default', display_name: 'Default' });
  const bound = { organization_id: organizationId, project_id: projectId };
  await insertAuditLog(tx, {
    ...bound,
    project_id: null,
    actor_kind: 'user',
    actor_id: userId,
    actor_role: null,
    source_ip: request.source_ip,
    user_agent: request.user_agent,
    action: 'user.create',
    target_kind: 'user',
    target_id: userId,
    result: 'success',
    error_code: null,
    policy: 'first sign-in creates a personal organization',
    correlation_id: request.correlation_id,
    metadata: {
      organization_id: organizationId,
      project_id: projectId,
      platform_role: request.superadmin ? 'superadmin' : null,
    },
  });
  const { correlation_id } = request;
  await insertOutboxEvent(tx, {
    ...bound,
    project_id: null,
    event_type: 'organization.created',
    subject: organizationId,
    correlation_id,
    data: { organization_id: organizationId, name, kind: 'personal' },
  });
  await insertOutboxEvent(tx, {
    ...bound,
    event_type: 'project.created',
    subject: projectId,
    correlation_id,
    data: { project_id: projectId, name: 'default' },
  });
};

export const signUp = async (database: Database, token: VerifiedToken, request: Request): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.write(PLATFORM, (tx) => create(tx, token, request));
    } catch (err) {
      if (isUniqueViolation(err, 'users_issuer_subject_key')) return;
      // Another sign-up took the organization's name between the check and the insert.
      if (!isUniqueViolation(err, 'organizations_name_key') || attempt >= 3) throw err;
    }
  }
};
