/**
 * One successful request per operation. The table is typed by the contract: an operation without a scenario, or with
 * foreign parts, does not compile. Each creates what it uses up, so that they run in any order.
 */
import { randomUUID } from 'node:crypto';
import { aWebSession } from './access.ts';
import type { Caller } from './app.ts';
import type { Scenarios } from './scenario.ts';
import { accessScenarios } from './scenarios-access.ts';
import { agentScenarios } from './scenarios-agent.ts';
import { allocationScenarios } from './scenarios-allocation.ts';
import { catalogScenarios } from './scenarios-catalog.ts';
import { fleetScenarios } from './scenarios-fleet.ts';
import { healthScenarios } from './scenarios-health.ts';
import { imageScenarios } from './scenarios-image.ts';
import { inventoryScenarios } from './scenarios-inventory.ts';
import { lifecycleScenarios } from './scenarios-lifecycle.ts';
import { restoreScenarios } from './scenarios-restore.ts';
import { setupScenarios } from './scenarios-setup.ts';
import { siteScenarios } from './scenarios-site.ts';
import { topologyScenarios } from './scenarios-topology.ts';
import { wipeScenarios } from './scenarios-wipe.ts';
import { insertRun, join, must, newSshKey, type Tenants } from './tenants.ts';

const unique = (word: string): string => `${word}-${randomUUID().slice(0, 8)}`;
const owner = ({ acme }: Tenants) => acme.owner;
const ofOrganization = ({ acme }: Tenants) => ({ organization_id: acme.organization_id });
const ofProject = ({ acme }: Tenants) => ({ project_id: acme.ids.project_id });

/** A user in acme and its project, for operations that change or remove one. */
const newMember = async (tenants: Tenants) => {
  const user = await tenants.test.user(unique('member'));
  await join(tenants.sql, tenants.acme, user.me.id, { tenant: 'member', project: 'viewer' });
  return user;
};

const newProject = async (tenants: Tenants): Promise<Readonly<{ id: string }>> =>
  must(
    await owner(tenants).post(`/api/v1/organizations/${tenants.acme.organization_id}/projects`, {
      name: unique('project'),
    }),
    201,
  ).body;

const newAccount = async (tenants: Tenants) => {
  const path = `/api/v1/projects/${tenants.acme.ids.project_id}/service-accounts`;
  const { service_account, client_secret } = must(
    await owner(tenants).post(path, { name: unique('account') }),
    201,
  ).body;
  return {
    id: String(service_account.id),
    secret: String(client_secret),
    params: ofAccount(tenants, service_account.id),
  };
};
const ofAccount = (tenants: Tenants, service_account_id: string) => ({ ...ofProject(tenants), service_account_id });
const theAccount = (tenants: Tenants) => ofAccount(tenants, tenants.acme.ids.service_account_id);
const TOKEN = { name: 'for a test', scopes: ['read'], expires_in_s: 3600 };

const newInvitation = async (tenants: Tenants, email: string) =>
  must(
    await owner(tenants).post(`/api/v1/organizations/${tenants.acme.organization_id}/invitations`, {
      email,
      role: 'viewer',
    }),
    201,
  ).body;

const newRun = (tenants: Tenants, state: 'stuck' | 'pending') =>
  insertRun(tenants.sql, {
    organization_id: tenants.acme.organization_id,
    project_id: tenants.acme.ids.project_id,
    state,
  });
const theRun = ({ acme }: Tenants) => ({ workflow_run_id: acme.ids.workflow_run_id });

const versionOf = async (caller: Caller, path: string): Promise<number> =>
  must(await caller.get(path), 200).body.version;

const asOwner = async (tenants: Tenants) => ({ as: owner(tenants) });
const atOrganization = async (tenants: Tenants) => ({ as: owner(tenants), params: ofOrganization(tenants) });
const atProject = async (tenants: Tenants) => ({ as: owner(tenants), params: ofProject(tenants) });
const asSuperadmin = async ({ superadmin }: Tenants) => ({ as: superadmin });

