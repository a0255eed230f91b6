/** The audit log of an organization or of the platform. Filters are part of the address, so a result can be shared. */
import type { AuditLog } from '@gpuaas/sdk';
import { Button, Group, Stack } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useBackend } from '../../api/backend.tsx';
import { refusalOf, useMay, useMe } from '../../api/me.tsx';
import { type PagesResult, useAll, usePages } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { day } from '../../format/time.ts';
import { NoPermissionPage } from '../../shell/no-permission.tsx';
import { NotFoundPage } from '../../shell/not-found.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page, Section } from '../../ui/page.tsx';
import { AuditExport } from './audit-export.tsx';
import { AuditFilterBar } from './audit-filter-bar.tsx';
import { type AuditSearch, auditFlags, auditQuery, hasFilters } from './audit-filters.ts';
import { AuditTable, TraceLink } from './audit-table.tsx';
import { AuditVerify } from './audit-verify.tsx';
import { useOrganizationFlag } from './use-cli-scope.ts';

const Rows = ({
  pages,
  isFiltered,
  children,
}: Readonly<{ pages: PagesResult<AuditLog>; isFiltered: boolean; children(rows: readonly AuditLog[]): ReactNode }>) => {
  if (pages.error !== null) return <ErrorPanel error={pages.error} onRetry={pages.refetch} />;
  if (pages.isLoading) return <Loading rows={8} label="Audit entries" />;
  if (pages.items.length === 0)
    return (
      <EmptyState title={isFiltered ? 'No matching entries' : 'No audit entries'}>
        {isFiltered
          ? 'Extend the time range or clear a filter. Enter complete IDs.'
          : 'Every change and every denied attempt is recorded here.'}
      </EmptyState>
    );
  return (
    <>
      {children(pages.items)}
      {pages.hasMore && (
        <Button variant="subtle" fullWidth loading={pages.isLoadingMore} onClick={pages.loadMore}>
          Show more
        </Button>
      )}
    </>
  );
};

const Kept = () => (
  <p className="muted" style={{ margin: 0, padding: '10px 16px' }}>
    Every change and every denied attempt is recorded. Entries are kept permanently. A hash chain reveals missing or
    altered entries. Entries contain no secrets.
  </p>
);

export const OrganizationAuditPage = () => {
  const { organizationId = '' } = useParams({ strict: false });
  const me = useMe();
  const refusal = useMay()('audit.read', { organization: organizationId });
  if (!me.organizations.some(({ id }) => id === organizationId)) return <NotFoundPage />;
  return refusal === null ? (
    <OrganizationAudit organizationId={organizationId} />
  ) : (
    <NoPermissionPage reason={refusal} ask="An organization owner can grant you the admin role." />
  );
};

const OrganizationAudit = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const search = useSearch({ from: '/console/organizations/$organizationId/audit' });
  const navigate = useNavigate();
  const { client } = useBackend();
  const me = useMe();
  const org = useOrganizationFlag(organizationId);
  const params = { organization_id: organizationId };
  const { organization_id: _, ...query } = auditQuery(search);
  const pages = usePages('auditLogList', { params, query });
  const members = useAll('organizationMemberList', { params });
  const projects = me.projects.filter(({ organization_id }) => organization_id === organizationId);
  const isOperator = refusalOf(me, 'admin.node.read') === null;
  const to = '/organizations/$organizationId/audit' as const;
  const change = (next: AuditSearch) => {
    const { organization: __, ...kept } = next;
    void navigate({ to, params: { organizationId }, search: kept, replace: true });
  };
  return (
    <Page
      title="Audit"
      subtitle="Changes and denied attempts, with actor, source and deciding rule."
      actions={
        <AuditExport
          fileName={`audit-${organizationId}-${day(new Date().toISOString())}.jsonl`}
          read={(signal) => client.auditLogExport({ params, query }, { signal })}
        />
      }
    >
      <Section title="Filters">
        <Stack gap="sm">
          <AuditFilterBar
            search={search}
            projects={projects.map(({ id, name }) => ({ value: id, label: name }))}
            isPlatform={false}
            onChange={change}
          />
          <CliCommand command={command(['audit', 'export'], [...auditFlags(search), org])} />
        </Stack>
      </Section>
      <Section title="Entries, newest first" flush actions={<Refresh onClick={pages.refetch} />}>
        <Kept />
        <Rows pages={pages} isFiltered={hasFilters(search)}>
          {(rows) => (
            <AuditTable
              rows={rows}
              words={{
                nameOf: (actor) => members.data?.find(({ user_id }) => user_id === actor)?.name,
                follow: (row) => {
                  const project = projects.find(({ id }) => id === row.project_id) ?? projects[0];
                  if (!isOperator && project === undefined) return <span className="mono">{row.correlation_id}</span>;
                  return <TraceLink id={row.correlation_id} projectId={isOperator ? null : (project?.id ?? null)} />;
                },
                only: (more, text) => (
                  <Link className="link" to={to} params={{ organizationId }} search={{ ...search, ...more }}>
                    {text}
                  </Link>
                ),
              }}
            />
          )}
        </Rows>
      </Section>
    </Page>
  );
};

export const PlatformAuditPage = () => {
  const search = useSearch({ from: '/console/platform/audit' });
  const navigate = useNavigate();
  const { client } = useBackend();
  const query = auditQuery(search);
  const pages = usePages('adminAuditLogList', { query });
  return (
    <Page
      title="Platform audit"
      subtitle="Changes and denied attempts, with actor, source and deciding rule."
      actions={
        <AuditExport
          fileName={`audit-platform-${day(new Date().toISOString())}.jsonl`}
          read={(signal) => client.pages.adminAuditLogList({ query }, { signal })}
        />
      }
    >
      <Section title="Filters">
        <Stack gap="sm">
          <AuditFilterBar
            search={search}
            projects={[]}
            isPlatform
            onChange={({ project: _, ...next }) =>
              void navigate({ to: '/platform/audit', search: next, replace: true })
            }
          />
          <CliCommand command={command(['admin', 'audit', 'list'], [...auditFlags(search), ['all', true]])} />
        </Stack>
      </Section>
      <Section title="Entries, newest first" flush actions={<Refresh onClick={pages.refetch} />}>
        <Kept />
        <Rows pages={pages} isFiltered={hasFilters(search)}>
          {(rows) => (
            <AuditTable
              rows={rows}
              words={{
                nameOf: () => undefined,
                follow: (row) => <TraceLink id={row.correlation_id} projectId={null} />,
                only: (more, text) => (
                  <Link className="link" to="/platform/audit" search={{ ...search, ...more }}>
                    {text}
                  </Link>
                ),
              }}
            />
          )}
        </Rows>
      </Section>
      <AuditVerify />
    </Page>
  );
};

/** New rows are loaded on request, so that the rows being read do not move. */
const Refresh = ({ onClick }: Readonly<{ onClick(): void }>) => (
  <Group>
    <Button size="xs" variant="default" onClick={onClick}>
      Refresh
    </Button>
  </Group>
);
