/** The home page: redirects to the current project, or shows first steps to users without one. */
import { Navigate } from '@tanstack/react-router';
import { refusalOf, useMe } from '../../api/me.tsx';
import { useCurrentProject } from '../../shell/current-project.ts';
import { WelcomePage } from './welcome-page.tsx';

export const HomePage = () => {
  const me = useMe();
  const projectId = useCurrentProject();
  if (projectId !== null) return <Navigate to="/projects/$projectId" params={{ projectId }} replace />;
  if (refusalOf(me, 'admin.node.read') === null) return <Navigate to="/platform/nodes" replace />;
  return <WelcomePage />;
};
