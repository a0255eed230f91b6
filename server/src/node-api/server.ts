/**
 * The listener of agents: HTTPS with client certificates, and one route per operation of the node contract. It holds
 * one long poll per node most of the time, so it uses plain node:https: a held poll is a connection, its response and
 * one small record. Admission is decided in one place, in this order: route, limit by address or certificate, node in
 * the path and limits of the node; only then is the body read.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Log } from '@gpuaas/kit';
import type { CertificateRegister, Peer } from '../agents/certificate-register.ts';
import type { ListenerCertificate } from '../agents/listener-certificate.ts';
import type { Caller, NodeRefusal } from '../agents/refusal-audit.ts';
import { toAppError } from '../http/problem.ts';
import { addressBlock, createRateLimit, refuseFor } from '../http/rate-limit.ts';
import { correlationIdOf, userAgentOf } from '../http/request.ts';
import { readBody } from './body.ts';
import type { NodeCtx, NodeHandlers } from './handlers.ts';
import { createNodeLimits } from './limits.ts';
import { agentTls, createPeers, refused, watchPeers } from './peer.ts';
import { createRespond, type Passing } from './respond.ts';
import { findRoute, type Route } from './route.ts';
import { assertStorable, asUnstorable } from './storable.ts';

export type NodeApiOptions = Readonly<{
  host: string;
  port: number;
  /** The address of the error documentation. */
  public_url: string;
  headers_timeout_ms: number;
  request_timeout_ms: number;
  /** Requests without a certificate, per address and minute. */
  stranger_rate_per_minute: number;
  /** Requests of one node, per minute. */
  node_rate_per_minute: number;
  identity: ListenerCertificate;
  handlers: NodeHandlers;
  register: CertificateRegister;
  audit: (caller: Caller, refusal: NodeRefusal) => Promise<void>;
  clock: Clock;
  log: Log;
}>;

export type NodeApiServer = Readonly<{
  listen(): Promise<number>;
  /** New connections use it; existing ones continue. */
  show(identity: ListenerCertificate): void;
  /** Ends connections whose certificate is no longer valid; returns how many. */
  sweep(): number;
  /** Accepts no new connections and waits for pending responses. */
  close(): Promise<void>;
}>;

const BODY_BYTES_MAX = 64 * 1024;
const HEADERS_BYTES_MAX = 8 * 1024;
const CONNECTIONS_MAX = 20_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Longer than a poll waits, so that an agent's connection is reused from poll to poll. */
const KEEP_ALIVE_MS = 75_000;
const CLOSE_WITHIN_MS = 5_000;
/** Log lines about refused requests, per node or address and minute; the others are logged at debug. */
const ERROR_LINES_PER_MINUTE = 30;

