/** A tenant asks for a larger GPU limit, and operators decide. */
import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { GPU_LIMIT_MAX } from './admin-site-policy.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

export const QUOTA_REQUEST_STATES = ['open', 'approved', 'rejected', 'withdrawn'] as const;

/** A limit as a site file states it: names instead of IDs. */
export const QuotaSpec = Closed({
  organization: Name('Name of the organization.'),
  project: Nullable(Name('Name of the project; null for the whole organization.')),
  gpu_limit: Nullable(Type.Integer({ minimum: 0, maximum: GPU_LIMIT_MAX, description: 'Null for no limit.' })),
});

const GpuLimit = Type.Integer({ minimum: 1, maximum: GPU_LIMIT_MAX, description: 'The requested limit in GPUs.' });

export const QuotaRequest = Closed({
  id: Id('quota_request'),
  organization_id: Id('organization'),
  organization_name: Type.String(),
  project_id: Nullable(Id('project', 'Null for the limit of the whole organization.')),
  project_name: Nullable(Type.String()),
  gpu_limit: GpuLimit,
  current_gpu_limit: Nullable(Type.Integer({ description: 'The limit that applies now; null for none.' })),
  reason: Type.String(),
  state: StringEnum(QUOTA_REQUEST_STATES),
  granted_gpu_limit: Nullable(Type.Integer({ description: 'The limit that was set on approval.' })),
  decision_reason: Nullable(Type.String()),
  requested_by: Id('user'),
  decided_at: Nullable(Time('When it was decided or withdrawn.')),
  created_at: Time('When it was created.'),
});

const params = Closed({ organization_id: Id('organization') });
const path = '/api/v1/organizations/{organization_id}/quota-requests';
const tag = 'Organizations';

export const quotaRequestApi = define({
  quotaRequestList: {
    method: 'GET',
    path,
    tag,
    summary: 'List requests for a larger GPU limit, newest first',
    access: 'tenant',
    permission: 'quota_request.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery, state: Type.Optional(StringEnum(QUOTA_REQUEST_STATES)) }),
    status: 200,
    response: Page(QuotaRequest),
  },
  quotaRequestCreate: {
    method: 'POST',
    path,
    tag,
    summary: 'Request a larger GPU limit for the organization or one of its projects',
    description: 'One request per limit is open at a time. Operators decide; the decision is an event.',
    access: 'tenant',
    permission: 'quota_request.create',
    audit: 'quota_request.create',
    idempotency: 'required',
    params,
    body: Closed({
      project_id: Type.Optional(Id('project', 'Omit it for the limit of the whole organization.')),
      gpu_limit: GpuLimit,
      reason: DisplayText('What the GPUs are for. Operators read it.', 500),
    }),
    status: 201,
    response: QuotaRequest,
    errors: ['already_exists', 'conflict'],
  },
  quotaRequestWithdraw: {
    method: 'DELETE',
    path: `${path}/{quota_request_id}`,
    tag,
    summary: 'Withdraw an open request',
    access: 'tenant',
    permission: 'quota_request.withdraw',
    audit: 'quota_request.withdraw',
    idempotency: 'none',
    params: Closed({ organization_id: Id('organization'), quota_request_id: Id('quota_request') }),
    status: 204,
    response: null,
    errors: ['conflict'],
  },
});

const decided = Closed({ quota_request_id: Id('quota_request') });
const change = operatorChanges('Site');

export const adminQuotaRequestApi = define({
  adminQuotaRequestList: {
    ...operatorReads('Site'),
    path: '/api/v1/admin/quota-requests',
    summary: 'List requests of tenants for larger GPU limits, newest first',
    permission: 'admin.quota_request.read',
    query: Closed({
      ...PageQuery,
      state: Type.Optional(StringEnum(QUOTA_REQUEST_STATES)),
      organization_id: Type.Optional(Id('organization')),
    }),
    response: Page(QuotaRequest),
  },
  adminQuotaRequestApprove: {
    ...change,
    path: '/api/v1/admin/quota-requests/{quota_request_id}/approve',
    summary: 'Approve a request and set the limit',
    description: 'The limit is set in the same transaction. A limit other than the requested one needs a reason.',
    permission: 'admin.quota_request.update',
    audit: 'quota_request.approve',
    freshSignIn: true,
    params: decided,
    body: Closed({
      gpu_limit: Type.Optional(
        Type.Integer({ minimum: 0, maximum: GPU_LIMIT_MAX, description: 'Default: the requested limit.' }),
      ),
      reason: Type.Optional(Reason),
    }),
    status: 200,
    response: QuotaRequest,
    errors: ['conflict'],
  },
  adminQuotaRequestReject: {
    ...change,
    path: '/api/v1/admin/quota-requests/{quota_request_id}/reject',
    summary: 'Reject a request; the tenant sees the reason',
    permission: 'admin.quota_request.update',
    audit: 'quota_request.reject',
    freshSignIn: true,
    params: decided,
    body: Closed({ reason: Reason }),
    status: 200,
    response: QuotaRequest,
    errors: ['conflict'],
  },
});
