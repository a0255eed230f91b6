import type { Pool } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import type { Flag } from '../../../format/shell.ts';
import { useOrganizationChoices } from '../../../resource/choices.ts';
import { fieldsOf, sends } from '../../../resource/form.ts';
import { adminPoolCreate, adminPoolRetire, adminPoolUpdate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { ToneBadge } from '../../../ui/state-badge.tsx';
import { DependentsOfPool } from '../dependents.tsx';
import { REASON } from './shared-fields.ts';

const WORDS = {
  organization_id: {
    label: 'Serves',
    description: 'The nodes of a dedicated pool serve one organization only. Only an empty pool can change it.',
    placeholder: 'All organizations',
    useChoices: useOrganizationChoices,
    flag: (sent: string | null): readonly Flag[] => [sent === null ? ['shared', true] : ['organization', sent]],
  },
  purpose: { label: 'Purpose', description: 'For operators.', placeholder: 'Reserved for training until March' },
} as const;

const params = ({ name }: Pool) => ({ pool_name: name });

export const POOLS: Resource<Pool> = {
  title: 'Pools',
  empty: { title: 'No pools', text: 'A pool groups nodes and defines which organizations they serve.' },
  list: { operation: 'adminPoolList', hasRetired: true },
  keyOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  retiredAt: ({ retired_at }) => retired_at,
  columns: [
    {
      header: 'Pool',
      cell: ({ name, purpose }) => (
        <>
          <span className="mono nowrap">{name}</span>
          {purpose !== null && <div className="muted">{purpose}</div>}
        </>
      ),
    },
    {
      header: 'Serves',
      cell: ({ kind, organization_name, organization_id, retired_at }) => (
        <>
          {kind === 'shared' ? 'All organizations' : (organization_name ?? organization_id)}
          {retired_at !== null && (
            <div>
              <ToneBadge tone="idle">Retired</ToneBadge>
            </div>
          )}
        </>
      ),
    },
    {
      header: 'Nodes',
      align: 'right',
      cell: ({ name, node_count }) =>
        node_count === 0 ? (
          '0'
        ) : (
          <Link
            className="link"
            to="/platform/nodes"
            search={{ q: name }}
            aria-label={`${node_count} nodes of ${name}`}
          >
            {node_count}
          </Link>
        ),
    },
  ],
  create: {
    label: 'New pool',
    submit: 'Create',
    title: 'New pool',
    permission: 'admin.pool.update',
    fields: fieldsOf(adminPoolCreate, {
      name: { label: 'Name', description: 'Cannot be changed later.', placeholder: 'research', flag: null },
      ...WORDS,
    }),
    send: sends('adminPoolCreate', (body) => ({ body })),
    words: (_, { name }) => ['admin', 'pool', 'create', String(name ?? 'NAME')],
  },
  changes: [
    {
      label: 'Edit',
      submit: 'Save',
      title: ({ name }) => `Edit pool ${name}`,
      permission: 'admin.pool.update',
      fields: fieldsOf(adminPoolUpdate, WORDS),
      isEdit: true,
      send: sends('adminPoolUpdate', (body, row: Pool) => ({ params: params(row), body }), {
        version: ({ version }) => version,
      }),
      words: ({ name }) => ['admin', 'pool', 'update', name],
    },
    {
      label: 'Retire',
      title: ({ name }) => `Retire pool ${name}`,
      permission: 'admin.pool.update',
      isDestructive: true,
      note: ({ name }) => (
        <>
          Only a pool without nodes can be retired. It can be brought back.
          <DependentsOfPool name={name} />
        </>
      ),
      fields: fieldsOf(adminPoolRetire, { reason: REASON }),
      send: sends('adminPoolRetire', (body, row: Pool) => ({ params: params(row), body })),
      words: ({ name }) => ['admin', 'pool', 'retire', name],
    },
  ],
};
