import type { World } from '../core/world.ts';

/** Of a limit: operators know tenants by name. */
export const namesOf = (
  world: World,
  { organization_id, project_id }: Readonly<{ organization_id: string; project_id: string | null }>,
): Readonly<{ organization_name: string; project_name: string | null }> => ({
  organization_name: world.organizations.get(organization_id)?.name ?? '',
  project_name: project_id === null ? null : (world.projects.get(project_id)?.name ?? null),
});
