/**
 * The client: one typed method per operation of the contract, built from the generated table.
 *
 *   const client = createClient({ baseUrl, token });
 *   const project = await client.projectCreate({ params: { organization_id }, body: { name: 'research' } });
 *   for await (const sku of client.pages.skuList()) console.log(sku.name);
 */
import { ERRORS, type OperationId, type OperationInfo, type Operations, operations } from './api.gen.ts';
import { errorFromResponse, GpuaasError } from './error.ts';
import { jsonLines, serverSentEvents } from './stream.ts';
import {
  backoffMs,
  createTransport,
  pause,
  type RetryOptions,
  type TokenProvider,
  type WireResponse,
} from './transport.ts';
import { type AnyRequest, decodeBody, encodeBody, newIdempotencyKey, pathOf } from './wire.ts';

export type ClientOptions = Readonly<{
  baseUrl: string;
  token?: string | undefined;
  /** Called before every request, and again with the refused token after a 401. */
  tokenProvider?: TokenProvider;
  fetch?: typeof globalThis.fetch;
  userAgent?: string;
  /**
   * Sent as X-Correlation-Id with every request; a function is called for each. Without it the server generates one.
   */
  correlationId?: string | (() => string);
  timeoutMs?: number;
  retry?: RetryOptions;
}>;

export type CallOptions = Readonly<{
  /** Generated if one is required. Pass your own to survive a restart of your program. */
  idempotencyKey?: string | undefined;
  /** The ETag of the version you read, or its `version` number. */
  ifMatch?: string | number | undefined;
  signal?: AbortSignal | undefined;
  correlationId?: string | undefined;
}>;

export type StreamOptions = CallOptions &
  Readonly<{
    /** Resume after this event. */
    lastEventId?: string | undefined;
    /** How many connections may fail in a row before the stream fails. */
    reconnectsMax?: number;
    /** The longest time without a byte; the server sends a comment every 15 seconds. */
    idleMaxMs?: number;
    /** Connected, also if no event has arrived yet: at the start, and after each interruption. */
    onOpen?: () => void;
    onReconnect?: (err: GpuaasError) => void;
  }>;

export type ApiResponse<T> = Readonly<{
  data: T;
  status: number;
  etag: string | null;
  location: string | null;
  correlation_id: string | null;
  /** The key of the request, if it had one. */
  idempotency_key: string | null;
}>;

type RequestOf<K extends OperationId> = Operations[K]['request'];
type ResponseOf<K extends OperationId> = Operations[K]['response'];
type Args<K extends OperationId, O> =
  Record<never, never> extends RequestOf<K>
    ? [request?: RequestOf<K>, options?: O]
    : [request: RequestOf<K>, options?: O];

type StreamId = { [K in OperationId]: (typeof operations)[K] extends { stream: string } ? K : never }[OperationId];
type PageId = { [K in OperationId]: (typeof operations)[K] extends { page: true } ? K : never }[OperationId];
export type CallId = Exclude<OperationId, StreamId>;
type ItemOf<K extends PageId> = ResponseOf<K> extends { items: (infer Item)[] } ? Item : never;

type Methods = {
  [K in keyof Operations]: K extends StreamId
    ? (...args: Args<K, StreamOptions>) => AsyncIterable<ResponseOf<K>>
    : (...args: Args<K, CallOptions>) => Promise<ResponseOf<K>>;
};
type Pages = { [K in PageId]: (...args: Args<K, CallOptions>) => AsyncIterable<ItemOf<K>> };

export type RawRequest = Readonly<{
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}>;

export type Client = Methods &
  Readonly<{
    /** The same operations with status, ETag, Location and correlation ID beside the body. */
    call<K extends CallId>(operation: K, ...args: Args<K, CallOptions>): Promise<ApiResponse<ResponseOf<K>>>;
    /** Every item of a list, page after page. */
    pages: Pages;
    /** A request that is not in the table, with the same credential, errors and retries. The body is text. */
    raw(request: RawRequest, options?: CallOptions): Promise<ApiResponse<string> & { headers: Headers }>;
  }>;

