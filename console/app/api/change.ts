/**
 * Changing something: one hook. A form that is sent twice, by a double click or because the answer was lost, is one change:
 * the Idempotency-Key stays the same until the request itself changes or has succeeded.
 */
import { type Answer, type CallId, GpuaasError, newIdempotencyKey } from '@gpuaas/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useBackend } from './backend.tsx';
import { callOperation, type RequestOf, type ResponseOf } from './call.ts';
import { isSignedOut } from './query-client.ts';

export type Change<K extends CallId> = Readonly<{
  /** Resolves to null where it was refused; the refusal is then in `error`. */
  run(request: RequestOf<K>, options?: Readonly<{ ifMatch?: number }>): Promise<Answer<ResponseOf<K>> | null>;
  isRunning: boolean;
  error: GpuaasError | null;
  /** Of the last change that was made. */
  correlationId: string | null;
  reset(): void;
}>;

const asError = (err: unknown): GpuaasError =>
  err instanceof GpuaasError
    ? err
    : new GpuaasError('unexpected_answer', err instanceof Error ? err.message : String(err));

export const useChange = <K extends CallId>(id: K): Change<K> => {
  const { client } = useBackend();
  const queries = useQueryClient();
  const intent = useRef<{ text: string; key: string; running: Promise<Answer<ResponseOf<K>> | null> | null } | null>(
    null,
  );
  const [state, setState] = useState<{ isRunning: boolean; error: GpuaasError | null; correlationId: string | null }>({
    isRunning: false,
    error: null,
    correlationId: null,
  });

  const send = async (
    request: RequestOf<K>,
    key: string,
    ifMatch: number | undefined,
  ): Promise<Answer<ResponseOf<K>> | null> => {
    setState((before) => ({ ...before, isRunning: true, error: null }));
    try {
      const answer = await callOperation(client, id, request, { idempotencyKey: key, ifMatch });
      intent.current = null;
      setState({ isRunning: false, error: null, correlationId: answer.correlation_id });
      // What a change touches is the server's business: everything on the page is asked again, which is what is looked at.
      void queries.invalidateQueries();
      return answer;
    } catch (err) {
      if (isSignedOut(err)) void queries.invalidateQueries({ queryKey: ['meGet'] });
      setState((before) => ({ ...before, isRunning: false, error: asError(err) }));
      return null;
    }
  };

  const run: Change<K>['run'] = (request, options = {}) => {
    const text = JSON.stringify([request, options.ifMatch]);
    const known = intent.current;
    if (known?.text === text && known.running !== null) return known.running;
    const mine: NonNullable<typeof known> =
      known?.text === text ? known : { text, key: newIdempotencyKey(), running: null };
    intent.current = mine;
    mine.running = send(request, mine.key, options.ifMatch).finally(() => {
      mine.running = null;
    });
    return mine.running;
  };

  return { ...state, run, reset: () => setState({ isRunning: false, error: null, correlationId: null }) };
};
