/** One successful request for each operation of users and projects. */
import type { TestApi } from './request.ts';
import { must, present, type Scenarios } from './request.ts';

type Made = Readonly<{ id: string; version: number }>;

const ofOrganization = ({ seedIds }: TestApi) => ({ organization_id: seedIds.organization_id });
export const ofProject = ({ seedIds }: TestApi) => ({ project_id: seedIds.project_id });
const account = ({ seedIds }: TestApi) => ({
  project_id: seedIds.project_id,
  service_account_id: seedIds.service_account_id,
});
const member = ({ seedIds }: TestApi) => ({ organization_id: seedIds.organization_id, user_id: seedIds.users.member });

const TOKEN = { name: 'for a test', scopes: ['read'], expires_in_s: 3600 };
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
export const LAUNCH = { sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count: 1 };

export const openQuotaRequest = ({ world }: TestApi): string =>
  present(
    world.quotaRequests.find((one) => one.state === 'open'),
    'an open quota request',
  ).id;

const newProject = (api: TestApi): Promise<Made> =>
  must(api, 'projectCreate', { params: ofOrganization(api), body: { name: 'short-lived' } });

export const tenantScenarios = {
  meGet: () => ({}),
  organizationList: () => ({}),
  organizationCreate: () => ({ body: { name: 'initech' } }),
  organizationGet: (api) => ({ params: ofOrganization(api) }),
  organizationUpdate: (api) => ({ params: ofOrganization(api), body: { display_name: 'Acme AI' }, if_match: 1 }),
  organizationLimitList: (api) => ({ params: ofOrganization(api) }),
  organizationMemberList: (api) => ({ params: ofOrganization(api) }),
  organizationMemberUpdate: (api) => ({ params: member(api), body: { role: 'admin' }, if_match: 1 }),
  organizationMemberRemove: (api) => ({ params: member(api) }),
  invitationList: (api) => ({ params: ofOrganization(api) }),
  invitationCreate: (api) => ({ params: ofOrganization(api), body: { email: 'nils@acme.example', role: 'viewer' } }),
  invitationRevoke: ({ world, seedIds }) => ({
    params: {
      organization_id: seedIds.organization_id,
      invitation_id: present(world.invitations[0], 'an invitation').id,
    },
  }),
  invitationAccept: async (api) => {
    const body = { email: 'olga@acme.example', role: 'viewer' };
    // Another owner invites, and the invited user is not a member yet.
    api.signInAs('owner');
    const { token } = await must<{ token: string }>(api, 'invitationCreate', { params: ofOrganization(api), body });
    api.signInAs('operator');
    for (const one of api.world.members.filter((row) => row.user_id === api.seedIds.users.operator))
      api.world.members.splice(api.world.members.indexOf(one), 1);
    return { body: { token } };
  },
  quotaRequestList: (api) => ({ params: ofOrganization(api) }),
  quotaRequestCreate: (api) => ({
    params: ofOrganization(api),
    body: { gpu_limit: 96, reason: 'A larger run' },
  }),
  quotaRequestWithdraw: (api) => ({
    params: { ...ofOrganization(api), quota_request_id: openQuotaRequest(api) },
  }),
  projectList: (api) => ({ params: ofOrganization(api) }),
  projectCreate: (api) => ({ params: ofOrganization(api), body: { name: 'vision' } }),
  projectGet: (api) => ({ params: ofProject(api) }),
  projectUpdate: (api) => ({ params: ofProject(api), body: { display_name: 'All research' }, if_match: 1 }),
  projectDelete: async (api) => ({ params: { project_id: (await newProject(api)).id } }),
  projectMemberList: (api) => ({ params: ofProject(api) }),
  projectMemberPut: ({ seedIds }) => ({
    params: { project_id: seedIds.project_id, user_id: seedIds.outsider_id },
    body: { role: 'viewer' },
  }),
  projectMemberRemove: ({ seedIds }) => ({ params: { project_id: seedIds.project_id, user_id: seedIds.users.member } }),
  serviceAccountList: (api) => ({ params: ofProject(api) }),
  serviceAccountCreate: (api) => ({ params: ofProject(api), body: { name: 'ci' } }),
  serviceAccountGet: (api) => ({ params: account(api) }),
  serviceAccountUpdate: (api) => ({ params: account(api), body: { state: 'disabled' }, if_match: 1 }),
  serviceAccountDelete: (api) => ({ params: account(api) }),
  serviceAccountSecretRotate: (api) => ({ params: account(api), body: {} }),
  serviceAccountTokenList: (api) => ({ params: account(api) }),
  serviceAccountTokenCreate: (api) => ({ params: account(api), body: TOKEN }),
  serviceAccountTokenRevoke: (api) => ({
    params: {
      ...account(api),
      token_id: present(
        api.world.tokens.find((one) => one.owner_id === api.seedIds.service_account_id),
        'a token',
      ).id,
    },
  }),
  serviceAccountTokenIssue: ({ world, seedIds }) => ({
    body: {
      grant_type: 'client_credentials',
      client_id: seedIds.service_account_id,
      client_secret: present(world.serviceAccounts.get(seedIds.service_account_id), 'an account').secret,
    },
  }),
  apiTokenList: () => ({}),
  apiTokenCreate: () => ({ body: TOKEN }),
  apiTokenRevoke: ({ world, seedIds }) => ({
    params: {
      token_id: present(
        world.tokens.find((one) => one.owner_id === seedIds.users.operator),
        'a token',
      ).id,
    },
  }),
  sshKeyList: () => ({}),
  sshKeyCreate: () => ({ body: { name: 'new-laptop', public_key: PUBLIC_KEY } }),
  sshKeyGet: ({ seedIds }) => ({ params: { ssh_key_id: seedIds.ssh_key_id } }),
  sshKeyDelete: ({ seedIds }) => ({ params: { ssh_key_id: seedIds.ssh_key_id } }),
  webSessionList: () => ({}),
  webSessionRevoke: ({ world, seedIds }) => ({
    params: {
      web_session_id: present(
        world.webSessions.find((one) => one.user_id === seedIds.users.operator && !one.is_current),
        'another browser',
      ).id,
    },
  }),
  regionList: () => ({}),
  skuList: () => ({}),
  skuGet: () => ({ params: { sku_name: 'h200-sxm-slice' } }),
  osImageList: () => ({}),
  osImageGet: () => ({ params: { image_name: 'ubuntu-24.04-h200-cuda' } }),
  capacityList: (api) => ({ params: ofProject(api) }),
  quotaGet: (api) => ({ params: ofProject(api) }),
  usageList: (api) => ({ params: ofProject(api) }),
  usageSummaryGet: (api) => ({ params: ofProject(api) }),
  accessPolicyGet: (api) => ({ params: ofOrganization(api) }),
  accessPolicyUpdate: (api) => ({ params: ofOrganization(api), body: { records_terminals: true }, if_match: 1 }),
  auditLogList: (api) => ({ params: ofOrganization(api) }),
  auditLogExport: (api) => ({ params: ofOrganization(api) }),
  eventList: (api) => ({ params: ofProject(api) }),
  eventStream: (api) => ({ params: ofProject(api) }),
} satisfies Partial<Scenarios>;