export const scenarios: Scenarios = {
  ...allocationScenarios,
  ...fleetScenarios,
  ...catalogScenarios,
  ...imageScenarios,
  ...agentScenarios,
  ...topologyScenarios,
  ...wipeScenarios,
  ...healthScenarios,
  ...inventoryScenarios,
  ...lifecycleScenarios,
  ...accessScenarios,
  ...restoreScenarios,
  ...setupScenarios,
  ...siteScenarios,
  meGet: asOwner,

  organizationList: asOwner,
  organizationCreate: async (tenants) => ({ as: owner(tenants), body: { name: unique('organization') } }),
  organizationGet: atOrganization,
  organizationUpdate: async (tenants) => ({
    ...(await atOrganization(tenants)),
    body: { display_name: 'Acme & Söhne' },
    if_match: await versionOf(owner(tenants), `/api/v1/organizations/${tenants.acme.organization_id}`),
  }),
  organizationLimitList: atOrganization,
  organizationMemberList: atOrganization,
  organizationMemberUpdate: async (tenants) => ({
    as: owner(tenants),
    params: { ...ofOrganization(tenants), user_id: (await newMember(tenants)).me.id },
    body: { role: 'viewer' },
    if_match: 1,
  }),
  organizationMemberRemove: async (tenants) => ({
    as: owner(tenants),
    params: { ...ofOrganization(tenants), user_id: (await newMember(tenants)).me.id },
  }),

  invitationList: atOrganization,
  invitationCreate: async (tenants) => ({
    ...(await atOrganization(tenants)),
    body: { email: 'new@example.com', role: 'member' },
  }),
  invitationRevoke: async (tenants) => ({
    as: owner(tenants),
    params: {
      ...ofOrganization(tenants),
      invitation_id: (await newInvitation(tenants, 'revoked@example.com')).invitation.id,
    },
  }),
  invitationAccept: async (tenants) => {
    const name = unique('invited');
    const { token } = await newInvitation(tenants, `${name}@example.com`);
    return { as: await tenants.test.user(name), body: { token } };
  },

  projectList: atOrganization,
  projectCreate: async (tenants) => ({ ...(await atOrganization(tenants)), body: { name: unique('project') } }),
  projectGet: atProject,
  projectUpdate: async (tenants) => ({
    ...(await atProject(tenants)),
    body: { display_name: 'Research' },
    if_match: await versionOf(owner(tenants), `/api/v1/projects/${tenants.acme.ids.project_id}`),
  }),
  projectDelete: async (tenants) => ({ as: owner(tenants), params: { project_id: (await newProject(tenants)).id } }),
  projectMemberList: atProject,
  projectMemberPut: async (tenants) => ({
    as: owner(tenants),
    params: { ...ofProject(tenants), user_id: (await newMember(tenants)).me.id },
    body: { role: 'admin' },
  }),
  projectMemberRemove: async (tenants) => ({
    as: owner(tenants),
    params: { ...ofProject(tenants), user_id: (await newMember(tenants)).me.id },
  }),

  serviceAccountList: atProject,
  serviceAccountCreate: async (tenants) => ({ ...(await atProject(tenants)), body: { name: unique('account') } }),
  serviceAccountGet: async (tenants) => ({ as: owner(tenants), params: theAccount(tenants) }),
  serviceAccountUpdate: async (tenants) => ({
    as: owner(tenants),
    params: (await newAccount(tenants)).params,
    body: { description: 'Builds images' },
    if_match: 1,
  }),
  serviceAccountDelete: async (tenants) => ({ as: owner(tenants), params: (await newAccount(tenants)).params }),
  serviceAccountSecretRotate: async (tenants) => ({
    as: owner(tenants),
    params: (await newAccount(tenants)).params,
    body: { overlap_s: 60 },
  }),
  serviceAccountTokenList: async (tenants) => ({ as: owner(tenants), params: theAccount(tenants) }),
  serviceAccountTokenCreate: async (tenants) => ({ as: owner(tenants), params: theAccount(tenants), body: TOKEN }),
  serviceAccountTokenRevoke: async (tenants) => {
    const { params } = await newAccount(tenants);
    const path = `/api/v1/projects/${params.project_id}/service-accounts/${params.service_account_id}/tokens`;
    const made = must(await owner(tenants).post(path, TOKEN), 201).body;
    return { as: owner(tenants), params: { ...params, token_id: made.api_token.id } };
  },
  serviceAccountTokenIssue: async (tenants) => {
    const { id, secret } = await newAccount(tenants);
    return { as: null, body: { grant_type: 'client_credentials', client_id: id, client_secret: secret } };
  },

  apiTokenList: asOwner,
  apiTokenCreate: async (tenants) => ({ as: owner(tenants), body: { ...TOKEN, ...ofProject(tenants) } }),
  apiTokenRevoke: async (tenants) => {
    const made = must(await owner(tenants).post('/api/v1/tokens', TOKEN), 201).body;
    return { as: owner(tenants), params: { token_id: made.api_token.id } };
  },

  webSessionList: asOwner,
  webSessionRevoke: async (tenants) => ({
    as: owner(tenants),
    params: { web_session_id: await aWebSession(tenants.sql, owner(tenants).me.id) },
  }),

  sshKeyList: asOwner,
  sshKeyCreate: async (tenants) => ({ as: owner(tenants), body: { name: unique('key'), public_key: newSshKey() } }),
  sshKeyGet: async (tenants) => ({ as: owner(tenants), params: { ssh_key_id: tenants.acme.ids.ssh_key_id } }),
  sshKeyDelete: async (tenants) => {
    const made = await owner(tenants).post('/api/v1/ssh-keys', { name: unique('key'), public_key: newSshKey() });
    return { as: owner(tenants), params: { ssh_key_id: must(made, 201).body.id } };
  },

  regionList: asOwner,
  skuList: asOwner,
  skuGet: async (tenants) => ({ as: owner(tenants), params: { sku_name: 'h200-sxm-slice' } }),
  osImageList: asOwner,
  osImageGet: async (tenants) => ({ as: owner(tenants), params: { image_name: 'ubuntu-24.04-h200-cuda' } }),

  auditLogList: atOrganization,
  auditLogExport: atOrganization,
  adminAuditLogList: asSuperadmin,
  adminAuditLogVerify: asSuperadmin,

  eventList: atProject,
  eventStream: atProject,
  organizationEventList: atOrganization,
  organizationEventStream: atOrganization,
  adminEventStream: asSuperadmin,

  traceGet: async (tenants) => ({ ...(await atProject(tenants)), query: { id: tenants.acme.ids.allocation_id } }),
  adminTraceGet: async ({ superadmin, acme }) => ({ as: superadmin, query: { id: acme.ids.node_id } }),

  workflowRunList: atProject,
  workflowRunGet: async (tenants) => ({ as: owner(tenants), params: { ...ofProject(tenants), ...theRun(tenants) } }),
  workflowRunStepList: async (tenants) => ({
    as: owner(tenants),
    params: { ...ofProject(tenants), ...theRun(tenants) },
  }),
  adminWorkflowRunList: asSuperadmin,
  adminWorkflowRunGet: async (tenants) => ({ as: tenants.superadmin, params: theRun(tenants) }),
  adminWorkflowRunStepList: async (tenants) => ({ as: tenants.superadmin, params: theRun(tenants) }),
  adminWorkflowRunRetry: async (tenants) => ({
    as: tenants.superadmin,
    params: { workflow_run_id: await newRun(tenants, 'stuck') },
    body: { step: 'first' },
  }),
  adminWorkflowRunCancel: async (tenants) => ({
    as: tenants.superadmin,
    params: { workflow_run_id: await newRun(tenants, 'pending') },
    body: { reason: 'No longer wanted' },
  }),

  adminOrganizationList: asSuperadmin,
  adminUserList: asSuperadmin,
  adminUserGet: async (tenants) => ({ as: tenants.superadmin, params: { user_id: tenants.acme.ids.user_id } }),
  adminUserUpdate: async (tenants) => ({
    as: tenants.superadmin,
    params: { user_id: (await newMember(tenants)).me.id },
    body: { state: 'disabled' },
    if_match: 1,
  }),
  adminRegionUpdate: async (tenants) => {
    const regions: { name: string; version: number }[] = must(await owner(tenants).get('/api/v1/regions'), 200).body
      .items;
    const version = regions.find((region) => region.name === 'eu-frankfurt-1')?.version ?? 0;
    return {
      as: tenants.superadmin,
      params: { region_name: 'eu-frankfurt-1' },
      body: { enabled: false, disabled_reason: 'Hosts arrive next month.' },
      if_match: version,
    };
  },
};
