/**
 * The GPU limits of an organization and of its projects that the user sees. The API returns both with the quota of a
 * project, so a user who sees no project learns no limit, except an operator.
 */
import type { GpuaasError, Quota } from '@gpuaas/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useBackend } from '../../api/backend.tsx';
import { useMay } from '../../api/me.tsx';

const PROJECTS_SHOWN_MAX = 20;

export type ShownLimit = Readonly<{ of: string; quota: Quota }>;

/** The organization's first; null if the user may not know them. */
export const useGpuLimits = (organizationId: string): UseQueryResult<readonly ShownLimit[] | null, GpuaasError> => {
  const { client } = useBackend();
  const isOperator = useMay()('admin.quota.read') === null;
  return useQuery<readonly ShownLimit[] | null, GpuaasError>({
    queryKey: ['quotaGet', organizationId, isOperator],
    queryFn: async ({ signal }) => {
      const request = { params: { organization_id: organizationId }, query: { limit: PROJECTS_SHOWN_MAX } };
      const projects = await client.projectList(request, { signal });
      const read = projects.items.map(async ({ id, name }) => ({
        name,
        ...(await client.quotaGet({ params: { project_id: id } }, { signal })),
      }));
      const quotas = await Promise.all(read);
      const [first] = quotas;
      if (first !== undefined)
        return [
          { of: 'Organization', quota: first.organization },
          ...quotas.map(({ name, project }) => ({ of: `Project ${name}`, quota: project })),
        ];
      if (!isOperator) return null;
      const { items } = await client.adminQuotaList({ query: { organization_id: organizationId } }, { signal });
      return items.filter(({ project_id }) => project_id === null).map((quota) => ({ of: 'Organization', quota }));
    },
  });
};
