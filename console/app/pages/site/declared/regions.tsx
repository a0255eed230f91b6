import { type AdminRegion, FABRIC_ISOLATION_LABELS } from '@gpuaas/sdk';
import type { Flag } from '../../../format/shell.ts';
import { fieldsOf, sends } from '../../../resource/form.ts';
import { adminRegionCreate, adminRegionRetire, adminRegionUpdate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { Availability } from '../availability.tsx';
import { DependentsOfRegion } from '../dependents.tsx';
import { REASON, SWITCH } from './shared-fields.ts';

const WORDS = {
  display_name: { label: 'Display name', description: 'What tenants read.', placeholder: 'Stockholm, Sweden' },
  ...SWITCH,
  enabled: { ...SWITCH.enabled, label: 'Tenants can launch here' },
  wipe_minimum: {
    label: 'Minimum wipe level',
    description:
      'Between two tenants. A minimum of purge blocks the approval of a disk that can only be cleared; a slot whose disk cannot meet it stays blocked.',
    initial: 'clear',
  },
  allows_wipe_override: {
    label: 'Allow wipe overrides',
    description:
      'Two operators may make a slot schedulable without a wipe proof. If turned off, slots that an override made available are quarantined.',
    flag: (sent: boolean): readonly Flag[] => [['wipe-override', sent ? 'allow' : 'refuse']],
  },
  fabric_isolation: {
    label: 'Fabric isolation',
    description:
      'What keeps tenants apart on the fabric. Without isolation, the fabric function of a slot is not passed into its VM.',
    optionLabels: FABRIC_ISOLATION_LABELS,
    initial: 'none',
  },
} as const;

const params = ({ name }: AdminRegion) => ({ region_name: name });

export const REGIONS: Resource<AdminRegion> = {
  title: 'Regions',
  empty: { title: 'No regions', text: 'A region is a place with hosts. Create one before you add a node.' },
  list: { operation: 'adminRegionList', hasRetired: true },
  keyOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  retiredAt: ({ retired_at }) => retired_at,
  columns: [
    {
      header: 'Region',
      cell: ({ name, display_name }) => (
        <>
          <span className="mono nowrap">{name}</span>
          <div className="muted">{display_name}</div>
        </>
      ),
    },
    { header: 'State', cell: (row) => <Availability of={row} /> },
    {
      header: 'Wipe minimum',
      cell: ({ wipe_minimum, allows_wipe_override }) => (
        <>
          {wipe_minimum}
          {allows_wipe_override && <div className="muted">overrides allowed</div>}
        </>
      ),
      isSecondary: true,
    },
    {
      header: 'Fabric isolation',
      cell: ({ fabric_isolation }) => fabric_isolation,
      isSecondary: true,
    },
  ],
  create: {
    label: 'New region',
    submit: 'Create',
    title: 'New region',
    permission: 'admin.region.update',
    fields: fieldsOf(adminRegionCreate, {
      name: { label: 'Name', description: 'Cannot be changed later.', placeholder: 'eu-north-1', flag: null },
      ...WORDS,
    }),
    send: sends('adminRegionCreate', (body) => ({ body })),
    words: (_, { name }) => ['admin', 'region', 'create', String(name ?? 'NAME')],
  },
  changes: [
    {
      label: 'Edit',
      submit: 'Save',
      title: ({ name }) => `Edit region ${name}`,
      permission: 'admin.region.update',
      fields: fieldsOf(adminRegionUpdate, WORDS),
      isEdit: true,
      send: sends('adminRegionUpdate', (body, row: AdminRegion) => ({ params: params(row), body }), {
        version: ({ version }) => version,
      }),
      words: ({ name }) => ['admin', 'region', 'update', name],
    },
    {
      label: 'Retire',
      title: ({ name }) => `Retire region ${name}`,
      permission: 'admin.region.update',
      isDestructive: true,
      note: ({ name, allocation_count }) => (
        <>
          Tenants no longer see the region. It can be brought back. Refused while it has nodes or allocations.
          <DependentsOfRegion name={name} allocations={allocation_count} />
        </>
      ),
      fields: fieldsOf(adminRegionRetire, { reason: REASON }),
      send: sends('adminRegionRetire', (body, row: AdminRegion) => ({ params: params(row), body })),
      words: ({ name }) => ['admin', 'region', 'retire', name],
    },
  ],
};
