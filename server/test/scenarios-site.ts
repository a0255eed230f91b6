/** Requests of what operators decide for the whole site, and of quota requests of tenants. */
import { randomUUID } from 'node:crypto';
import { mintId } from '@gpuaas/kit';
import type { Scenarios } from './scenario.ts';
import { must, type Tenants } from './tenants.ts';

const unique = (word: string): string => `${word}-${randomUUID().slice(0, 8)}`;
const SITE_POLICY = '/api/v1/admin/site-policy';
const REASON = { reason: 'For a test' };

/** Somebody who signed in under the policy `approved`. */
export const aSignUpRequest = async ({ sql }: Pick<Tenants, 'sql'>): Promise<string> => {
  const [id, userId, name] = [mintId('sur'), mintId('usr'), unique('waiting')];
  await sql.query(
    `with u as (insert into users (id, issuer, subject, name, email, email_verified, state)
       values ($2, 'test', $3, $3, $3 || '@example.com', true, 'pending') returning id)
     insert into sign_up_requests (id, user_id) select $1, id from u`,
    [id, userId, name],
  );
  return id;
};

/** A project of acme with a limit of its own, so that its request meets no other one. */
const aLimitedProject = async ({ acme, sql }: Tenants): Promise<string> => {
  const path = `/api/v1/organizations/${acme.organization_id}/projects`;
  const { id } = must(await acme.owner.post(path, { name: unique('limited') }), 201).body;
  await sql.query('insert into quotas (organization_id, project_id, gpu_limit) values ($1, $2, 2)', [
    acme.organization_id,
    id,
  ]);
  return id;
};

const requestsPath = ({ acme }: Tenants): string => `/api/v1/organizations/${acme.organization_id}/quota-requests`;
const wanted = async (tenants: Tenants) => ({
  project_id: await aLimitedProject(tenants),
  gpu_limit: 4,
  reason: 'A larger run',
});

export const aQuotaRequest = async (tenants: Tenants): Promise<string> =>
  must(await tenants.acme.owner.post(requestsPath(tenants), await wanted(tenants)), 201).body.id;

const ofOrganization = ({ acme }: Tenants) => ({ organization_id: acme.organization_id });
const mapping = ({ acme }: Tenants) => ({
  group: unique('/group'),
  organization_id: acme.organization_id,
  role: 'viewer' as const,
});

/** An export that names every mapped group, and nobody. */
export const groupMembersOf = async ({ superadmin, test }: Tenants) => {
  const { items } = must(await superadmin.get('/api/v1/admin/group-mappings?limit=200'), 200).body;
  const groups = items.map(({ group }: { group: string }): [string, string[]] => [group, []]);
  return { issuer: test.issuer.url, exported_at: new Date().toISOString(), groups: Object.fromEntries(groups) };
};

const SITE = '/api/v1/admin/site';
/** The site with another contact. */
const siteFile = async ({ superadmin }: Pick<Tenants, 'superadmin'>) => {
  const { version, policy } = must(await superadmin.get(SITE), 200).body;
  return { version, policy: { ...policy, contact: unique('operators') } };
};

export const siteScenarios = {
  adminSiteExport: async ({ superadmin }) => ({ as: superadmin }),
  adminSitePlan: async (tenants) => ({ as: tenants.superadmin, body: { site: await siteFile(tenants) } }),
  adminSiteApply: async (tenants) => {
    const site = await siteFile(tenants);
    const { hash } = must(await tenants.superadmin.post(`${SITE}/plan`, { site }), 200).body;
    return { as: tenants.superadmin, body: { site, hash } };
  },
  adminSitePolicyGet: async ({ superadmin }) => ({ as: superadmin }),
  adminSitePolicyUpdate: async ({ superadmin }) => ({
    as: superadmin,
    body: { contact: 'the operators' },
    if_match: must(await superadmin.get(SITE_POLICY), 200).body.version,
  }),
  adminOrganizationCreate: async ({ superadmin }) => ({
    as: superadmin,
    body: { name: unique('made'), owner_email: 'founder@example.com', gpu_limit: 8 },
  }),
  adminSignUpRequestList: async ({ superadmin }) => ({ as: superadmin }),
  adminSignUpRequestApprove: async (tenants) => ({
    as: tenants.superadmin,
    params: { sign_up_request_id: await aSignUpRequest(tenants) },
    body: {},
  }),
  adminSignUpRequestReject: async (tenants) => ({
    as: tenants.superadmin,
    params: { sign_up_request_id: await aSignUpRequest(tenants) },
    body: REASON,
  }),
  quotaRequestList: async (tenants) => ({ as: tenants.acme.owner, params: ofOrganization(tenants) }),
  quotaRequestCreate: async (tenants) => ({
    as: tenants.acme.owner,
    params: ofOrganization(tenants),
    body: await wanted(tenants),
  }),
  quotaRequestWithdraw: async (tenants) => ({
    as: tenants.acme.owner,
    params: { ...ofOrganization(tenants), quota_request_id: await aQuotaRequest(tenants) },
  }),
  adminQuotaRequestList: async ({ superadmin }) => ({ as: superadmin }),
  adminQuotaRequestApprove: async (tenants) => ({
    as: tenants.superadmin,
    params: { quota_request_id: await aQuotaRequest(tenants) },
    body: {},
  }),
  adminQuotaRequestReject: async (tenants) => ({
    as: tenants.superadmin,
    params: { quota_request_id: await aQuotaRequest(tenants) },
    body: REASON,
  }),
  adminGroupMappingList: async ({ superadmin }) => ({ as: superadmin }),
  adminGroupMappingCreate: async (tenants) => ({ as: tenants.superadmin, body: mapping(tenants) }),
  adminGroupMappingDelete: async (tenants) => {
    const made = await tenants.superadmin.post('/api/v1/admin/group-mappings', mapping(tenants));
    return { as: tenants.superadmin, params: { group_mapping_id: must(made, 201).body.id } };
  },
  adminGroupSync: async ({ superadmin }) => ({ as: superadmin }),
  adminGroupSyncPlan: async (tenants) => ({ as: tenants.superadmin, body: { members: await groupMembersOf(tenants) } }),
  adminGroupSyncApply: async (tenants) => {
    const members = await groupMembersOf(tenants);
    const planned = must(await tenants.superadmin.post('/api/v1/admin/group-mappings/sync/plan', { members }), 200);
    return { as: tenants.superadmin, body: { members, hash: planned.body.hash, accept_warnings: true } };
  },
} satisfies Partial<Scenarios>;
