/**
 * Reading the API: one hook per way of reading. The key of a query is the operation and its request, so that an event
 * can invalidate operations (live.ts) and two parts of a page share one request.
 */
import type { CallId, Client, GpuaasError } from '@gpuaas/sdk';
import {
  type InfiniteData,
  keepPreviousData,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useBackend } from './backend.tsx';
import { callOperation, type RequestOf, type ResponseOf } from './call.ts';
import { repeatEvery } from './query-client.ts';

type Page = { items: unknown[]; next_cursor: string | null };
export type PageId = { [K in CallId]: ResponseOf<K> extends Page ? K : never }[CallId];
export type ItemOf<K extends PageId> = ResponseOf<K> extends { items: (infer Item)[] } ? Item : never;

export type ReadOptions = Readonly<{
  enabled?: boolean;
  /** For values that change without an event, such as the percentage of a step. */
  everyMs?: number | false;
  /** Shows the previous response until the new one arrives: for forms that query while the user types. */
  keepPrevious?: boolean;
}>;

const ask = async <K extends CallId>(client: Client, id: K, request: RequestOf<K>, signal: AbortSignal) =>
  (await callOperation(client, id, request, { signal })).data;

export const readKey = <K extends CallId>(id: K, request: RequestOf<K>) => [id, request] as const;

export const useRead = <K extends CallId>(
  id: K,
  request: RequestOf<K>,
  options: ReadOptions = {},
): UseQueryResult<ResponseOf<K>, GpuaasError> => {
  const { client } = useBackend();
  return useQuery<ResponseOf<K>, GpuaasError>({
    queryKey: readKey(id, request),
    queryFn: ({ signal }) => ask(client, id, request, signal),
    enabled: options.enabled ?? true,
    refetchInterval: repeatEvery(options.everyMs ?? false),
    ...(options.keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
};

export type PagesResult<T> = Readonly<{
  items: readonly T[];
  isLoading: boolean;
  error: GpuaasError | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
  refetch(): void;
}>;

/** A list page by page: the first page, and more on demand. */
export const usePages = <K extends PageId>(
  id: K,
  request: RequestOf<K>,
  options: ReadOptions = {},
): PagesResult<ItemOf<K>> => {
  const { client } = useBackend();
  const query = useInfiniteQuery<Page, GpuaasError, InfiniteData<Page>, readonly unknown[], string | null>({
    queryKey: [id, request, 'pages'],
    initialPageParam: null,
    queryFn: async ({ pageParam, signal }) => {
      const paged = {
        ...request,
        query: { ...('query' in request ? request.query : {}), cursor: pageParam ?? undefined },
      };
      return (await ask(client, id, paged as RequestOf<K>, signal)) as Page;
    },
    getNextPageParam: (last) => last.next_cursor,
    enabled: options.enabled ?? true,
    refetchInterval: repeatEvery(options.everyMs ?? false),
    ...(options.keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
  return {
    items: (query.data?.pages.flatMap((page) => page.items) ?? []) as ItemOf<K>[],
    isLoading: query.isLoading,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  };
};

/** Every item of a list, page after page: for lists that are short or shown completely. */
export const useAll = <K extends PageId>(
  id: K,
  request: RequestOf<K>,
  options: ReadOptions = {},
): UseQueryResult<readonly ItemOf<K>[], GpuaasError> => {
  const { client } = useBackend();
  return useQuery<readonly ItemOf<K>[], GpuaasError>({
    queryKey: [id, request, 'all'],
    queryFn: async ({ signal }) => {
      const items: ItemOf<K>[] = [];
      let cursor: string | null | undefined;
      do {
        const paged = {
          ...request,
          query: { limit: 200, ...('query' in request ? request.query : {}), cursor: cursor ?? undefined },
        };
        const page = (await ask(client, id, paged as RequestOf<K>, signal)) as Page;
        items.push(...(page.items as ItemOf<K>[]));
        cursor = page.next_cursor;
      } while (cursor !== null);
      return items;
    },
    enabled: options.enabled ?? true,
    refetchInterval: repeatEvery(options.everyMs ?? false),
    ...(options.keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
};
