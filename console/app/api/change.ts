/**
 * Changes to the API: TanStack's `useMutation` with two rules of ours. A form that is sent twice, by a double click or
 * because the response was lost, is one change: the Idempotency-Key stays the same until the request changes or
 * succeeds. A failure is returned as null and shown from `error`. What follows every change is in query-client.ts.
 */
import { type ApiResponse, type CallId, GpuaasError, newIdempotencyKey } from '@gpuaas/sdk';
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { useBackend } from './backend.tsx';
import { callOperation, type RequestOf, type ResponseOf } from './call.ts';

type Options = Readonly<{ ifMatch?: number | undefined }>;
type Sent<K extends CallId> = Readonly<{ request: RequestOf<K>; options: Options; idempotencyKey: string }>;

export type Change<K extends CallId> = Readonly<{
  /** Resolves to null on failure; the failure is then in `error`. */
  run(request: RequestOf<K>, options?: Options): Promise<ApiResponse<ResponseOf<K>> | null>;
  isRunning: boolean;
  error: GpuaasError | null;
  reset(): void;
}>;

export const asError = (err: unknown): GpuaasError =>
  err instanceof GpuaasError
    ? err
    : new GpuaasError('unexpected_response', err instanceof Error ? err.message : String(err));

export const useChange = <K extends CallId>(id: K): Change<K> => {
  const { client } = useBackend();
  const intent = useRef<{ text: string; key: string; running: ReturnType<Change<K>['run']> | null } | null>(null);
  const { mutateAsync, isPending, error, reset } = useMutation<ApiResponse<ResponseOf<K>>, GpuaasError, Sent<K>>({
    mutationFn: ({ request, options, idempotencyKey }) =>
      callOperation(client, id, request, { idempotencyKey, ...options }).catch((err: unknown) => {
        throw asError(err);
      }),
    onSuccess: () => {
      intent.current = null;
    },
  });

  const run: Change<K>['run'] = (request, options = {}) => {
    const text = JSON.stringify([request, options.ifMatch]);
    const mine = intent.current?.text === text ? intent.current : { text, key: newIdempotencyKey(), running: null };
    intent.current = mine;
    mine.running ??= mutateAsync({ request, options, idempotencyKey: mine.key })
      .catch(() => null)
      .finally(() => {
        mine.running = null;
      });
    return mine.running;
  };

  return { run, isRunning: isPending, error, reset };
};