export const createNodeApi = (options: NodeApiOptions): NodeApiServer => {
  const { handlers, clock, log } = options;
  const anonymousLimit = createRateLimit(options.stranger_rate_per_minute);
  const limits = createNodeLimits(options.node_rate_per_minute);
  const errorLines = createRateLimit(ERROR_LINES_PER_MINUTE);
  const limitedLines = createRateLimit(1);
  const peers = createPeers(options.register);
  let isClosing = false;

  const nowMs = (): number => clock.now().getTime();
  const respond = createRespond({ ...options, nowMs, isClosing: () => isClosing });

  const bodyOf = async (request: IncomingMessage, { id, operation, validators }: Route): Promise<unknown> => {
    const body = await readBody(request, operation.bodyMax ?? BODY_BYTES_MAX);
    // Log lines are repaired instead: one bad line must not cost the others of its batch.
    if (id !== 'logShip') assertStorable(body);
    return validators.body(body);
  };

  const pass = async (request: IncomingMessage, ctx: Omit<NodeCtx, 'peer'>, passing: Passing): Promise<unknown> => {
    const path = request.url?.split('?')[0] ?? '';
    const { route, params } = findRoute(request.method ?? '', path);
    passing.route = route;
    passing.node_id = params['node_id'] ?? null;
    const { operation, validators } = route;
    if (operation.auth === 'certificate') {
      passing.peer = await peers.admit(request.socket as TLSSocket);
      if (passing.node_id !== null && passing.node_id !== passing.peer.node_id)
        throw refused('The certificate belongs to another node.');
      passing.leave = limits.enter({
        node_id: passing.peer.node_id,
        is_poll: route.id === 'taskWait',
        bytes:
          operation.body === undefined
            ? 0
            : Number(request.headers['content-length'] ?? operation.bodyMax ?? BODY_BYTES_MAX),
        now_ms: nowMs(),
      });
    } else {
      refuseFor(anonymousLimit.take(addressBlock(ctx.caller.source_ip), nowMs()));
    }
    const req = {
      params: validators.params(params),
      body: operation.body === undefined ? undefined : await bodyOf(request, route),
    };
    const handle = handlers[route.id] as (ctx: NodeCtx, req: unknown) => Promise<unknown>;
    // Operations without a certificate ignore the peer.
    return handle({ ...ctx, peer: passing.peer as Peer }, req);
  };

  /** Successes are not logged; refusals are, at a limited rate. */
  const levelOf = (caller: Caller, passing: Passing, errorCode: string | undefined): 'debug' | 'info' => {
    if (errorCode === undefined) return 'debug';
    const lines = errorCode === 'rate_limited' ? limitedLines : errorLines;
    return lines.take(passing.peer?.node_id ?? addressBlock(caller.source_ip), nowMs()) === 0 ? 'info' : 'debug';
  };

  const note = (
    caller: Caller,
    passing: Passing,
    status: number,
    errorCode: string | undefined,
    durationMs: number,
  ): void =>
    log[levelOf(caller, passing, errorCode)](
      {
        correlation_id: caller.correlation_id,
        operation: passing.route?.id ?? '',
        node_id: passing.peer?.node_id,
        source_ip: caller.source_ip,
        status,
        error_code: errorCode,
        duration_ms: Math.round(durationMs * 10) / 10,
      },
      'request',
    );

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = performance.now();
    const caller: Caller = {
      correlation_id: correlationIdOf(request.headers),
      source_ip: request.socket.remoteAddress ?? '',
      user_agent: userAgentOf(request.headers),
    };
    const passing: Passing = { route: null, peer: null, node_id: null, leave: () => {} };
    let errorCode: string | undefined;
    let hangUp: (() => void) | undefined;
    const onDisconnect = (fn: () => void): void => {
      hangUp = fn;
    };
    // A disconnected poll is never answered.
    response.on('close', () => {
      passing.leave();
      if (!response.writableEnded) hangUp?.();
    });
    try {
      const answer = await pass(request, { caller, onDisconnect }, passing);
      if (!response.destroyed && passing.route !== null) await respond.answer(response, caller, passing.route, answer);
    } catch (err) {
      const error = toAppError(asUnstorable(err));
      errorCode = error.code;
      if (response.headersSent || response.destroyed) response.destroy();
      else await respond.refuse(request, response, caller, passing, error);
    } finally {
      passing.leave();
    }
    note(caller, passing, response.statusCode, errorCode, performance.now() - startedAt);
  };

  const server = createServer({
    ...agentTls(options.identity),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: options.headers_timeout_ms,
    requestTimeout: options.request_timeout_ms,
    connectionsCheckingInterval: Math.min(1_000, options.headers_timeout_ms),
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('request', (request, response) => {
    onRequest(request, response).catch((err: unknown) => {
      log.error({ err }, 'failed to respond to agent');
      response.destroy();
    });
  });
  watchPeers(server, peers, log);
  server.on('clientError', (err: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || err.code === 'ECONNRESET') return socket.destroy();
    const status = err.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  });

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: options.host, port: options.port, backlog: 4096 }, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    show: (identity) => server.setSecureContext(agentTls(identity)),
    sweep: () => peers.sweep(),
    close: async () => {
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
      await closed;
      clearTimeout(late);
    },
  };
};
