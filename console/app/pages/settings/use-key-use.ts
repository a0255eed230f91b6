/** Live allocations that were launched with the user's SSH keys, in all their projects. */
import { useQueries } from '@tanstack/react-query';
import { useBackend } from '../../api/backend.tsx';
import { callOperation } from '../../api/call.ts';
import { useMe } from '../../api/me.tsx';
import { readKey } from '../../api/read.ts';
import { isLive } from '../allocations/list.ts';

const PROJECTS_MAX = 20;

export type KeyUse = Readonly<{ id: string; name: string; projectId: string }>;

export const useKeyUse = (): Readonly<{ usesOf(keyId: string): readonly KeyUse[]; isLoading: boolean }> => {
  const { client } = useBackend();
  const { projects } = useMe();
  const lists = useQueries({
    queries: projects.slice(0, PROJECTS_MAX).map(({ id }) => {
      const request = { params: { project_id: id }, query: { limit: 200 } };
      return {
        queryKey: readKey('allocationList', request),
        queryFn: async ({ signal }: { signal: AbortSignal }) =>
          (await callOperation(client, 'allocationList', request, { signal })).data,
      };
    }),
  });
  return {
    isLoading: lists.some(({ isLoading }) => isLoading),
    usesOf: (keyId) =>
      lists.flatMap(({ data }) =>
        (data?.items ?? [])
          .filter(({ state, ssh_key_ids }) => isLive({ state }) && ssh_key_ids.includes(keyId))
          .map(({ id, name, project_id }) => ({ id, name, projectId: project_id })),
      ),
  };
};
