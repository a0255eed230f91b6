/**
 * The listener of agents: HTTPS that asks for a client certificate, and one route per operation of the node contract.
 * It holds a long poll per node for most of its life, so it is bare node:https: a held poll is a connection, its
 * response and one small record. Who may come in is decided in one place, in this order: route, limit by address,
 * certificate, node in the path; only then is the body read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import type { Clock, Log } from '@gpuaas/kit';
import { AppError } from '../errors.ts';
import { toAppError, toProblem } from '../http/problem.ts';
import { addressBlock, createRateLimit } from '../http/rate-limit.ts';
import { correlationIdOf, userAgentOf } from '../http/request.ts';
import type { ListenerCertificate } from '../services/listener-certificate.ts';
import type { CertificateRegister, Peer } from '../services/node-certificate.ts';
import type { Caller } from '../services/node-enroll.ts';
import type { NodeRefusal } from '../services/node-refusal.ts';
import { readBody } from './body.ts';
import type { NodeCtx, NodeHandlers } from './handlers.ts';
import { createPeers, refused } from './peer.ts';
import { findRoute, type Route } from './route.ts';

export type NodeApiOptions = Readonly<{
  host: string;
  port: number;
  /** Where the documentation of errors is. */
  public_url: string;
  headers_timeout_ms: number;
  request_timeout_ms: number;
  /** Requests without a certificate, per address and minute. */
  stranger_rate_per_minute: number;
  identity: ListenerCertificate;
  handlers: NodeHandlers;
  register: CertificateRegister;
  audit: (caller: Caller, refusal: NodeRefusal) => Promise<void>;
  clock: Clock;
  log: Log;
}>;

export type NodeApiServer = Readonly<{
  listen(): Promise<number>;
  /** New connections see it; those that are here go on. */
  show(identity: ListenerCertificate): void;
  /** Ends connections whose certificate counts no more; how many. */
  sweep(): number;
  /** Takes nobody new and waits for the answers under way. */
  close(): Promise<void>;
}>;

const BODY_BYTES_MAX = 64 * 1024;
const HEADERS_BYTES_MAX = 8 * 1024;
const CONNECTIONS_MAX = 20_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Longer than a poll rests, so that an agent's connection lives on from poll to poll. */
const KEEP_ALIVE_MS = 75_000;
const CLOSE_WITHIN_MS = 5_000;
/** Rows about refused agents, per address and minute. */
const AUDIT_ROWS_PER_MINUTE = 6;

const tlsOptions = ({ key, cert, ca }: ListenerCertificate) => ({
  key,
  cert,
  ca,
  requestCert: true,
  // Whoever has none may still enrol; the routes decide.
  rejectUnauthorized: false,
  minVersion: 'TLSv1.3' as const,
});

type Passing = { route: Route | null; peer: Peer | null; node_id: string | null };

