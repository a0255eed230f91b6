/** What operators decide for the whole site, and quota requests, as the API returns them. */
import type { CallId, GroupMapping, Operations, QuotaRequest, SignUpRequest, SitePolicy } from '@gpuaas/sdk';
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
  project_id: null,
  gpu_limit: 64,
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

export const siteAnswers = {
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
  adminGroupSync: { users_checked: 12, memberships_granted: 2, memberships_changed: 1, memberships_removed: 3 },
} satisfies { [K in CallId]?: Operations[K]['response'] };
