/** Every organization with its GPUs, and the limits of one. */
import type { Organization } from '@gpuaas/sdk';
import { Link, useSearch } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { ResourceSection } from '../../resource/resource-section.tsx';
import { Async } from '../../ui/async.tsx';
import { Id } from '../../ui/copy.tsx';
import { EmptyState, Facts, Page, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { limitsOf, organizations } from './declared/organizations.tsx';
import './site.css';

const One = ({ organization }: Readonly<{ organization: Organization }>) => {
  const { id, name, display_name, kind, created_at } = organization;
  const { projects } = useMe();
  const projectName = (project: string): string =>
    projects.find((one) => one.id === project)?.name ?? `…${project.slice(-6)}`;
  return (
    <>
      <Section title={display_name}>
        <Facts
          facts={[
            [
              'Name',
              <span key="name" className="mono">
                {name}
              </span>,
            ],
            ['Kind', kind],
            ['ID', <Id key="id" id={id} />],
            ['Created', <Ago key="at" at={created_at} />],
            [
              'See',
              <span key="links" className="link-list">
                <Link className="link" to="/platform/allocations" search={{ organization: id }}>
                  Allocations
                </Link>
                <Link className="link" to="/platform/audit" search={{ organization: id }}>
                  Audit
                </Link>
              </span>,
            ],
          ]}
        />
      </Section>
      <ResourceSection resource={limitsOf(organization, projectName)} />
    </>
  );
};

export const OrganizationsPage = () => {
  const { organization: asked } = useSearch({ from: '/console/site/organizations' });
  const quotas = useAll('adminQuotaList', {});
  const all = useAll('adminOrganizationList', {}, { enabled: asked !== undefined });
  return (
    <Page title="Organizations" subtitle="Tenants of the site and their GPU limits.">
      {asked === undefined ? (
        <Async of={quotas} label="Organizations">
          {(data) => <ResourceSection resource={organizations(data, quotas.isFetching)} />}
        </Async>
      ) : (
        <>
          <Link className="link site-back" to="/site/organizations">
            All organizations
          </Link>
          <Async of={all} label="Organization">
            {(found) => {
              const one = found.find(({ id }) => id === asked);
              return one === undefined ? (
                <EmptyState title="No such organization">It may be deleted, or the address is wrong.</EmptyState>
              ) : (
                <One organization={one} />
              );
            }}
          </Async>
        </>
      )}
    </Page>
  );
};
