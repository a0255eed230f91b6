import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Quota } from './capacity.ts';
import { operatorReads } from './operator.ts';

/** With the names, which operators know instead of IDs. */
export const OperatorQuota = Closed({
  ...Quota.properties,
  organization_name: Type.String(),
  project_name: Nullable(Type.String()),
});

const tag = 'Placement';

const operatorRead = operatorReads('Placement');

export const adminQuotaApi = define({
  adminQuotaList: {
    ...operatorRead,
    path: '/api/v1/admin/quotas',
    summary: 'List GPU limits and usage',
    permission: 'admin.quota.read',
    query: Closed({
      ...PageQuery,
      organization_id: Type.Optional(Id('organization')),
      project_id: Type.Optional(Id('project')),
    }),
    response: Page(OperatorQuota),
  },
  adminQuotaPut: {
    method: 'PUT',
    tag,
    access: 'platform',
    idempotency: 'none',
    path: '/api/v1/admin/quotas',
    summary: 'Set the GPU limit of an organization or one of its projects',
    description:
      'A limit below current usage stops new launches; running allocations are untouched. A limit that no operator set has version 1.',
    permission: 'admin.quota.update',
    audit: 'quota.update',
    freshSignIn: true,
    ifMatch: true,
    body: Closed({
      organization_id: Id('organization'),
      project_id: Type.Optional(Id('project')),
      gpu_limit: Nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    status: 200,
    response: Quota,
  },
});
