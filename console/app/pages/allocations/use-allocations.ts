/** The rows of the list. The API filters by one state; live allocations are in several, and each list is short. */
import type { Allocation, GpuaasError } from '@gpuaas/sdk';
import { useAll, usePages } from '../../api/read.ts';
import { type LIVE_STATES, named, newestFirst, type StateFilter } from './list.ts';

const MOVING_MS = 2_000;
const QUIET_MS = 15_000;

export type AllocationRows = Readonly<{
  rows: readonly Allocation[];
  isLoading: boolean;
  error: GpuaasError | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
  refetch(): void;
}>;

/** Progress emits no events, so it is polled; everything else arrives by event. */
const useInState = (project_id: string, state: (typeof LIVE_STATES)[number], enabled: boolean) => {
  const request = { params: { project_id }, query: { state } };
  const { data } = useAll('allocationList', request, { enabled });
  const isMoving = data?.some(({ progress }) => progress !== null) ?? false;
  // The same query, so it is sent once; its interval depends on the response.
  return useAll('allocationList', request, { enabled, everyMs: isMoving ? MOVING_MS : QUIET_MS });
};

const useLiveRows = (projectId: string, enabled: boolean) => {
  const requested = useInState(projectId, 'requested', enabled);
  const provisioning = useInState(projectId, 'provisioning', enabled);
  const active = useInState(projectId, 'active', enabled);
  const releasing = useInState(projectId, 'releasing', enabled);
  const blocked = useInState(projectId, 'release_failed', enabled);
  return [requested, provisioning, active, releasing, blocked];
};

/** Between two responses one allocation may be listed in both its states: the later response wins. */
const latest = (rows: readonly Allocation[]): readonly Allocation[] => {
  const byId = new Map<string, Allocation>();
  for (const row of rows) {
    const known = byId.get(row.id);
    if (known === undefined || known.version <= row.version) byId.set(row.id, row);
  }
  return [...byId.values()];
};

export const useAllocations = (projectId: string, filter: StateFilter, text: string): AllocationRows => {
  const params = { project_id: projectId };
  const isLive = filter === 'live';
  const query = filter === 'live' || filter === 'all' ? {} : { state: filter };
  const live = useLiveRows(projectId, isLive);
  // A name search reads all pages; otherwise pages are read on demand.
  const searched = useAll('allocationList', { params, query }, { enabled: !isLive && text !== '' });
  const paged = usePages('allocationList', { params, query }, { enabled: !isLive && text === '', everyMs: QUIET_MS });

  if (isLive)
    return {
      rows: named(newestFirst([latest(live.flatMap(({ data }) => data ?? []))]), text),
      isLoading: live.some(({ isLoading }) => isLoading),
      error: live.find(({ error }) => error !== null)?.error ?? null,
      hasMore: false,
      isLoadingMore: false,
      loadMore: () => undefined,
      refetch: () => {
        for (const one of live) void one.refetch();
      },
    };
  if (text !== '')
    return {
      rows: named(searched.data ?? [], text),
      isLoading: searched.isLoading,
      error: searched.error,
      hasMore: false,
      isLoadingMore: false,
      loadMore: () => undefined,
      refetch: () => void searched.refetch(),
    };
  return { ...paged, rows: paged.items };
};
