/** What several parts of the allocation pages ask for: who people are, and which words name the project to the command line. */
import { useMemo } from 'react';
import { useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import type { Flag } from '../../format/shell.ts';

/**
 * The name of whoever has the id, or the id itself for somebody who has left. Members of the organization who are in no
 * project are asked for only where they matter: there may be many.
 */
export const usePeople = (projectId: string, organizationId: string | null = null): ((id: string) => string) => {
  const me = useMe();
  const others = useAll(
    'organizationMemberList',
    { params: { organization_id: organizationId ?? '' } },
    { enabled: organizationId !== null },
  );
  const params = { project_id: projectId };
  const members = useAll('projectMemberList', { params });
  const accounts = useAll('serviceAccountList', { params });
  return useMemo(() => {
    const names = new Map<string, string>();
    for (const { user_id, name } of others.data ?? []) names.set(user_id, name);
    for (const { id, name } of accounts.data ?? []) names.set(id, name);
    for (const { user_id, name } of members.data ?? []) names.set(user_id, name);
    names.set(me.id, `${me.name} (you)`);
    return (id) => names.get(id) ?? id;
  }, [me, others.data, members.data, accounts.data]);
};

/** Who has one project need not name it to the command line. */
export const useProjectFlags = (projectId: string): readonly Flag[] =>
  useMe().projects.length > 1 ? [['project', projectId]] : [];
