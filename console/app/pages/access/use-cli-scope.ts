/** The CLI flags for the organization or project, by name. */
import { useMe } from '../../api/me.tsx';
import type { Flag } from '../../format/shell.ts';

export const useOrganizationFlag = (organizationId: string): Flag => {
  const { organizations } = useMe();
  return ['org', organizations.find(({ id }) => id === organizationId)?.name ?? organizationId];
};

export const useProjectFlags = (projectId: string): readonly Flag[] => {
  const { projects, organizations } = useMe();
  const project = projects.find(({ id }) => id === projectId);
  const organization = organizations.find(({ id }) => id === project?.organization_id);
  return project === undefined || organization === undefined
    ? [['project', projectId]]
    : [
        ['org', organization.name],
        ['project', project.name],
      ];
};
