import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { RetiredAt } from './catalog.ts';
import { IncludeRetired, operatorChanges, operatorReads, operatorUpdates, Reason } from './operator.ts';

const tag = 'Nodes';
export const POOL_KINDS = ['shared', 'dedicated'] as const;
const params = Closed({ pool_name: Name('Name of the pool.') });
const fields = {
  purpose: Type.Optional(Nullable(DisplayText('What the pool is for, for operators.', 240))),
  organization_id: Type.Optional(
    Nullable(Id('organization', 'The organization that it is dedicated to; null for a shared pool (default).')),
  ),
};

/** What an operator sets of a pool. */
export const PoolSpec = Closed({ name: Name('Name of the pool.'), ...fields });

export const Pool = Closed({
  id: Id('pool'),
  name: Name(),
  purpose: Nullable(Type.String()),
  kind: StringEnum(POOL_KINDS, { description: 'A dedicated pool serves one organization.' }),
  organization_id: Nullable(Type.String()),
  organization_name: Nullable(Type.String()),
  node_count: Type.Integer({ description: 'Nodes that are not deleted.' }),
  retired_at: RetiredAt,
  version: Type.Integer(),
  created_at: Time('When it was created.'),
});

export const adminPoolApi = define({
  adminPoolList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/pools',
    summary: 'List pools with their number of nodes',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, ...IncludeRetired }),
    response: Page(Pool),
  },
  adminPoolGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/pools/{pool_name}',
    summary: 'Get a pool, also a retired one',
    permission: 'admin.catalog.read',
    params,
    response: Pool,
  },
  adminPoolCreate: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/pools',
    summary: 'Create a pool, or bring a retired one back',
    description: 'The nodes of a dedicated pool serve one organization only; those of a shared pool serve all.',
    permission: 'admin.pool.update',
    audit: 'pool.create',
    freshSignIn: true,
    body: PoolSpec,
    status: 201,
    response: Pool,
    location: '/api/v1/admin/pools/{name}',
    errors: ['already_exists'],
  },
  adminPoolUpdate: {
    ...operatorUpdates(tag),
    path: '/api/v1/admin/pools/{pool_name}',
    summary: 'Change the purpose of a pool, or the organization of an empty one',
    permission: 'admin.pool.update',
    audit: 'pool.update',
    freshSignIn: true,
    params,
    body: Closed(fields, { minProperties: 1 }),
    response: Pool,
    errors: ['conflict'],
  },
  adminPoolRetire: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/pools/{pool_name}/retire',
    summary: 'Retire a pool without nodes',
    description: 'Refused while it has nodes; reasons[] lists them. Creating it again brings it back.',
    permission: 'admin.pool.update',
    audit: 'pool.retire',
    freshSignIn: true,
    params,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Pool,
    errors: ['conflict'],
  },
});
