/** The users: an organization with two projects, a user of each role, another tenant, and their credentials. */
import type { TenantRole } from '@gpuaas/contract';
import { digestOf } from '../core/random.ts';
import type { User } from '../core/rows.ts';
import type { World } from '../core/world.ts';

export const ISSUER = 'https://login.acme.example';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The newcomer has no organization yet, but an invitation; no operator has approved who is waiting. */
export type Persona = 'operator' | 'owner' | 'member' | 'viewer' | 'newcomer' | 'waiting';
export type SeedIds = Readonly<{
  organization_id: string;
  project_id: string;
  other_project_id: string;
  neighbour_id: string;
  neighbour_project_id: string;
  users: Readonly<Record<Persona, string>>;
  /** A member of the organization without a project. */
  outsider_id: string;
  second_operator_id: string;
  ssh_key_id: string;
  service_account_id: string;
}>;

const person = (world: World, name: string, handle: string, platform_role: User['platform_role'] = null): string => {
  const user: User = {
    id: world.mint('user', world.now() - 120 * DAY_MS),
    name,
    email: `${handle}@acme.example`,
    issuer: ISSUER,
    subject: handle,
    platform_role,
    state: 'active',
    version: 1,
    last_seen_at: world.ago(9 * 60_000),
    created_at: world.ago(120 * DAY_MS),
  };
  world.users.set(user.id, user);
  return user.id;
};

const organization = (world: World, name: string, display_name: string, limit: number): string => {
  const id = world.mint('organization', world.now() - 120 * DAY_MS);
  const created_at = world.ago(120 * DAY_MS);
  world.organizations.set(id, { id, name, display_name, kind: 'enterprise', version: 1, created_at });
  world.quotas.set(id, { organization_id: id, project_id: null, limit, version: 2 });
  world.policies.set(id, {
    organization_id: id,
    session_idle_s: 1_800,
    session_max_s: 14_400,
    ends_with_sign_in: false,
    records_terminals: false,
    requires_recording: false,
    recording_days: 30,
    allows_service_accounts: false,
    version: 1,
    updated_at: created_at,
  });
  return id;
};

const project = (world: World, organization_id: string, name: string, display_name: string, limit: number): string => {
  const id = world.mint('project', world.now() - 119 * DAY_MS);
  const created_at = world.ago(119 * DAY_MS);
  const recording = { records_terminals: false, requires_recording: false };
  world.projects.set(id, { id, organization_id, name, display_name, ...recording, version: 1, created_at });
  world.quotas.set(id, { organization_id, project_id: id, limit, version: 2 });
  return id;
};

const join = (world: World, organization_id: string, user_id: string, role: TenantRole): void => {
  const user = world.users.get(user_id);
  world.members.push({
    organization_id,
    user_id,
    name: user?.name ?? '',
    email: user?.email ?? null,
    role,
    source: 'manual',
    version: 1,
    created_at: world.ago(100 * DAY_MS),
  });
};

const addTo = (world: World, project_id: string, user_id: string, role: 'admin' | 'member' | 'viewer'): void => {
  const user = world.users.get(user_id);
  world.projectMembers.push({
    project_id,
    user_id,
    name: user?.name ?? '',
    email: user?.email ?? null,
    role,
    source: 'manual',
    created_at: world.ago(90 * DAY_MS),
  });
};

