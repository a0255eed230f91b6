/**
 * One request per operation that succeeds. The table is typed by the contract: an operation without a scenario, or
 * with parts that are not its own, does not compile. Each builds what it uses up, so that they run in any order.
 */
import { randomUUID } from 'node:crypto';
import { aWebSession } from './access.ts';
import type { Caller } from './app.ts';
import type { Scenarios } from './scenario.ts';
import { accessScenarios } from './scenarios-access.ts';
import { agentScenarios } from './scenarios-agent.ts';
import { allocationScenarios } from './scenarios-allocation.ts';
import { fleetScenarios } from './scenarios-fleet.ts';
import { healthScenarios } from './scenarios-health.ts';
import { imageScenarios } from './scenarios-image.ts';
import { inventoryScenarios } from './scenarios-inventory.ts';
import { lifecycleScenarios } from './scenarios-lifecycle.ts';
import { topologyScenarios } from './scenarios-topology.ts';
import { wipeScenarios } from './scenarios-wipe.ts';
import { type Cast, insertRun, join, must, newSshKey } from './tenants.ts';

const unique = (word: string): string => `${word}-${randomUUID().slice(0, 8)}`;
const owner = ({ acme }: Cast) => acme.owner;
const ofOrganization = ({ acme }: Cast) => ({ organization_id: acme.organization_id });
const ofProject = ({ acme }: Cast) => ({ project_id: acme.ids.project_id });

/** A person who belongs to acme and its project, for operations that change or remove one. */
const newMember = async (cast: Cast) => {
  const user = await cast.test.user(unique('member'));
  await join(cast.sql, cast.acme, user.me.id, { tenant: 'member', project: 'viewer' });
  return user;
};

const newProject = async (cast: Cast): Promise<Readonly<{ id: string }>> =>
  must(
    await owner(cast).post(`/api/v1/organizations/${cast.acme.organization_id}/projects`, { name: unique('project') }),
    201,
  ).body;

const newAccount = async (cast: Cast) => {
  const path = `/api/v1/projects/${cast.acme.ids.project_id}/service-accounts`;
  const { service_account, client_secret } = must(await owner(cast).post(path, { name: unique('account') }), 201).body;
  return { id: String(service_account.id), secret: String(client_secret), params: ofAccount(cast, service_account.id) };
};
const ofAccount = (cast: Cast, service_account_id: string) => ({ ...ofProject(cast), service_account_id });
const theAccount = (cast: Cast) => ofAccount(cast, cast.acme.ids.service_account_id);
const TOKEN = { name: 'for a test', scopes: ['read'], expires_in_s: 3600 };

const newInvitation = async (cast: Cast, email: string) =>
  must(
    await owner(cast).post(`/api/v1/organizations/${cast.acme.organization_id}/invitations`, { email, role: 'viewer' }),
    201,
  ).body;

const newRun = (cast: Cast, state: 'stuck' | 'pending') =>
  insertRun(cast.sql, { organization_id: cast.acme.organization_id, project_id: cast.acme.ids.project_id, state });
const theRun = ({ acme }: Cast) => ({ workflow_run_id: acme.ids.workflow_run_id });

const versionOf = async (caller: Caller, path: string): Promise<number> =>
  must(await caller.get(path), 200).body.version;

const asOwner = async (cast: Cast) => ({ as: owner(cast) });
const atOrganization = async (cast: Cast) => ({ as: owner(cast), params: ofOrganization(cast) });
const atProject = async (cast: Cast) => ({ as: owner(cast), params: ofProject(cast) });
const asSuperadmin = async ({ superadmin }: Cast) => ({ as: superadmin });

