import Type from 'typebox';
import { Closed, Money, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { CAPACITY_SHAPES } from './catalog.ts';

/** Why more GPUs are expected. */
export const EXPECTED_KINDS = ['release', 'cleanup'] as const;

/** The code of the reason of a refused launch that states it. */
export const EXPECTED_REASON = 'expected';

export const ExpectedCapacity = Closed(
  {
    gpus: Type.Integer({ minimum: 1, description: 'GPUs that become free, on all nodes together.' }),
    at: Time('By when, rounded up to a quarter of an hour.'),
    kind: StringEnum(EXPECTED_KINDS, {
      description: '`release`: allocations reach their maximum duration, then cleanup. `cleanup`: it runs now.',
    }),
  },
  {
    description:
      'The next known increase; null where none is known. No promise: allocations end earlier or are extended, and others launch.',
  },
);

export const Capacity = Closed({
  region_name: Type.String(),
  sku_name: Type.String(),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  available_gpus: Type.Integer({ description: 'GPUs that can be launched now.' }),
  largest_set: Type.Integer({ description: 'Largest GPU count that one allocation can get now.' }),
  expected: Nullable(ExpectedCapacity),
  counted_at: Time('When it was counted; at most a few seconds ago.'),
});

export const Quota = Closed({
  organization_id: Id('organization'),
  project_id: Nullable(Type.String({ description: 'Null for the limit of the whole organization.' })),
  gpu_limit: Nullable(Type.Integer({ description: 'Null for no limit at this level.' })),
  gpu_used: Type.Integer(),
  version: Type.Integer(),
});

export const UsageRecord = Closed({
  id: Id('usage_record'),
  allocation_id: Id('allocation'),
  sku_name: Type.String(),
  gpu_count: Type.Integer(),
  gpu_hourly_price: Money,
  started_at: Time('When the allocation became active.'),
  ended_at: Nullable(Time('When its release was accepted; null while it runs.')),
  cost: Money,
});

/** What the project costs, in one look. */
export const UsageSummary = Closed({
  since: Time('Start of the current month, in UTC.'),
  costs: Type.Array(Money, { minItems: 1, description: 'Cost since then, one entry per currency.' }),
  costs_per_hour: Type.Array(Money, { minItems: 1, description: 'Current cost per hour, one entry per currency.' }),
  running_allocations: Type.Integer({ description: 'Allocations that are charged now.' }),
  running_gpus: Type.Integer(),
});

const ofProject = Closed({ project_id: Id('project') });
const read = {
  method: 'GET',
  access: 'project',
  audit: null,
  idempotency: 'none',
  status: 200,
  params: ofProject,
} as const;

export const capacityApi = define({
  capacityList: {
    ...read,
    path: '/api/v1/projects/{project_id}/capacity',
    tag: 'Catalog',
    summary: 'List capacity that can be launched now, per region and SKU',
    permission: 'allocation.read',
    query: Closed({ ...PageQuery }),
    response: Page(Capacity),
  },
  quotaGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/quota',
    tag: 'Allocations',
    summary: 'Get GPU limits and usage of the project and its organization',
    permission: 'allocation.read',
    response: Closed({
      organization: Quota,
      project: Quota,
      gpus_remaining: Nullable(Type.Integer({ description: 'Null without a limit.' })),
    }),
  },
  usageList: {
    ...read,
    path: '/api/v1/projects/{project_id}/usage',
    tag: 'Allocations',
    summary: 'List charged time per allocation, newest first',
    permission: 'allocation.read',
    query: Closed({ ...PageQuery, allocation_id: Type.Optional(Id('allocation')) }),
    response: Page(UsageRecord),
  },
  usageSummaryGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/usage/summary',
    tag: 'Allocations',
    summary: 'Get the cost of the project this month, and its current cost per hour',
    permission: 'allocation.read',
    response: UsageSummary,
  },
});
