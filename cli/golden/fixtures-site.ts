/** What operators decide for the whole site, and quota requests, as the API returns them. */
import type {
  CallId,
  GroupMapping,
  GroupSyncPlan,
  Operations,
  QuotaRequest,
  SignUpRequest,
  SiteFile,
  SitePlan,
  SitePolicy,
} from '@gpuaas/sdk';
import { enterprise, id, ids, invitation, later, time } from './fixtures-identity.ts';

const page = <T>(...items: T[]) => ({ items, next_cursor: null });

export const siteIds = { quotaRequest: id('qrq', '1a'), signUpRequest: id('sur', '1a'), mapping: id('grm', '1a') };

const policy: SitePolicy = {
  sign_up: 'invited',
  mail_domains: ['example.com', 'example.org'],
  default_gpu_limit: 8,
  contact: 'gpu-team@example.com',
  version: 3,
  updated_at: time,
};
const signUp: SignUpRequest = {
  id: siteIds.signUpRequest,
  user_id: ids.otherUser,
  name: 'Grace Hopper',
  email: 'grace@example.org',
  email_verified: true,
  state: 'pending',
  reason: null,
  decided_by: null,
  decided_at: null,
  created_at: time,
};
const request: QuotaRequest = {
  id: siteIds.quotaRequest,
  organization_id: ids.organization,
  organization_name: 'ada',
  project_id: null,
  project_name: null,
  gpu_limit: 64,
  current_gpu_limit: 8,
  reason: 'Training of the vision model',
  state: 'open',
  granted_gpu_limit: null,
  decision_reason: null,
  requested_by: ids.user,
  decided_at: null,
  created_at: time,
};
const decided: QuotaRequest = {
  ...request,
  id: id('qrq', '2b'),
  state: 'approved',
  granted_gpu_limit: 32,
  decision_reason: 'More hosts arrive in January.',
  decided_at: later,
};
const mapping: GroupMapping = {
  id: siteIds.mapping,
  group: '/research',
  organization_id: enterprise.id,
  organization_name: enterprise.name,
  project_id: null,
  project_name: null,
  role: 'member',
  created_at: time,
};

const site: SiteFile = {
  version: 1,
  regions: [
    {
      name: 'us-buffalo-1',
      display_name: 'Buffalo, United States',
      wipe_minimum: 'clear',
      allows_wipe_override: false,
      fabric_isolation: 'none',
      enabled: true,
      disabled_reason: null,
    },
  ],
  prices: [
    { sku_name: 'h200-sxm-slice', gpu_hourly_price_minor: 450, currency: 'USD' },
    {
      sku_name: 'h200-sxm-slice',
      gpu_hourly_price_minor: 420,
      currency: 'USD',
      valid_from: '2027-01-01T00:00:00.000Z',
    },
  ],
  policy: { sign_up: 'invited', mail_domains: [], default_gpu_limit: 8, contact: null },
  quotas: [{ organization: 'acme', project: null, gpu_limit: 64 }],
  group_mappings: [],
};
export const noChanges: SitePlan = { hash: '5f0c9a1be2d47763', changes: [] };
const plan: SitePlan = {
  hash: '0b1d5c0f9e7a2466',
  changes: [
    {
      section: 'prices',
      name: 'h200-sxm-slice from 2027-02-01T00:00:00.000Z',
      action: 'cancel',
      fields: [],
      blockers: [],
    },
    {
      section: 'regions',
      name: 'eu-frankfurt-1',
      action: 'create',
      fields: [
        { name: 'name', before: null, after: 'eu-frankfurt-1' },
        { name: 'display_name', before: null, after: 'Frankfurt, Germany' },
        { name: 'enabled', before: null, after: 'true' },
        { name: 'disabled_reason', before: null, after: null },
      ],
      blockers: [],
    },
    {
      section: 'skus',
      name: 'h200-sxm-slice',
      action: 'update',
      fields: [
        { name: 'enabled', before: 'true', after: 'false' },
        { name: 'disabled_reason', before: null, after: 'Moves to H300' },
      ],
      blockers: [],
    },
  ],
};
export const blockedPlan: SitePlan = {
  hash: '77aa5c0f9e7a2466',
  changes: [
    {
      section: 'regions',
      name: 'us-buffalo-1',
      action: 'retire',
      fields: [],
      blockers: [
        'Region us-buffalo-1 is in use: 2 nodes (j22u11, j22u15). Release the allocations and delete the nodes first.',
      ],
    },
  ],
};

const groupPlan: GroupSyncPlan = {
  hash: '5f0c9a1be2d47763',
  ...{ users_checked: 12, users_newer: 1, users_unknown: 2 },
  ...{ memberships_granted: 1, memberships_changed: 0, memberships_removed: 2 },
  changes: [
    {
      ...{ user_id: id('usr', '1a'), user_name: 'Ada', email: 'ada@example.com', action: 'grant' },
      ...{ organization_name: 'acme', project_name: 'training', role: 'member' },
    },
    {
      ...{ user_id: id('usr', '1b'), user_name: 'Grace', email: null, action: 'remove' },
      ...{ organization_name: 'acme', project_name: null, role: null },
    },
  ],
  warnings: ['The group "/viewers" has no members in the export, but 2 users have roles from it.'],
};

export const siteAnswers = {
  adminSiteExport: site,
  adminSitePlan: plan,
  adminSiteApply: plan,
  adminSitePolicyGet: policy,
  adminSitePolicyUpdate: { ...policy, version: 4 },
  adminOrganizationCreate: {
    organization: enterprise,
    invitation: { ...invitation, organization_id: enterprise.id, role: 'owner' },
    token: 'inv-secret-0123456789',
  },
  adminSignUpRequestList: page(signUp),
  adminSignUpRequestApprove: { ...signUp, state: 'approved', decided_by: ids.user, decided_at: later },
  adminSignUpRequestReject: {
    ...signUp,
    state: 'rejected',
    reason: 'Unknown person',
    decided_by: ids.user,
    decided_at: later,
  },
  quotaRequestList: page(request, decided),
  quotaRequestCreate: request,
  quotaRequestWithdraw: undefined,
  adminQuotaRequestList: page(request, decided),
  adminQuotaRequestApprove: decided,
  adminQuotaRequestReject: { ...request, state: 'rejected', decision_reason: 'No hosts are free.', decided_at: later },
  adminGroupMappingList: page(mapping, {
    ...mapping,
    id: id('grm', '2b'),
    project_id: ids.project,
    project_name: 'default',
    role: 'viewer',
  }),
  adminGroupMappingCreate: mapping,
  adminGroupMappingDelete: undefined,
  adminGroupSyncPlan: groupPlan,
  adminGroupSyncApply: { ...groupPlan, warnings: [] },
  adminGroupSync: { users_checked: 12, memberships_granted: 2, memberships_changed: 1, memberships_removed: 3 },
} satisfies { [K in CallId]?: Operations[K]['response'] };
