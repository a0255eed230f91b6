/**
 * The listener for clients. Admission is decided before the WebSocket upgrade, in this order: path, origin, failed
 * attempts of the address, capacity, ticket. A browser sends the origin of its page, and a foreign page is refused
 * before its ticket is read, so the ticket stays valid; other clients send no origin.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import proxyAddr from '@fastify/proxy-addr';
import { STREAM_PATH, STREAM_PROTOCOL, TICKET_PROTOCOL_PREFIX } from '@gpuaas/contract/stream';
import type { Clock, Log } from '@gpuaas/kit';
import { AppError, notFound } from '../errors.ts';
import { toAppError } from '../http/problem.ts';
import { addressBlock, createRateLimit } from '../http/rate-limit.ts';
import { userAgentOf } from '../http/request.ts';
import { hashToken } from '../identity/token.ts';
import type { GatewaySessions } from '../sessions/gateway-session.ts';
import type { GatewayMetrics } from '../telemetry/gateway-metrics.ts';
import { createWebSockets, HEADERS_BYTES_MAX, type Listening, listenWith, protocolsOf } from './listen.ts';
import { refuse } from './refuse.ts';
import type { Registry } from './registry.ts';

export type ClientListenerOptions = Readonly<{
  host: string;
  port: number;
  origins: readonly string[];
  sessions_max: number;
  /** Invalid tickets, per address and minute. */
  guess_rate_per_minute: number;
  trust_proxy: string | null;
  headers_timeout_ms: number;
  /** The address of the error documentation. */
  public_url: string;
  registry: Registry;
  sessions: GatewaySessions;
  metrics: GatewayMetrics;
  clock: Clock;
  log: Log;
}>;

const TICKET = /^[A-Za-z0-9._~-]{16,256}$/;

const REFUSED = {
  replayed: 'The ticket was already used. Request another.',
  expired: 'The ticket has expired. Request another.',
  unknown: 'The ticket is invalid. Request another.',
} as const;

const ticketOf = (request: IncomingMessage): string => {
  const protocols = protocolsOf(request.headers['sec-websocket-protocol']);
  if (!protocols.includes(STREAM_PROTOCOL))
    throw new AppError('invalid_request', `Offer the subprotocol ${STREAM_PROTOCOL}.`);
  const offered = protocols.find((name) => name.startsWith(TICKET_PROTOCOL_PREFIX));
  const ticket = offered?.slice(TICKET_PROTOCOL_PREFIX.length) ?? '';
  if (!TICKET.test(ticket))
    throw new AppError('unauthenticated', 'The request has no ticket. Send one as a subprotocol.');
  return ticket;
};

export const createClientListener = (options: ClientListenerOptions): Listening => {
  const { registry, sessions, metrics, clock, log } = options;
  const webSockets = createWebSockets();
  const origins = new Set(options.origins);
  const guesses = createRateLimit(options.guess_rate_per_minute);
  const trusts = options.trust_proxy === null ? null : proxyAddr.compile(options.trust_proxy.split(/ *, */));
  /** Tickets being redeemed: they need capacity too. */
  let entering = 0;
  let isClosing = false;

  const addressOf = (request: IncomingMessage): string =>
    trusts === null ? (request.socket.remoteAddress ?? '') : proxyAddr(request, trusts);

  const take = async (request: IncomingMessage, address: string) => {
    const block = addressBlock(address);
    const nowMs = clock.now().getTime();
    const waitS = guesses.look(block, nowMs);
    if (waitS > 0)
      throw new AppError('rate_limited', `Too many invalid tickets. Wait ${waitS} seconds.`, {
        retry_after_s: waitS,
      });
    const taken = await sessions.redeem({
      ticket_hash: hashToken(ticketOf(request)),
      source_ip: address,
      user_agent: userAgentOf(request.headers),
    });
    if ('session' in taken) return taken.session;
    if ('end' in taken) {
      metrics.ticketRejected('revoked');
      throw new AppError('permission_denied', taken.end.message);
    }
    guesses.take(block, nowMs);
    metrics.ticketRejected(taken.refusal);
    log.warn({ source_ip: address, reason: taken.refusal }, 'ticket refused');
    throw new AppError('unauthenticated', REFUSED[taken.refusal]);
  };

  const enter = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    if (request.url?.split('?')[0] !== STREAM_PATH) throw notFound('path here');
    const { origin } = request.headers;
    if (origin !== undefined && !origins.has(origin))
      throw new AppError('permission_denied', 'This origin is not allowed to connect.');
    if (isClosing) throw new AppError('unavailable', 'This gateway is stopping. Connect again.');
    if (registry.size() + entering >= options.sessions_max)
      throw new AppError('unavailable', 'This gateway has reached its session limit. Retry shortly.');
    entering += 1;
    try {
      const row = await take(request, addressOf(request));
      const userAgent = userAgentOf(request.headers);
      let isIn = false;
      // Creates the WebSocket immediately, or not at all if the client disconnected meanwhile.
      if (!isClosing)
        webSockets.handleUpgrade(request, socket, head, (client) => {
          isIn = true;
          registry.add(client, row, userAgent);
        });
      else socket.destroy();
      if (!isIn) registry.abandon(row, userAgent);
    } finally {
      entering -= 1;
    }
  };

  const server = createServer({
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: options.headers_timeout_ms,
    requestTimeout: options.headers_timeout_ms,
    connectionsCheckingInterval: Math.min(1_000, options.headers_timeout_ms),
    noDelay: true,
  });
  server.on('request', (request, response) => {
    refuse(request, request.socket, notFound('path here'), options);
    response.detachSocket(request.socket);
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    enter(request, socket, head).catch((err: unknown) => {
      const error = toAppError(err);
      if (error.status >= 500 && error.code !== 'unavailable')
        log.error({ err: error.cause ?? error }, 'failed to accept client');
      refuse(request, socket, error, options);
    });
  });

  const listening = listenWith(server, options.host, options.port);
  return {
    listen: listening.listen,
    close: () => {
      isClosing = true;
      return listening.close();
    },
  };
};
