/** All entries that the palette can offer now. Lists are read when it is open, those of operators when something was typed. */
import { GpuaasError, type Me } from '@gpuaas/sdk';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useBackend } from '../../api/backend.tsx';
import { refusalOf, useMe } from '../../api/me.tsx';
import { useAll, useRead } from '../../api/read.ts';
import { stateWord } from '../../format/state.ts';
import type { Entry } from './entry.ts';
import { type Found, idEntries } from './id-entries.ts';
import { pageEntries } from './pages.ts';
import { type Recognized, recognizeId } from './recognize.ts';

const OPERATOR_FROM = 2;
const PROJECTS_MAX = 20;

/**
 * The tenant API finds an allocation only in its project, so the user's projects are queried one by one, the current
 * one first.
 */
const useAllocationOf = (me: Me, recognized: Recognized | null, projectId: string | null): Found | null => {
  const { client } = useBackend();
  const id = recognized?.kind === 'allocation' ? recognized.id : null;
  const query = useQuery<Found | null>({
    queryKey: ['allocationFind', id],
    enabled: id !== null,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const projects = me.projects.map((project) => project.id);
      const ordered = [...projects.filter((one) => one === projectId), ...projects.filter((one) => one !== projectId)];
      for (const project_id of ordered.slice(0, PROJECTS_MAX))
        try {
          const { name, state } = await client.allocationGet(
            { params: { project_id, allocation_id: id ?? '' } },
            { signal },
          );
          return { project_id, name, state };
        } catch (err) {
          if (!(err instanceof GpuaasError) || err.code !== 'not_found') throw err;
        }
      return null;
    },
  });
  return id === null ? null : (query.data ?? null);
};

type Named = Readonly<{ name: string; display_name?: string }>;

const catalogEntry =
  (kind: string, hrefOf: (name: string) => string) =>
  ({ name, display_name }: Named): Entry => ({
    key: `${kind} ${name}`,
    group: 'Catalog',
    label: name,
    aliases: [kind, ...(display_name === undefined ? [] : [display_name])],
    detail: kind,
    goesTo: { href: hrefOf(encodeURIComponent(name)) },
  });

/** Regions, SKUs, images and pools. */
const useCatalog = (isEnabled: boolean): readonly Entry[] => {
  const options = { enabled: isEnabled };
  const regions = useAll('adminRegionList', {}, options).data;
  const skus = useAll('adminSkuList', {}, options).data;
  const images = useAll('adminOsImageList', {}, options).data;
  const pools = useAll('adminPoolList', {}, options).data;
  return useMemo(
    () => [
      ...(regions ?? []).map(catalogEntry('region', () => '/site/catalog?tab=regions')),
      ...(skus ?? []).map(catalogEntry('SKU', (name) => `/site/catalog?tab=skus&sku=${name}`)),
      ...(images ?? []).map(catalogEntry('image', (name) => `/site/catalog?tab=images&image=${name}`)),
      ...(pools ?? []).map(catalogEntry('pool', () => '/site/catalog?tab=pools')),
    ],
    [regions, skus, images, pools],
  );
};

export const useEntries = (isOpen: boolean, query: string, projectId: string | null): readonly Entry[] => {
  const me = useMe();
  const isOperator = refusalOf(me, 'admin.node.read') === null;
  const recognized = useMemo(() => recognizeId(query), [query]);
  const found = useAllocationOf(me, recognized, projectId);
  const allocations = useRead(
    'allocationList',
    { params: { project_id: projectId ?? '' }, query: { limit: 200 } },
    { enabled: isOpen && projectId !== null },
  );
  const searches = isOpen && isOperator && query.trim().length >= OPERATOR_FROM;
  const nodes = useAll('adminNodeList', {}, { enabled: searches });
  const catalog = useCatalog(searches);
  return useMemo(
    () => [
      ...(recognized === null ? [] : idEntries(me, recognized, projectId, found)),
      ...pageEntries(me, projectId),
      ...(allocations.data?.items ?? []).map(
        ({ id, name, state, project_id }): Entry => ({
          key: `allocation ${id}`,
          group: 'Allocations',
          label: name,
          aliases: ['allocation'],
          detail: stateWord('allocation', state).word,
          goesTo: { href: `/projects/${project_id}/allocations/${id}` },
        }),
      ),
      ...(nodes.data ?? []).map(
        ({ id, name, state, region_name }): Entry => ({
          key: `node ${id}`,
          group: 'Nodes',
          label: name,
          aliases: ['node'],
          detail: `${stateWord('node', state).word}, ${region_name}`,
          goesTo: { href: `/platform/nodes/${id}` },
        }),
      ),
      ...catalog,
    ],
    [me, projectId, recognized, found, allocations.data, nodes.data, catalog],
  );
};
