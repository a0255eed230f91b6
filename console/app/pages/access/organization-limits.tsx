/** Limits of an organization and of the signed-in user. Operators set them; the server enforces them. */
import type { OrganizationLimit } from '@gpuaas/sdk';
import { useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';

const COLUMNS: readonly Column<OrganizationLimit>[] = [
  { header: 'Limit', cell: ({ counts }) => counts },
  { header: 'Applies to', cell: ({ per }) => (per === 'user' ? 'You' : 'Organization'), isSecondary: true },
  { header: 'Used', align: 'right', cell: ({ used }) => used?.toLocaleString('en') ?? '–' },
  { header: 'Maximum', align: 'right', cell: ({ max, unit }) => `${max.toLocaleString('en')} ${unit}` },
];

export const OrganizationLimits = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const limits = useRead('organizationLimitList', { params: { organization_id: organizationId } });
  return (
    <Section title="Other limits" flush>
      <Async of={limits} label="Limits" rows={12}>
        {({ items }) => <DataTable label="Limits" columns={COLUMNS} rows={items} rowKey={({ name }) => name} />}
      </Async>
    </Section>
  );
};
