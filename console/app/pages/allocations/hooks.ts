/** Shared hooks of the allocation pages: names of people, and CLI flags of the project. */
import { useMemo } from 'react';
import { useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import type { Flag } from '../../format/shell.ts';

/**
 * The name of a principal, or the ID if the person has left. Organization owners and admins are not project members, so
 * the organization's members are read if the project does not know the ID.
 */
export const usePeople = (projectId: string, ids: readonly (string | null)[]): ((id: string) => string) => {
  const me = useMe();
  const organizationId = me.projects.find(({ id }) => id === projectId)?.organization_id;
  const params = { project_id: projectId };
  const members = useAll('projectMemberList', { params });
  const accounts = useAll('serviceAccountList', { params });
  const near = useMemo(() => {
    const names = new Map<string, string>();
    for (const { id, name } of accounts.data ?? []) names.set(id, name);
    for (const { user_id, name } of members.data ?? []) names.set(user_id, name);
    return names.set(me.id, `${me.name} (you)`);
  }, [me, members.data, accounts.data]);
  const isAsked = members.data !== undefined && accounts.data !== undefined;
  const others = useAll(
    'organizationMemberList',
    { params: { organization_id: organizationId ?? '' } },
    { enabled: organizationId !== undefined && isAsked && ids.some((id) => id !== null && !near.has(id)) },
  );
  return useMemo(() => {
    const far = new Map(others.data?.map(({ user_id, name }) => [user_id, name]));
    return (id) => near.get(id) ?? far.get(id) ?? id;
  }, [near, others.data]);
};

/** A user with one project need not name it on the command line. */
export const useProjectFlags = (projectId: string): readonly Flag[] =>
  useMe().projects.length > 1 ? [['project', projectId]] : [];
