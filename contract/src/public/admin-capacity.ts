/** Capacity for operators: of the whole platform, now and over time. */
import Type from 'typebox';
import { Closed, DisplayText, Name, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { CAPACITY_SHAPES } from './catalog.ts';

const CapacityCounts = {
  delivered_gpus: Type.Integer({ description: 'GPUs of nodes in service.' }),
  healthy_gpus: Type.Integer(),
  reserved_gpus: Type.Integer({ description: 'GPUs claimed by allocations.' }),
  active_gpus: Type.Integer({ description: 'GPUs of active allocations.' }),
  free_gpus: Type.Integer({ description: 'GPUs that can be launched now.' }),
};

/** With them, reserved and free GPUs add up to the delivered GPUs. */
const OtherCounts = {
  unapproved_gpus: Type.Integer({ description: 'GPUs without an approved slot or data disk.' }),
  blocked_gpus: Type.Integer({
    description:
      'All other GPUs: in cleanup, unhealthy, not ready, or in no free set. Of a SKU also those in use by, or held for, the other shape. Delivered GPUs are reserved, free, unapproved or blocked.',
  }),
};

export const SkuCapacity = Closed({
  sku_name: Type.String(),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  ...CapacityCounts,
  ...OtherCounts,
  largest_set: Type.Integer({ description: 'Largest GPU count that one allocation can get now.' }),
});

export const CapacitySample = Closed({
  sampled_at: Time('When it was counted.'),
  region_name: Type.String(),
  gpu_model: Type.String(),
  ...CapacityCounts,
});

const read = {
  method: 'GET',
  tag: 'Placement',
  access: 'platform',
  audit: null,
  idempotency: 'none',
  status: 200,
} as const;

export const adminCapacityApi = define({
  adminCapacityList: {
    ...read,
    path: '/api/v1/admin/capacity',
    summary: 'Get delivered, healthy, reserved, active, free, unapproved and blocked GPUs, and fragmentation',
    permission: 'admin.node.read',
    query: Closed({ ...PageQuery }),
    response: Page(
      Closed({
        region_name: Type.String(),
        gpu_model: Type.String(),
        nodes: Type.Integer(),
        ...CapacityCounts,
        ...OtherCounts,
        largest_set: Type.Integer(),
        empty_nodes: Type.Integer(),
        skus: Type.Array(SkuCapacity, {
          description: 'The same per SKU. GPUs of a flexible node count for both shapes.',
        }),
        fragmentation: Type.String({ examples: ['free 11, largest set 4; draining nod_… would free a whole node'] }),
        counted_at: Time('When it was counted.'),
      }),
    ),
  },
  adminCapacityHistoryList: {
    ...read,
    path: '/api/v1/admin/capacity/history',
    summary: 'List capacity samples, oldest first',
    description: 'One sample every 5 minutes, kept for 90 days. Long time ranges return fewer samples.',
    permission: 'admin.node.read',
    query: Closed({
      region_name: Type.Optional(Name()),
      gpu_model: Type.Optional(DisplayText('GPU model.', 64)),
      since: Type.Optional(Time('Start time (default: one day ago).')),
    }),
    response: Closed({ items: Type.Array(CapacitySample) }),
  },
});
