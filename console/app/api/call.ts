/** The client's methods are typed one by one; if the operation is a variable its types are joined here, once. */
import type { ApiResponse, CallId, CallOptions, Client, Operations } from '@gpuaas/sdk';

export type RequestOf<K extends CallId> = Operations[K]['request'];
export type ResponseOf<K extends CallId> = Operations[K]['response'];

type AnyCall = (id: CallId, request: unknown, options: CallOptions) => Promise<ApiResponse<unknown>>;

export const callOperation = <K extends CallId>(
  client: Client,
  id: K,
  request: RequestOf<K>,
  options: CallOptions,
): Promise<ApiResponse<ResponseOf<K>>> =>
  (client.call as unknown as AnyCall)(id, request, options) as Promise<ApiResponse<ResponseOf<K>>>;
