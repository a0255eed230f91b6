/**
 * One cache for everything read. A request refused for lack of a session makes the page read the signed-in user again, so
 * that an ended session shows immediately on every page. A successful change makes every visible query stale, because only
 * the server knows what the change affects.
 */
import { GpuaasError } from '@gpuaas/sdk';
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

const FRESH_MS = 1_000;

export const isSignedOut = (err: unknown): boolean => err instanceof GpuaasError && err.code === 'unauthenticated';

/**
 * The polling interval. A signed-out page does not poll: it would use up the rate limit for anonymous requests, which
 * sign-in needs. Returning to the page reads again.
 */
export const repeatEvery =
  (everyMs: number | false) =>
  ({ state }: Readonly<{ state: Readonly<{ error: unknown }> }>): number | false =>
    isSignedOut(state.error) ? false : everyMs;

export const createQueries = (): QueryClient => {
  const queries = new QueryClient({
    queryCache: new QueryCache({
      onError: (err, { queryKey }) => {
        if (isSignedOut(err) && queryKey[0] !== 'meGet') void queries.invalidateQueries({ queryKey: ['meGet'] });
      },
    }),
    mutationCache: new MutationCache({
      onSuccess: () => void queries.invalidateQueries(),
      onError: (err) => {
        if (isSignedOut(err)) void queries.invalidateQueries({ queryKey: ['meGet'] });
      },
    }),
    // The SDK retries what is safe to retry. A response that holds a secret leaves the cache with its form.
    defaultOptions: {
      queries: { retry: false, staleTime: FRESH_MS, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always', gcTime: 0 },
    },
  });
  return queries;
};