export const createNodeApi = (options: NodeApiOptions): NodeApiServer => {
  const { handlers, clock, log } = options;
  const strangers = createRateLimit(options.stranger_rate_per_minute);
  const auditRows = createRateLimit(AUDIT_ROWS_PER_MINUTE);
  const peers = createPeers(options.register);
  let isClosing = false;

  const nowMs = (): number => clock.now().getTime();

  const pass = async (request: IncomingMessage, ctx: Omit<NodeCtx, 'peer'>, passing: Passing): Promise<unknown> => {
    const path = request.url?.split('?')[0] ?? '';
    const { route, params } = findRoute(request.method ?? '', path);
    passing.route = route;
    passing.node_id = params['node_id'] ?? null;
    const { operation, validators } = route;
    if (operation.auth === 'certificate') {
      passing.peer = await peers.admit(request.socket as TLSSocket);
      if (passing.node_id !== null && passing.node_id !== passing.peer.node_id)
        throw refused('The certificate is another node’s.');
    } else {
      const waitS = strangers.take(addressBlock(ctx.caller.source_ip), nowMs());
      if (waitS > 0)
        throw new AppError('rate_limited', `Too many requests; wait ${waitS} seconds.`, { retry_after_s: waitS });
    }
    const req = {
      params: validators.params(params),
      body:
        operation.body === undefined
          ? undefined
          : validators.body(await readBody(request, operation.bodyMax ?? BODY_BYTES_MAX)),
    };
    const handle = handlers[route.id] as (ctx: NodeCtx, req: unknown) => Promise<unknown>;
    // Operations without a certificate do not look at the peer.
    return handle({ ...ctx, peer: passing.peer as Peer }, req);
  };

  const send = (response: ServerResponse, status: number, type: string, text: string): void => {
    if (isClosing) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
    response.end(text);
  };

  const sendAnswer = async (response: ServerResponse, route: Route, answer: unknown): Promise<void> => {
    if (route.operation.response !== null) return send(response, 200, 'application/json', JSON.stringify(answer));
    const { stream, size } = answer as Awaited<ReturnType<NodeHandlers['agentReleaseGet']>>;
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
    await pipeline(stream, response);
  };

  const refuse = async (
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    passing: Passing,
    error: AppError,
  ): Promise<void> => {
    const { correlation_id, source_ip } = caller;
    const problem = toProblem(error, {
      correlation_id,
      path: request.url?.split('?')[0] ?? '',
      public_url: options.public_url,
    });
    if (problem.status >= 500)
      log.error(
        { correlation_id, error_code: error.code, operation: passing.route?.id, err: error.cause ?? error },
        error.message,
      );
    // Enrolment writes its own rows, with the node that the token was for.
    if (error.code === 'permission_denied' && passing.route?.operation.auth === 'certificate') {
      response.setHeader('connection', 'close');
      if (auditRows.take(addressBlock(source_ip), nowMs()) === 0)
        await options.audit(caller, {
          node_id: passing.node_id,
          peer_node_id: passing.peer?.node_id ?? null,
          operation: passing.route.id,
          policy: error.message,
        });
    }
    // What was not read of the body would be taken for the next request.
    if (!request.complete) response.setHeader('connection', 'close');
    if (problem.retry_after_s !== null) response.setHeader('retry-after', String(problem.retry_after_s));
    send(response, problem.status, 'application/problem+json; charset=utf-8', JSON.stringify(problem));
  };

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = performance.now();
    const caller: Caller = {
      correlation_id: correlationIdOf(request.headers),
      source_ip: request.socket.remoteAddress ?? '',
      user_agent: userAgentOf(request.headers),
    };
    response.setHeader('x-correlation-id', caller.correlation_id);
    const passing: Passing = { route: null, peer: null, node_id: null };
    let errorCode: string | undefined;
    const onHangUp = (fn: () => void) =>
      response.once('close', () => {
        if (!response.writableEnded) fn();
      });
    try {
      const answer = await pass(request, { caller, onHangUp }, passing);
      if (!response.destroyed && passing.route !== null) await sendAnswer(response, passing.route, answer);
    } catch (err) {
      const error = toAppError(err);
      errorCode = error.code;
      if (response.headersSent || response.destroyed) response.destroy();
      else await refuse(request, response, caller, passing, error);
    }
    // Polls come all the time and say nothing.
    const isQuiet = errorCode === undefined && passing.route?.id === 'taskWait';
    log[isQuiet ? 'debug' : 'info'](
      {
        correlation_id: caller.correlation_id,
        operation: passing.route?.id ?? '',
        node_id: passing.peer?.node_id,
        source_ip: caller.source_ip,
        status: response.statusCode,
        error_code: errorCode,
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      },
      'request',
    );
  };

  const server = createServer({
    ...tlsOptions(options.identity),
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
      log.error({ err }, 'could not answer an agent');
      response.destroy();
    });
  });
  server.on('secureConnection', (socket) => socket.once('close', () => peers.forget(socket)));
  server.on('tlsClientError', (err, socket) => {
    log.debug({ err, source_ip: socket.remoteAddress }, 'TLS handshake failed');
    socket.destroy();
  });
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
    show: (identity) => server.setSecureContext(tlsOptions(identity)),
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