export const scenarios: Scenarios = {
  ...allocationScenarios,
  ...fleetScenarios,
  ...imageScenarios,
  ...agentScenarios,
  ...topologyScenarios,
  ...wipeScenarios,
  ...healthScenarios,
  ...inventoryScenarios,
  ...lifecycleScenarios,
  ...accessScenarios,
  meGet: asOwner,

  organizationList: asOwner,
  organizationCreate: async (cast) => ({ as: owner(cast), body: { name: unique('organization') } }),
  organizationGet: atOrganization,
  organizationUpdate: async (cast) => ({
    ...(await atOrganization(cast)),
    body: { display_name: 'Acme & Söhne' },
    if_match: await versionOf(owner(cast), `/api/v1/organizations/${cast.acme.organization_id}`),
  }),
  organizationMemberList: atOrganization,
  organizationMemberUpdate: async (cast) => ({
    as: owner(cast),
    params: { ...ofOrganization(cast), user_id: (await newMember(cast)).me.id },
    body: { role: 'viewer' },
    if_match: 1,
  }),
  organizationMemberRemove: async (cast) => ({
    as: owner(cast),
    params: { ...ofOrganization(cast), user_id: (await newMember(cast)).me.id },
  }),

  invitationList: atOrganization,
  invitationCreate: async (cast) => ({
    ...(await atOrganization(cast)),
    body: { email: 'new@example.com', role: 'member' },
  }),
  invitationRevoke: async (cast) => ({
    as: owner(cast),
    params: {
      ...ofOrganization(cast),
      invitation_id: (await newInvitation(cast, 'revoked@example.com')).invitation.id,
    },
  }),
  invitationAccept: async (cast) => {
    const name = unique('invited');
    const { token } = await newInvitation(cast, `${name}@example.com`);
    return { as: await cast.test.user(name), body: { token } };
  },

  projectList: atOrganization,
  projectCreate: async (cast) => ({ ...(await atOrganization(cast)), body: { name: unique('project') } }),
  projectGet: atProject,
  projectUpdate: async (cast) => ({
    ...(await atProject(cast)),
    body: { display_name: 'Research' },
    if_match: await versionOf(owner(cast), `/api/v1/projects/${cast.acme.ids.project_id}`),
  }),
  projectDelete: async (cast) => ({ as: owner(cast), params: { project_id: (await newProject(cast)).id } }),
  projectMemberList: atProject,
  projectMemberPut: async (cast) => ({
    as: owner(cast),
    params: { ...ofProject(cast), user_id: (await newMember(cast)).me.id },
    body: { role: 'admin' },
  }),
  projectMemberRemove: async (cast) => ({
    as: owner(cast),
    params: { ...ofProject(cast), user_id: (await newMember(cast)).me.id },
  }),

  serviceAccountList: atProject,
  serviceAccountCreate: async (cast) => ({ ...(await atProject(cast)), body: { name: unique('account') } }),
  serviceAccountGet: async (cast) => ({ as: owner(cast), params: theAccount(cast) }),
  serviceAccountUpdate: async (cast) => ({
    as: owner(cast),
    params: (await newAccount(cast)).params,
    body: { description: 'Builds images' },
    if_match: 1,
  }),
  serviceAccountDelete: async (cast) => ({ as: owner(cast), params: (await newAccount(cast)).params }),
  serviceAccountSecretRotate: async (cast) => ({
    as: owner(cast),
    params: (await newAccount(cast)).params,
    body: { overlap_s: 60 },
  }),
  serviceAccountTokenList: async (cast) => ({ as: owner(cast), params: theAccount(cast) }),
  serviceAccountTokenCreate: async (cast) => ({ as: owner(cast), params: theAccount(cast), body: TOKEN }),
  serviceAccountTokenRevoke: async (cast) => {
    const { params } = await newAccount(cast);
    const path = `/api/v1/projects/${params.project_id}/service-accounts/${params.service_account_id}/tokens`;
    const made = must(await owner(cast).post(path, TOKEN), 201).body;
    return { as: owner(cast), params: { ...params, token_id: made.api_token.id } };
  },
  serviceAccountTokenIssue: async (cast) => {
    const { id, secret } = await newAccount(cast);
    return { as: null, body: { grant_type: 'client_credentials', client_id: id, client_secret: secret } };
  },

  apiTokenList: asOwner,
  apiTokenCreate: async (cast) => ({ as: owner(cast), body: { ...TOKEN, ...ofProject(cast) } }),
  apiTokenRevoke: async (cast) => {
    const made = must(await owner(cast).post('/api/v1/tokens', TOKEN), 201).body;
    return { as: owner(cast), params: { token_id: made.api_token.id } };
  },

  webSessionList: asOwner,
  webSessionRevoke: async (cast) => ({
    as: owner(cast),
    params: { web_session_id: await aWebSession(cast.sql, owner(cast).me.id) },
  }),

  sshKeyList: asOwner,
  sshKeyCreate: async (cast) => ({ as: owner(cast), body: { name: unique('key'), public_key: newSshKey() } }),
  sshKeyGet: async (cast) => ({ as: owner(cast), params: { ssh_key_id: cast.acme.ids.ssh_key_id } }),
  sshKeyDelete: async (cast) => {
    const made = await owner(cast).post('/api/v1/ssh-keys', { name: unique('key'), public_key: newSshKey() });
    return { as: owner(cast), params: { ssh_key_id: must(made, 201).body.id } };
  },

  regionList: asOwner,
  skuList: asOwner,
  skuGet: async (cast) => ({ as: owner(cast), params: { sku_name: 'h200-sxm-slice' } }),
  osImageList: asOwner,
  osImageGet: async (cast) => ({ as: owner(cast), params: { image_name: 'ubuntu-24.04-h200-cuda' } }),

  auditLogList: atOrganization,
  auditLogExport: atOrganization,
  adminAuditLogList: asSuperadmin,
  adminAuditLogVerify: asSuperadmin,

  eventList: atProject,
  eventStream: atProject,
  adminEventStream: asSuperadmin,

  traceGet: async (cast) => ({ ...(await atProject(cast)), query: { id: cast.acme.ids.allocation_id } }),
  adminTraceGet: async ({ superadmin, acme }) => ({ as: superadmin, query: { id: acme.ids.node_id } }),

  workflowRunList: atProject,
  workflowRunGet: async (cast) => ({ as: owner(cast), params: { ...ofProject(cast), ...theRun(cast) } }),
  workflowRunStepList: async (cast) => ({ as: owner(cast), params: { ...ofProject(cast), ...theRun(cast) } }),
  adminWorkflowRunList: asSuperadmin,
  adminWorkflowRunGet: async (cast) => ({ as: cast.superadmin, params: theRun(cast) }),
  adminWorkflowRunStepList: async (cast) => ({ as: cast.superadmin, params: theRun(cast) }),
  adminWorkflowRunRetry: async (cast) => ({
    as: cast.superadmin,
    params: { workflow_run_id: await newRun(cast, 'stuck') },
    body: { step: 'first' },
  }),
  adminWorkflowRunCancel: async (cast) => ({
    as: cast.superadmin,
    params: { workflow_run_id: await newRun(cast, 'pending') },
    body: { reason: 'No longer wanted' },
  }),

  adminOrganizationList: asSuperadmin,
  adminUserList: asSuperadmin,
  adminUserGet: async (cast) => ({ as: cast.superadmin, params: { user_id: cast.acme.ids.user_id } }),
  adminUserUpdate: async (cast) => ({
    as: cast.superadmin,
    params: { user_id: (await newMember(cast)).me.id },
    body: { state: 'disabled' },
    if_match: 1,
  }),
  adminRegionUpdate: async (cast) => {
    const regions: { name: string; version: number }[] = must(await owner(cast).get('/api/v1/regions'), 200).body.items;
    const version = regions.find((region) => region.name === 'eu-frankfurt-1')?.version ?? 0;
    return {
      as: cast.superadmin,
      params: { region_name: 'eu-frankfurt-1' },
      body: { enabled: false, disabled_reason: 'Hosts arrive next month.' },
      if_match: version,
    };
  },
  adminSkuUpdate: async (cast) => ({
    as: cast.superadmin,
    params: { sku_name: 'h200-sxm-slice' },
    body: { gpu_hourly_price_minor: 475 },
    if_match: await versionOf(owner(cast), '/api/v1/skus/h200-sxm-slice'),
  }),
};
