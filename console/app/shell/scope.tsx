/** The scope of a part of the console, a project, an organization or the platform: who may open it, and which events keep it current. */
import { Outlet, useParams } from '@tanstack/react-router';
import { PLATFORM_SCOPE } from '../api/event-stream.ts';
import { useLive } from '../api/live.ts';
import { refusalOf, useMe } from '../api/me.tsx';
import { NoPermissionPage } from './no-permission.tsx';
import { NotFoundPage } from './not-found.tsx';

export const ProjectScope = () => {
  const { projectId } = useParams({ strict: false });
  const me = useMe();
  const project = me.projects.find(({ id }) => id === projectId);
  useLive(project?.id ?? null);
  return project === undefined ? <NotFoundPage /> : <Outlet />;
};

/** Members who may not read the events of every project see the page as it was read. */
export const useLiveOrganization = (organizationId: string): void => {
  const refusal = refusalOf(useMe(), 'event.read', { organization: organizationId });
  useLive(refusal === null ? organizationId : null);
};

export const PlatformScope = () => {
  const refusal = refusalOf(useMe(), 'admin.node.read');
  useLive(refusal === null ? PLATFORM_SCOPE : null);
  return refusal === null ? (
    <Outlet />
  ) : (
    <NoPermissionPage
      reason={refusal}
      ask="A superadmin can grant you the operator role with gpuaas admin user update."
    />
  );
};
