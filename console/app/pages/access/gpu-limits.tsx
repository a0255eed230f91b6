/** GPU limits of an organization and of its projects that the user sees, with their use. */
import { Stack } from '@mantine/core';
import { useMe } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
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

export const GpuLimits = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const projects = useMe().projects.filter((project) => project.organization_id === organizationId);
  return (
    <Section title="GPU limits">
      {projects.length === 0 ? (
        <EmptyState title="No project">The use of GPUs is shown for organizations with a project of yours.</EmptyState>
      ) : (
        <Stack gap="md">
          {projects.slice(0, PROJECTS_SHOWN_MAX).map(({ id, name }, index) => (
            <ProjectLimit key={id} projectId={id} name={name} isFirst={index === 0} />
          ))}
        </Stack>
      )}
    </Section>
  );
};
