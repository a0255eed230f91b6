import type { AdminSku } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { money } from '../../../format/money.ts';
import type { Flag } from '../../../format/shell.ts';
import { type Form, fieldsOf, sends } from '../../../resource/form.ts';
import { adminSkuCreate, adminSkuRetire, adminSkuUpdate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { Availability } from '../availability.tsx';
import { DependentsOfSku } from '../dependents.tsx';
import { REASON, SWITCH } from './shared-fields.ts';

export const SHAPES: Readonly<Record<AdminSku['capacity_shape'], string>> = {
  gpu_slice: 'Slice (VM)',
  baremetal: 'Bare metal',
};

const COUNTS = {
  label: 'GPU counts',
  description: 'That a launch may request, such as 1, 2, 4, 8. Bare metal: only the whole node.',
  placeholder: '1, 2, 4, 8',
  flag: (sent: readonly number[]): readonly Flag[] => [['gpu-counts', sent.join(',')]],
} as const;
const GPU_IDS = {
  label: 'PCI IDs',
  description: 'GPUs of this model that the product does not know, as vendor:device. Usually none.',
  placeholder: '10de:2335',
  flag: (sent: readonly string[]): readonly Flag[] => [['gpu-ids', sent.join(',')]],
} as const;
const DISPLAY_NAME = { label: 'Display name', description: 'What tenants read.', placeholder: 'NVIDIA H200 GPU VM' };

const params = ({ name }: AdminSku) => ({ sku_name: name });

export const SKU_EDIT: Form<AdminSku> = {
  label: 'Edit',
  submit: 'Save',
  title: ({ name }) => `Edit SKU ${name}`,
  permission: 'admin.sku.update',
  fields: fieldsOf(adminSkuUpdate, {
    display_name: DISPLAY_NAME,
    gpu_ids: GPU_IDS,
    allowed_gpu_counts: COUNTS,
    ...SWITCH,
  }),
  isEdit: true,
  note: () => 'Running allocations are untouched.',
  send: sends('adminSkuUpdate', (body, row: AdminSku) => ({ params: params(row), body }), {
    version: ({ version }) => version,
  }),
  words: ({ name }) => ['admin', 'sku', 'update', name],
};

export const SKU_RETIRE: Form<AdminSku> = {
  label: 'Retire',
  title: ({ name }) => `Retire SKU ${name}`,
  permission: 'admin.sku.update',
  isDestructive: true,
  note: ({ name, allocation_count }) => (
    <>
      Tenants no longer see the SKU. It can be brought back. Refused while it has allocations.
      <DependentsOfSku name={name} allocations={allocation_count} />
    </>
  ),
  fields: fieldsOf(adminSkuRetire, { reason: REASON }),
  send: sends('adminSkuRetire', (body, row: AdminSku) => ({ params: params(row), body })),
  words: ({ name }) => ['admin', 'sku', 'retire', name],
};

export const SKUS: Resource<AdminSku> = {
  title: 'SKUs',
  empty: { title: 'No SKUs', text: 'A SKU is what tenants launch: slices or whole nodes of a GPU model.' },
  list: { operation: 'adminSkuList', hasRetired: true },
  keyOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  retiredAt: ({ retired_at }) => retired_at,
  columns: [
    {
      header: 'SKU',
      cell: ({ name, display_name }) => (
        <>
          <Link className="link mono" to="/site/catalog" search={{ tab: 'skus', sku: name }}>
            {name}
          </Link>
          <div className="muted">{display_name}</div>
        </>
      ),
    },
    { header: 'State', cell: (row) => <Availability of={row} /> },
    {
      header: 'GPU',
      cell: ({ gpu_model, capacity_shape }) => (
        <>
          <span className="nowrap">{gpu_model}</span>
          <div className="muted nowrap">{SHAPES[capacity_shape]}</div>
        </>
      ),
      isSecondary: true,
    },
    { header: 'Counts', cell: ({ allowed_gpu_counts }) => allowed_gpu_counts.join(', '), isSecondary: true },
    {
      header: 'Per GPU hour',
      align: 'right',
      cell: ({ gpu_hourly_price }) => (gpu_hourly_price === null ? 'no price' : money(gpu_hourly_price)),
    },
  ],
  create: {
    label: 'New SKU',
    submit: 'Create',
    title: 'New SKU',
    permission: 'admin.sku.update',
    note: () => 'It can be launched once it has a price, and a slice also needs a VM profile.',
    fields: fieldsOf(adminSkuCreate, {
      name: { label: 'Name', description: 'Cannot be changed later.', placeholder: 'h200-sxm-slice', flag: null },
      display_name: DISPLAY_NAME,
      capacity_shape: {
        label: 'Capacity shape',
        description: 'A slice is a VM with some GPUs of a node; bare metal is the whole node.',
        initial: 'gpu_slice',
        optionLabels: SHAPES,
        flag: 'shape',
      },
      vendor: { label: 'Vendor', description: 'Of the GPU.', initial: 'NVIDIA', isShort: true },
      gpu_model: {
        label: 'GPU model',
        description: 'As discovery reports it.',
        placeholder: 'H200 SXM',
        isShort: true,
      },
      gpu_ids: { ...GPU_IDS, isShort: true },
      gpus_per_node: { label: 'GPUs per node', initial: '8', isShort: true },
      allowed_gpu_counts: { ...COUNTS, description: 'That a launch may request.', isShort: true },
      ...SWITCH,
    }),
    send: sends('adminSkuCreate', (body) => ({ body })),
    words: (_, { name }) => ['admin', 'sku', 'create', String(name ?? 'NAME')],
  },
  changes: [SKU_EDIT, SKU_RETIRE],
};
