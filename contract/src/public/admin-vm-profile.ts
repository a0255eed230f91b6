import Type from 'typebox';
import { Closed, Name, Page, PageQuery, StringEnum } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { HUGEPAGES, NUMA_POLICIES } from '../node/task-shapes.ts';
import { RetiredAt } from './catalog.ts';
import { IncludeRetired, operatorChanges, operatorReads, operatorUpdates, Reason } from './operator.ts';

export { HUGEPAGES, NUMA_POLICIES };

const tag = 'Catalog';
const profileName = Type.String({
  pattern: '^[a-z0-9_]{1,64}$',
  description: 'Name of the VM profile, unique in the catalog.',
  examples: ['h200_1g_24c_64g'],
});
const params = Closed({ vm_profile_name: profileName });
const size = {
  vcpu_count: Type.Integer({ minimum: 1, maximum: 1024 }),
  memory_mib: Type.Integer({ minimum: 128, maximum: 33_554_432 }),
};
const memory = {
  hugepages: StringEnum(HUGEPAGES, {
    description:
      'Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none.',
  }),
  numa_policy: StringEnum(NUMA_POLICIES, {
    description:
      'strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node.',
  }),
};
const isDefault = Type.Boolean({
  description: 'Used by launches of this GPU count that name no profile. It replaces the earlier default.',
});

/** What an operator sets of a VM profile (default: hugepages auto, numa_policy strict). */
export const VmProfileSpec = Closed({
  name: profileName,
  sku_name: Name('SKU of the profile; a slice.'),
  gpu_count: Type.Integer({ minimum: 1, maximum: 64 }),
  ...size,
  hugepages: Type.Optional(memory.hugepages),
  numa_policy: Type.Optional(memory.numa_policy),
  is_default: Type.Optional(isDefault),
});

export const AdminVmProfile = Closed(
  {
    name: profileName,
    sku_name: Name(),
    gpu_count: Type.Integer(),
    vcpu_count: Type.Integer(),
    memory_mib: Type.Integer(),
    ...memory,
    is_default: Type.Boolean(),
    hosts_checked: Type.Integer({ description: 'Hosts of the GPU model that a discovery has measured.' }),
    hosts_too_small: Type.Integer({
      description: 'Of these, hosts that cannot hold the VM; it is not placed on them.',
    }),
    too_small: Type.Array(Closed({ node_id: Id('node'), node_name: Type.String(), reason: Type.String() }), {
      description: 'Hosts that cannot hold the VM, with the reason, up to 20.',
    }),
    retired_at: RetiredAt,
    version: Type.Integer(),
  },
  { description: 'A VM profile as operators see it, compared with the hosts it would run on.' },
);

export const adminVmProfileApi = define({
  adminVmProfileList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/vm-profiles',
    summary: 'List VM profiles and the hosts that cannot hold them',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, ...IncludeRetired, sku_name: Type.Optional(Name('Only profiles of this SKU.')) }),
    response: Page(AdminVmProfile),
  },
  adminVmProfileGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/vm-profiles/{vm_profile_name}',
    summary: 'Get a VM profile, also a retired one',
    permission: 'admin.catalog.read',
    params,
    response: AdminVmProfile,
  },
  adminVmProfileCreate: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/vm-profiles',
    summary: 'Create a VM profile of a SKU, or bring a retired one back',
    description:
      'The response lists the hosts that cannot hold the VM; launches with this profile are not placed on them.',
    permission: 'admin.sku.update',
    audit: 'vm_profile.create',
    freshSignIn: true,
    body: VmProfileSpec,
    status: 201,
    response: AdminVmProfile,
    location: '/api/v1/admin/vm-profiles/{name}',
    errors: ['already_exists', 'conflict'],
  },
  adminVmProfileUpdate: {
    ...operatorUpdates(tag),
    path: '/api/v1/admin/vm-profiles/{vm_profile_name}',
    summary: 'Change the size or memory of a VM profile, or make it the default',
    description: 'Running allocations keep their size; the next launch gets the new one.',
    permission: 'admin.sku.update',
    audit: 'vm_profile.update',
    freshSignIn: true,
    params,
    body: Closed(
      {
        vcpu_count: Type.Optional(size.vcpu_count),
        memory_mib: Type.Optional(size.memory_mib),
        hugepages: Type.Optional(memory.hugepages),
        numa_policy: Type.Optional(memory.numa_policy),
        is_default: Type.Optional(isDefault),
      },
      { minProperties: 1 },
    ),
    response: AdminVmProfile,
    errors: ['conflict'],
  },
  adminVmProfileRetire: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/vm-profiles/{vm_profile_name}/retire',
    summary: 'Retire a VM profile: launches no longer use it',
    description:
      'Refused for the only default of a GPU count of an enabled SKU. Running allocations keep their size. Creating it again brings it back.',
    permission: 'admin.sku.update',
    audit: 'vm_profile.retire',
    freshSignIn: true,
    params,
    body: Closed({ reason: Reason }),
    status: 200,
    response: AdminVmProfile,
    errors: ['conflict'],
  },
});