export const createClient = (options: ClientOptions): Client => {
  const transport = createTransport({
    baseUrl: options.baseUrl,
    tokenProvider: options.tokenProvider ?? (() => options.token),
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    userAgent: options.userAgent,
    timeoutMs: options.timeoutMs ?? 60_000,
    retry: { retriesMax: 3, baseMs: 250, waitMaxMs: 30_000, ...options.retry },
  });

  const common = (call: CallOptions): Record<string, string> => {
    const given = typeof options.correlationId === 'function' ? options.correlationId() : options.correlationId;
    const correlationId = call.correlationId ?? given;
    const ifMatch = typeof call.ifMatch === 'number' ? `"v${call.ifMatch}"` : call.ifMatch;
    return {
      ...(correlationId === undefined ? {} : { 'x-correlation-id': correlationId }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
    };
  };

  const responseOf = <T>(response: WireResponse, data: T, key: string | undefined): ApiResponse<T> => ({
    data,
    status: response.status,
    etag: response.headers.get('etag'),
    location: response.headers.get('location'),
    correlation_id: response.headers.get('x-correlation-id'),
    idempotency_key: key ?? null,
  });

  const call = async (
    id: OperationId,
    request: AnyRequest = {},
    callOptions: CallOptions = {},
  ): Promise<ApiResponse<unknown>> => {
    const info: OperationInfo = operations[id];
    const idempotencyKey =
      callOptions.idempotencyKey ?? (info.idempotency === 'required' ? newIdempotencyKey() : undefined);
    const response = await transport.send({
      method: info.method,
      path: pathOf(info, request),
      headers: {
        accept: 'application/json',
        ...(info.body ? { 'content-type': info.bodyType ?? 'application/json' } : {}),
        ...common({ ...callOptions, idempotencyKey }),
      },
      ...(info.body ? { body: encodeBody(info, request.body) } : {}),
      anonymous: info.public === true,
      signal: callOptions.signal,
    });
    return responseOf(response, decodeBody(response), idempotencyKey);
  };

  const open = (
    info: OperationInfo,
    request: AnyRequest,
    stream: StreamOptions,
    lastEventId?: string,
  ): Promise<WireResponse> =>
    transport.send({
      method: info.method,
      path: pathOf(info, request),
      headers: {
        accept: info.stream ?? 'application/json',
        ...common(stream),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: stream.signal,
      stream: true,
    });

  /**
   * Continues after the last event it returned, until the caller stops, the server refuses, or too many connections
   * fail in a row. It throws `gone` when it cannot continue there: read the resources again, then open a new stream.
   */
  async function* events(info: OperationInfo, request: AnyRequest, stream: StreamOptions): AsyncGenerator<unknown> {
    const { reconnectsMax = 10, idleMaxMs = 45_000 } = stream;
    let lastEventId = stream.lastEventId;
    let retryMs = 1_000;
    for (let failures = 0; ; ) {
      const openedAt = Date.now();
      try {
        const { response } = await open(info, request, stream, lastEventId);
        stream.onOpen?.();
        for await (const event of serverSentEvents(response, idleMaxMs)) {
          if (event.type === 'problem') throw errorFromResponse(ERRORS.gone.status, response.headers, event.data);
          failures = 0;
          lastEventId = event.id ?? lastEventId;
          retryMs = event.retryMs ?? retryMs;
          yield JSON.parse(event.data);
        }
        throw new GpuaasError('network', 'The server closed the stream.', { retryable: true });
      } catch (err) {
        if (stream.signal?.aborted) throw stream.signal.reason;
        if (!(err instanceof GpuaasError) || !err.retryable || failures >= reconnectsMax) throw err;
        // A quiet connection that lasted for a while was a good one, even without an event.
        if (Date.now() - openedAt > 10_000) failures = 0;
        stream.onReconnect?.(err);
        await pause(backoffMs(failures++, retryMs, 30_000), stream.signal);
      }
    }
  }

  async function* streamOf(
    id: OperationId,
    request: AnyRequest = {},
    stream: StreamOptions = {},
  ): AsyncGenerator<unknown> {
    const info: OperationInfo = operations[id];
    if (info.stream === 'text/event-stream') yield* events(info, request, stream);
    else yield* jsonLines((await open(info, request, stream)).response);
  }

  async function* pagesOf(
    id: OperationId,
    request: AnyRequest = {},
    callOptions: CallOptions = {},
  ): AsyncGenerator<unknown> {
    let cursor = request.query?.['cursor'];
    do {
      const { data } = await call(id, { ...request, query: { ...request.query, cursor } }, callOptions);
      const page = data as { items: unknown[]; next_cursor: string | null };
      yield* page.items;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  const raw = async (request: RawRequest, callOptions: CallOptions = {}) => {
    const response = await transport.send({
      ...request,
      headers: { accept: 'application/json', ...request.headers, ...common(callOptions) },
      signal: callOptions.signal,
    });
    return { ...responseOf(response, response.text, callOptions.idempotencyKey), headers: response.headers };
  };

  const entries = Object.entries<OperationInfo>(operations) as [OperationId, OperationInfo][];
  const methods = entries.map(([id, info]) => [
    id,
    info.stream === undefined
      ? async (request?: AnyRequest, callOptions?: CallOptions) => (await call(id, request, callOptions)).data
      : (request?: AnyRequest, stream?: StreamOptions) => streamOf(id, request, stream),
  ]);
  const pages = entries
    .filter(([, info]) => info.page)
    .map(([id]) => [id, (request?: AnyRequest, callOptions?: CallOptions) => pagesOf(id, request, callOptions)]);

  // The table gives the methods their names and the generated types their signatures; they are joined here.
  return { ...Object.fromEntries(methods), call, pages: Object.fromEntries(pages), raw } as unknown as Client;
};
