/** What several parts of the allocation pages ask for: who people are, and which words name the project to the command line. */
import { useMemo } from 'react';
import { useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import type { Flag } from '../../format/shell.ts';

/**
 * The name of whoever has the id, or the id itself for somebody who has left. Owners and admins of the organization work in
 * every project and are members of none: the organization is asked where somebody is not known without it.
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

/** Who has one project need not name it to the command line. */
export const useProjectFlags = (projectId: string): readonly Flag[] =>
  useMe().projects.length > 1 ? [['project', projectId]] : [];
