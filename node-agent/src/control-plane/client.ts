/**
 * Calls to the node API: one keep-alive pool and one TLS context per certificate, responses validated by the contract.
 * A client is bound to one certificate and trust bundle and is replaced when either changes, so that no connection
 * outlives the trust it was opened with.
 */

import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { createSecureContext } from 'node:tls';
import { type NodeBody, type NodeOperationId, type NodeResponse, nodeApi } from '@gpuaas/contract/node';
import { responseMismatch } from '../schemas.ts';
import { ControlPlaneError, failureOf, failureOfTransport } from './errors.ts';

export type CallOptions<K extends NodeOperationId> = Readonly<{
  params?: Readonly<Record<string, string>>;
  body?: NodeBody<K>;
  correlation_id?: string;
  signal?: AbortSignal;
  timeout_ms?: number;
}>;

export type NodeClient = Readonly<{
  call<K extends NodeOperationId>(operation: K, options?: CallOptions<K>): Promise<NodeResponse<K>>;
  /** The bytes of a response, in chunks. */
  stream<K extends NodeOperationId>(operation: K, options: CallOptions<K>): Promise<AsyncIterable<Buffer>>;
  /** Opens no new connection for this pair; requests in progress may finish. */
  retire(): void;
  /** Aborts requests in progress too. */
  close(): void;
}>;

export type ClientTrust =
  /** Certificates to trust, as PEM. */
  | Readonly<{ ca: string; identity?: Readonly<{ private_key_pem: string; certificate_pem: string }> }>
  /** Only to fetch a certificate that is then compared with a fingerprint. */
  | 'anyone';

const RESPONSE_MAX = 16 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
/** The limit of concurrent requests per node; further ones wait here instead of being refused by the server. */
const CONNECTIONS_MAX = 8;

const pathOf = (template: string, params: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));

const secureContextOf = (trust: Exclude<ClientTrust, 'anyone'>) => {
  try {
    return createSecureContext({
      ca: trust.ca,
      minVersion: 'TLSv1.3',
      ...(trust.identity === undefined
        ? {}
        : { key: trust.identity.private_key_pem, cert: trust.identity.certificate_pem }),
    });
  } catch (err) {
    throw new ControlPlaneError('invalid', 'The key, certificate or trust bundle of this host is unreadable.', {
      cause: err,
    });
  }
};

export const createClient = (options: Readonly<{ url: URL; trust: ClientTrust; version: string }>): NodeClient => {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 1, maxSockets: CONNECTIONS_MAX });
  const tls =
    options.trust === 'anyone'
      ? { rejectUnauthorized: false, minVersion: 'TLSv1.3' as const }
      : { secureContext: secureContextOf(options.trust) };
  let inFlight = 0;
  let isRetired = false;

  const settle = (): void => {
    inFlight -= 1;
    if (isRetired && inFlight === 0) agent.destroy();
  };

  const open = (operation: NodeOperationId, call: CallOptions<NodeOperationId>): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { method, path } = nodeApi[operation];
      const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
      const send = (isSecond: boolean): void => {
        const request = httpsRequest(new URL(pathOf(path, call.params ?? {}), options.url), {
          method,
          agent,
          ...tls,
          headers: {
            accept: 'application/json',
            'user-agent': `gpuaas-node-agent/${options.version}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
            ...(call.correlation_id === undefined ? {} : { 'x-correlation-id': call.correlation_id }),
          },
        });
        const timer = setTimeout(
          () => request.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })),
          call.timeout_ms ?? TIMEOUT_MS,
        );
        const abort = (): void => void request.destroy(new Error('the agent stops'));
        const cleanUp = (): void => {
          clearTimeout(timer);
          call.signal?.removeEventListener('abort', abort);
        };
        call.signal?.addEventListener('abort', abort, { once: true });
        request.on('response', (response) => {
          response.once('close', cleanUp);
          resolve(response);
        });
        request.on('error', (err: NodeJS.ErrnoException) => {
          cleanUp();
          // The server may close an idle connection just as we use it; every call of the node API may be repeated.
          if (!isSecond && request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(err.code ?? '')) send(true);
          else reject(failureOfTransport(err));
        });
        if (call.signal?.aborted) abort();
        request.end(body);
      };
      send(false);
    });

  const readAll = async (response: IncomingMessage): Promise<string> => {
    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of response as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > RESPONSE_MAX) throw new ControlPlaneError('invalid', 'The response of the node API is too long.');
        parts.push(part);
      }
    } catch (err) {
      throw err instanceof ControlPlaneError ? err : failureOfTransport(err as Error);
    }
    return Buffer.concat(parts).toString('utf8');
  };

  const openOk = async (operation: NodeOperationId, call: CallOptions<NodeOperationId>): Promise<IncomingMessage> => {
    const response = await open(operation, call);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw failureOf(status, await readAll(response), response.headers['retry-after']);
  };

  const parse = <K extends NodeOperationId>(operation: K, text: string): NodeResponse<K> => {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch (err) {
      throw new ControlPlaneError('failed', `The response to ${operation} is not JSON.`, { cause: err });
    }
    const wrong = responseMismatch(operation, answer);
    if (wrong !== null)
      throw new ControlPlaneError('failed', `The response to ${operation} does not match the contract: ${wrong}`);
    return answer as NodeResponse<K>;
  };

  return {
    call: async (operation, call = {}) => {
      inFlight += 1;
      try {
        return parse(operation, await readAll(await openOk(operation, call as CallOptions<NodeOperationId>)));
      } finally {
        settle();
      }
    },
    stream: async (operation, call) => {
      inFlight += 1;
      try {
        const response = await openOk(operation, call as CallOptions<NodeOperationId>);
        response.once('close', settle);
        return response as AsyncIterable<Buffer>;
      } catch (err) {
        settle();
        throw err;
      }
    },
    retire: () => {
      isRetired = true;
      if (inFlight === 0) agent.destroy();
    },
    close: () => {
      isRetired = true;
      agent.destroy();
    },
  };
};
