/** Actions on the allocation from the audit log of its organization, for users who may read it. */

import type { Allocation, AuditLog } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { useMay, useMe } from '../../api/me.tsx';
import { usePages } from '../../api/read.ts';
import { Id } from '../../ui/copy.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { usePeople } from './hooks.ts';

const Log = ({ allocation, organizationId }: Readonly<{ allocation: Allocation; organizationId: string }>) => {
  const list = usePages('auditLogList', {
    params: { organization_id: organizationId },
    query: { target_id: allocation.id },
  });
  const nameOf = usePeople(
    allocation.project_id,
    list.items.map(({ actor_id }) => actor_id),
  );
  const columns: readonly Column<AuditLog>[] = [
    {
      header: 'Time',
      cell: ({ created_at }) => (
        <span className="al-nowrap">
          <Ago at={created_at} />
        </span>
      ),
    },
    { header: 'Action', cell: ({ action }) => <span className="mono">{action}</span> },
    {
      header: 'Actor',
      cell: ({ actor_id, actor_kind }) => (actor_id === null ? actor_kind : nameOf(actor_id)),
    },
    {
      header: 'Result',
      cell: ({ result, error_code }) => <StateBadge kind="result" state={result} title={error_code ?? undefined} />,
    },
    { header: 'Decided by', isSecondary: true, cell: ({ policy }) => <span className="al-small">{policy}</span> },
    {
      header: 'Correlation ID',
      isSecondary: true,
      cell: ({ correlation_id }) => <Id id={correlation_id} label="correlation ID" />,
    },
  ];
  return (
    <Section
      title="Audit"
      flush
      actions={
        <Link
          className="link al-roomy"
          to="/organizations/$organizationId/audit"
          params={{ organizationId }}
          search={{ target: allocation.id }}
        >
          Open in audit log
        </Link>
      }
    >
      <PagedTable
        pages={list}
        label="Audit entries"
        columns={columns}
        rows={4}
        empty={
          <EmptyState title="No audit entries">
            Every change to this allocation and every denied attempt is recorded here.
          </EmptyState>
        }
      />
    </Section>
  );
};

export const AuditTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const me = useMe();
  const may = useMay();
  const organizationId = me.projects.find(({ id }) => id === allocation.project_id)?.organization_id;
  const refusal =
    organizationId === undefined
      ? 'You are not a member of the organization.'
      : may('audit.read', { organization: organizationId });
  return refusal === null && organizationId !== undefined ? (
    <Log allocation={allocation} organizationId={organizationId} />
  ) : (
    <Section title="Audit">
      <EmptyState title="Audit log requires the admin role">
        {refusal} Ask an owner or admin of the organization for access.
      </EmptyState>
    </Section>
  );
};
