import type { AdminSku, AdminVmProfile } from '@gpuaas/sdk';
import type { Flag } from '../../../format/shell.ts';
import { bytes, count } from '../../../format/size.ts';
import type { Values } from '../../../resource/form.ts';
import { fieldsOf, sends } from '../../../resource/form.ts';
import { adminVmProfileCreate, adminVmProfileRetire, adminVmProfileUpdate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { ToneBadge } from '../../../ui/state-badge.tsx';
import { REASON } from './shared-fields.ts';

const MIB = 1_048_576;

const HUGEPAGES_LABELS = { auto: 'Automatic', none: 'None', '2M': '2 MiB pages', '1G': '1 GiB pages' } as const;
const NUMA_LABELS = {
  strict: 'Strict: only from these',
  preferred: 'Preferred: memory also from others',
  none: 'None: from any node',
} as const;

const SIZE = {
  vcpu_count: { label: 'vCPUs', description: 'Taken by the NUMA policy.', flag: 'vcpus', isShort: true },
  memory_mib: {
    label: 'Memory in MiB',
    isShort: true,
    description: ({ memory_mib }: Values) =>
      Number(memory_mib) > 0
        ? `${bytes(Number(memory_mib) * MIB)}, in pages as chosen below.`
        : 'In pages as chosen below.',
  },
  hugepages: {
    label: 'Huge pages',
    description: 'Automatic uses the largest huge pages that the host has, otherwise ordinary memory.',
    optionLabels: HUGEPAGES_LABELS,
    initial: 'auto',
    isShort: true,
  },
  numa_policy: {
    label: 'NUMA policy',
    description: 'CPUs and memory from the NUMA nodes of its GPUs.',
    optionLabels: NUMA_LABELS,
    initial: 'strict',
    flag: 'numa',
    isShort: true,
  },
} as const;
const DEFAULT_WORDS = {
  label: 'Default',
  description: 'Used by launches of this GPU count that name no profile. It replaces the earlier default.',
} as const;

const params = ({ name }: AdminVmProfile) => ({ vm_profile_name: name });

/** How many hosts can hold the VM, and why others cannot. */
const Hosts = ({ profile }: Readonly<{ profile: AdminVmProfile }>) => {
  const { hosts_checked, hosts_too_small, too_small } = profile;
  if (hosts_checked === 0) return <span className="muted">not measured yet</span>;
  if (hosts_too_small === 0) return <>{`all ${hosts_checked}`}</>;
  return (
    <details>
      <summary>{`${hosts_checked - hosts_too_small} of ${hosts_checked}`}</summary>
      <ul className="site-hosts">
        {too_small.map(({ node_id, node_name, reason }) => (
          <li key={node_id}>
            {node_name}: {reason}
          </li>
        ))}
      </ul>
    </details>
  );
};

export const vmProfilesOf = (sku: AdminSku): Resource<AdminVmProfile> => ({
  title: 'VM profiles',
  empty: { title: 'No VM profiles', text: 'A VM profile is the size of a VM. A slice needs one for each GPU count.' },
  list: { operation: 'adminVmProfileList', query: { sku_name: sku.name }, hasRetired: true },
  keyOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  retiredAt: ({ retired_at }) => retired_at,
  columns: [
    {
      header: 'Profile',
      cell: ({ name, is_default, retired_at }) => (
        <>
          <span className="mono">{name}</span>
          {retired_at !== null ? (
            <div>
              <ToneBadge tone="idle">Retired</ToneBadge>
            </div>
          ) : (
            is_default && <div className="muted">default</div>
          )}
        </>
      ),
    },
    { header: 'GPUs', align: 'right', cell: ({ gpu_count }) => gpu_count },
    {
      header: 'Size',
      cell: ({ vcpu_count, memory_mib, hugepages, numa_policy }) => (
        <>
          <span className="nowrap">{count(vcpu_count, 'vCPU')}</span>
          <div className="muted nowrap">{bytes(memory_mib * MIB)}</div>
          {hugepages !== 'auto' && <div className="muted nowrap">{HUGEPAGES_LABELS[hugepages]}</div>}
          {numa_policy !== 'strict' && <div className="muted nowrap">NUMA {numa_policy}</div>}
        </>
      ),
    },
    { header: 'Fits on hosts', cell: (profile) => <Hosts profile={profile} />, isSecondary: true },
  ],
  create: {
    label: 'New profile',
    submit: 'Create',
    title: `New VM profile of ${sku.name}`,
    permission: 'admin.sku.update',
    fields: fieldsOf(adminVmProfileCreate, {
      name: {
        label: 'Name',
        description: 'Unique in the catalog. Cannot be changed later.',
        rule: 'Use lower-case letters, digits and underscores for the name.',
        placeholder: 'h200_1g_24c_64g',
        flag: null,
      },
      sku_name: null,
      gpu_count: { label: 'GPUs', description: 'The GPU count that it is for.', flag: 'gpus' },
      ...SIZE,
      is_default: { ...DEFAULT_WORDS, flag: 'default' },
    }),
    send: sends('adminVmProfileCreate', (body) => ({ body: { ...body, sku_name: sku.name } })),
    words: (_, { name }) => ['admin', 'vm-profile', 'create', String(name ?? 'NAME'), '--sku', sku.name],
  },
  changes: [
    {
      label: 'Edit',
      submit: 'Save',
      title: ({ name }) => `Edit VM profile ${name}`,
      permission: 'admin.sku.update',
      note: () => 'Running allocations keep their size; the next launch gets the new one.',
      fields: fieldsOf(adminVmProfileUpdate, {
        ...SIZE,
        is_default: {
          ...DEFAULT_WORDS,
          flag: (sent: boolean): readonly Flag[] => [['default', sent ? 'yes' : 'no']],
        },
      }),
      isEdit: true,
      send: sends('adminVmProfileUpdate', (body, row: AdminVmProfile) => ({ params: params(row), body }), {
        version: ({ version }) => version,
      }),
      words: ({ name }) => ['admin', 'vm-profile', 'update', name],
    },
    {
      label: 'Retire',
      title: ({ name }) => `Retire VM profile ${name}`,
      permission: 'admin.sku.update',
      isDestructive: true,
      note: ({ gpu_count, is_default }) =>
        `Launches no longer use it; running allocations keep their size. It can be brought back.${
          is_default ? ` It is the default for ${count(gpu_count, 'GPU')}.` : ''
        }`,
      fields: fieldsOf(adminVmProfileRetire, { reason: REASON }),
      send: sends('adminVmProfileRetire', (body, row: AdminVmProfile) => ({ params: params(row), body })),
      words: ({ name }) => ['admin', 'vm-profile', 'retire', name],
    },
  ],
});
