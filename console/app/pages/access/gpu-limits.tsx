/** GPU limits of an organization and of its projects that the user sees, with their use. */
import { Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMay } from '../../api/me.tsx';
import { useAll, useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { QuotaBar } from '../overview/quota-bars.tsx';

const PROJECTS_SHOWN_MAX = 20;

const ProjectLimit = ({
  projectId,
  name,
  isFirst,
}: Readonly<{ projectId: string; name: string; isFirst: boolean }>) => (
  <Async of={useRead('quotaGet', { params: { project_id: projectId } })} rows={isFirst ? 4 : 2}>
    {({ project, organization }) => (
      <Stack gap="md">
        {isFirst && <QuotaBar of="Organization" quota={organization} />}
        <QuotaBar of={`Project ${name}`} quota={project} />
      </Stack>
    )}
  </Async>
);

/** The API tells a limit with the quota of a project, so a user who sees no project sees no limit, except operators. */
const OperatorLimit = ({ organizationId }: Readonly<{ organizationId: string }>) => (
  <Async of={useRead('adminQuotaList', { query: { organization_id: organizationId } })} rows={2}>
    {({ items }) => {
      const organization = items.find(({ project_id }) => project_id === null);
      return organization === undefined ? (
        'No GPU limit, and no GPU is used.'
      ) : (
        <QuotaBar of="Organization" quota={organization} />
      );
    }}
  </Async>
);

export const GpuLimits = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const projects = useAll('projectList', { params: { organization_id: organizationId } });
  const isOperator = useMay()('admin.quota.read') === null;
  return (
    <Section
      title="GPU limits"
      actions={
        isOperator && (
          <Link className="link" to="/site/organizations" search={{ organization: organizationId }}>
            Change limits
          </Link>
        )
      }
    >
      <Async of={projects} label="GPU limits" rows={4}>
        {(found) =>
          found.length > 0 ? (
            <Stack gap="md">
              {found.slice(0, PROJECTS_SHOWN_MAX).map(({ id, name }, index) => (
                <ProjectLimit key={id} projectId={id} name={name} isFirst={index === 0} />
              ))}
            </Stack>
          ) : isOperator ? (
            <OperatorLimit organizationId={organizationId} />
          ) : (
            <EmptyState title="No accessible projects">
              GPU limits are shown to members of a project. Ask an admin of the organization to add you to one.
            </EmptyState>
          )
        }
      </Async>
    </Section>
  );
};