const sshKey = (world: World, user_id: string, name: string, days: number): string => {
  const id = world.mint('ssh_key', world.now() - days * DAY_MS);
  world.sshKeys.set(id, {
    id,
    user_id,
    name,
    algorithm: 'ssh-ed25519',
    public_key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${btoa(digestOf(name, 32)).slice(0, 43)}`,
    fingerprint: `SHA256:${btoa(digestOf(name, 32)).slice(0, 43)}`,
    last_used_at: world.ago(2 * HOUR_MS),
    created_at: world.ago(days * DAY_MS),
  });
  return id;
};

const webSession = (world: World, user_id: string, user_agent: string, hours: number, is_current: boolean): void => {
  world.webSessions.push({
    id: world.mint('web_session', world.now() - hours * HOUR_MS),
    user_id,
    is_current,
    user_agent,
    source_ip: is_current ? '203.0.113.24' : '198.51.100.7',
    created_at: world.ago(hours * HOUR_MS),
    last_seen_at: world.ago(is_current ? 0 : hours * 20 * 60_000),
    expires_at: world.ago(-(12 - Math.min(hours, 11)) * HOUR_MS),
  });
};

const BROWSERS = [
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36', 1, true],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1', 7, false],
] as const;

const serviceAccount = (world: World, project_id: string): string => {
  const id = world.mint('service_account', world.now() - 60 * DAY_MS);
  world.serviceAccounts.set(id, {
    id,
    project_id,
    name: 'nightly-training',
    description: 'Launches the nightly run and gives its GPUs back.',
    state: 'enabled',
    secret_rotated_at: world.ago(20 * DAY_MS),
    last_used_at: world.ago(6 * HOUR_MS),
    version: 1,
    created_at: world.ago(60 * DAY_MS),
    secret: 'demo-secret-of-nightly-training',
  });
  return id;
};

const token = (world: World, owner_id: string, name: string, project_id: string | null): void => {
  world.tokens.push({
    id: world.mint('api_token', world.now() - 20 * DAY_MS),
    owner_id,
    name,
    token_prefix: `gpu_${digestOf(name, 6)}`,
    scopes: ['read', 'allocation.*'],
    project_id,
    expires_at: world.ago(-40 * DAY_MS),
    last_used_at: world.ago(3 * HOUR_MS),
    revoked_at: null,
    created_at: world.ago(20 * DAY_MS),
  });
};

/** The demo has a decided request of the tenant, an open one, a mapped group and somebody who waits for approval. */
const seedSite = (
  world: World,
  at: Readonly<{ organization_id: string; project_id: string; owner: string; waiting: string }>,
): void => {
  const { organization_id, project_id } = at;
  const request = {
    organization_id,
    granted_gpu_limit: null,
    decision_reason: null,
    requested_by: at.owner,
    decided_at: null,
  };
  world.quotaRequests.push(
    {
      ...request,
      id: world.mint('quota_request', world.now() - 30 * DAY_MS),
      project_id: null,
      gpu_limit: 128,
      reason: 'Two training runs at a time.',
      state: 'approved',
      granted_gpu_limit: 64,
      decision_reason: 'More hosts arrive in January.',
      decided_at: world.ago(29 * DAY_MS),
      created_at: world.ago(30 * DAY_MS),
    },
    {
      ...request,
      id: world.mint('quota_request', world.now() - 4 * HOUR_MS),
      project_id,
      gpu_limit: 48,
      reason: 'Larger batches for the vision model.',
      state: 'open',
      created_at: world.ago(4 * HOUR_MS),
    },
  );
  const user = world.users.get(at.waiting);
  if (user !== undefined) user.state = 'pending';
  world.signUpRequests.push({
    id: world.mint('sign_up_request', world.now() - 2 * HOUR_MS),
    user_id: at.waiting,
    name: 'Wendy Waiting',
    email: 'wendy@acme.example',
    email_verified: true,
    state: 'pending',
    reason: null,
    decided_by: null,
    decided_at: null,
    created_at: world.ago(2 * HOUR_MS),
  });
  world.groupMappings.push({
    id: world.mint('group_mapping', world.now() - 60 * DAY_MS),
    group: '/research',
    organization_id,
    organization_name: 'acme',
    project_id,
    project_name: 'research',
    role: 'member',
    created_at: world.ago(60 * DAY_MS),
  });
};

const invite = (world: World, organization_id: string, invited_by: string): void => {
  world.invitations.push({
    id: world.mint('invitation', world.now() - DAY_MS),
    organization_id,
    email: 'nadia@acme.example',
    role: 'member',
    state: 'pending',
    invited_by,
    expires_at: world.ago(-6 * DAY_MS),
    accepted_at: null,
    created_at: world.ago(DAY_MS),
    token: 'demo-invitation-of-nadia',
  });
};

export const seedPeople = (world: World): SeedIds => {
  const insiders = {
    operator: person(world, 'Olga Operator', 'olga', 'superadmin'),
    owner: person(world, 'Oscar Owner', 'oscar'),
    member: person(world, 'Mei Member', 'mei'),
    viewer: person(world, 'Vera Viewer', 'vera'),
  };
  const users = {
    ...insiders,
    newcomer: person(world, 'Nadia Newcomer', 'nadia'),
    waiting: person(world, 'Wendy Waiting', 'wendy'),
  };
  const outsider_id = person(world, 'Ned Newcomer', 'ned');
  const second_operator_id = person(world, 'Piet Operator', 'piet', 'ops');
  const organization_id = organization(world, 'acme', 'Acme Research', 64);
  const neighbour_id = organization(world, 'globex', 'Globex', 512);
  const project_id = project(world, organization_id, 'research', 'Research', 32);
  const other_project_id = project(world, organization_id, 'inference', 'Inference', 16);
  const neighbour_project_id = project(world, neighbour_id, 'training', 'Training', 512);
  join(world, organization_id, users.owner, 'owner');
  join(world, organization_id, users.operator, 'owner');
  join(world, organization_id, users.member, 'member');
  join(world, organization_id, users.viewer, 'viewer');
  join(world, organization_id, outsider_id, 'member');
  addTo(world, project_id, users.member, 'member');
  addTo(world, other_project_id, users.viewer, 'viewer');
  for (const user of Object.values(users))
    for (const [agent, hours, isCurrent] of BROWSERS) webSession(world, user, agent, hours, isCurrent);
  for (const user of Object.values(insiders)) {
    sshKey(world, user, 'laptop', 80);
    token(world, user, 'ci', project_id);
  }
  const ssh_key_id = [...world.sshKeys.values()].find((key) => key.user_id === users.operator)?.id ?? '';
  sshKey(world, users.operator, 'workstation', 30);
  const service_account_id = serviceAccount(world, project_id);
  token(world, service_account_id, 'cron', project_id);
  invite(world, organization_id, users.owner);
  seedSite(world, { organization_id, project_id, owner: users.owner, waiting: users.waiting });
  return {
    ...{ organization_id, project_id, other_project_id, neighbour_id, neighbour_project_id, users },
    ...{ outsider_id, second_operator_id, ssh_key_id, service_account_id },
  };
};
