/**
 * One memory of what was read. Whatever is refused for want of a session makes the page ask again who it is, so that an ended
 * session is told at once and everywhere, not at the next visit.
 */
import { GpuaasError } from '@gpuaas/sdk';
import { QueryCache, QueryClient } from '@tanstack/react-query';

const FRESH_MS = 1_000;

export const isSignedOut = (err: unknown): boolean => err instanceof GpuaasError && err.code === 'unauthenticated';

/**
 * How often to ask again by itself. Whoever is signed out would only use up what the server lets strangers ask, and then find
 * no way to sign in; coming back to the page asks again.
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
    // The SDK repeats what is safe to repeat; asking again on top of it would only make people wait longer.
    defaultOptions: {
      queries: { retry: false, staleTime: FRESH_MS, networkMode: 'always' },
      mutations: { retry: false },
    },
  });
  return queries;
};
