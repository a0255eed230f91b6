/** Users, organizations, projects and credentials, as the API returns them. */
import type {
  ApiToken,
  Invitation,
  Organization,
  OrganizationMember,
  Project,
  ProjectMember,
  ServiceAccount,
  SshKey,
  User,
  WebSession,
} from '@gpuaas/sdk';
import { projectDeleteRefusal } from '../../server/src/domain/project-actions.ts';

export const id = (prefix: string, last: string): string =>
  `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
export const time = '2026-11-15T10:03:21.000Z';
export const later = '2026-12-15T10:03:21.000Z';

export const ids = {
  organization: id('org', '1a'),
  enterprise: id('org', '2b'),
  project: id('prj', '1a'),
  user: id('usr', '1a'),
  otherUser: id('usr', '2b'),
  token: id('tok', '1a'),
  webSession: id('wse', '1a'),
  account: id('sva', '1a'),
  key: id('key', '1a'),
  run: id('wfr', '1a'),
  invitation: id('inv', '1a'),
};

export const organization: Organization = {
  id: ids.organization,
  name: 'ada',
  display_name: 'Ada',
  kind: 'personal',
  version: 1,
  created_at: time,
};
export const enterprise: Organization = {
  ...organization,
  id: ids.enterprise,
  name: 'acme',
  display_name: 'Acme Research',
  kind: 'enterprise',
};
export const project: Project = {
  id: ids.project,
  organization_id: ids.organization,
  name: 'default',
  display_name: 'Default project of Ada with a long name',
  records_terminals: false,
  requires_recording: false,
  version: 3,
  created_at: time,
  actions: [
    {
      name: 'delete',
      allowed: false,
      reason: projectDeleteRefusal({ service_accounts: 0, allocations: ['train'] })?.reason ?? null,
    },
  ],
};
export const member: OrganizationMember = {
  user_id: ids.user,
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  role: 'admin',
  source: 'manual',
  version: 1,
  created_at: time,
};
export const projectMember: ProjectMember = {
  user_id: ids.user,
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  role: 'admin',
  source: 'manual',
  created_at: time,
};
export const webSession: WebSession = {
  id: ids.webSession,
  is_current: false,
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64) \u001b[31mAppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0',
  source_ip: '192.0.2.10',
  created_at: time,
  last_seen_at: time,
  expires_at: later,
};
export const token: ApiToken = {
  id: ids.token,
  name: 'ci',
  token_prefix: 'gp_ab12',
  scopes: ['read'],
  project_id: null,
  expires_at: later,
  last_used_at: null,
  revoked_at: null,
  created_at: time,
};
export const account: ServiceAccount = {
  id: ids.account,
  project_id: ids.project,
  name: 'robot',
  description: 'Runs the nightly jobs',
  state: 'enabled',
  secret_rotated_at: time,
  last_used_at: time,
  version: 2,
  created_at: time,
};
export const key: SshKey = {
  id: ids.key,
  name: 'laptop',
  algorithm: 'ssh-ed25519',
  public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8V',
  fingerprint: 'SHA256:0o8S1yIuLqwv0Z6o6mB7A0kNq7fD1xqk0r3mJq9c2dE',
  last_used_at: null,
  created_at: time,
};
export const invitation: Invitation = {
  id: ids.invitation,
  organization_id: ids.organization,
  email: 'grace@example.org',
  role: 'member',
  state: 'pending',
  invited_by: ids.user,
  expires_at: later,
  accepted_at: null,
  created_at: time,
};
export const user: User = {
  id: ids.user,
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  issuer: 'http://localhost:8080/oidc',
  subject: 'ada',
  platform_role: 'superadmin',
  state: 'active',
  version: 7,
  last_seen_at: time,
  created_at: time,
};
