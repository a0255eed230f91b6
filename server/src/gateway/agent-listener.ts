/**
 * The listener for agents, which connect because of a signed task: HTTPS with a node certificate, checked by the same
 * register as the node API. An agent reaches only sessions that wait for it, named in the path together with its node;
 * any other returns 404. A stream outlives the certificate it started with, which is renewed every few hours: it
 * continues while its enrollment has a valid certificate.
 */

import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { AGENT_STREAM_PATH, STREAM_PROTOCOL } from '@gpuaas/contract/stream';
import type { Clock, Log } from '@gpuaas/kit';
import type { CertificateRegister, Peer } from '../agents/certificate-register.ts';
import type { ListenerCertificate } from '../agents/listener-certificate.ts';
import type { Caller, NodeRefusal } from '../agents/refusal-audit.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { toAppError } from '../http/problem.ts';
import { addressBlock, createRateLimit } from '../http/rate-limit.ts';
import { correlationIdOf, userAgentOf } from '../http/request.ts';
import { agentTls, createPeers, refused, watchPeers } from '../node-api/peer.ts';
import { createWebSockets, HEADERS_BYTES_MAX, type Listening, listenWith, protocolsOf } from './listen.ts';
import { refuse } from './refuse.ts';
import type { Registry } from './registry.ts';

export type AgentListenerOptions = Readonly<{
  host: string;
  port: number;
  headers_timeout_ms: number;
  /** The address of the error documentation. */
  public_url: string;
  identity: ListenerCertificate;
  register: CertificateRegister;
  registry: Registry;
  audit: (caller: Caller, refusal: NodeRefusal) => Promise<void>;
  clock: Clock;
  log: Log;
}>;

export type AgentListener = Listening &
  Readonly<{
    /** New connections use it; existing ones continue. */
    show(identity: ListenerCertificate): void;
    /** Enrollments with open streams here. */
    enrollments(): readonly string[];
    /**
     * Ends streams of checked enrollments that are no longer valid, and connections without a stream; returns how many.
     */
    sweep(asked: readonly string[], good: ReadonlySet<string>): number;
  }>;

/** A host with many tenants starts many sessions at once, each a separate connection until it is a stream. */
const CONNECTIONS_PER_NODE_MAX = 1_024;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Audit rows about refused hosts, per address and minute. */
const AUDIT_ROWS_PER_MINUTE = 6;

const PATH = new RegExp(`^${AGENT_STREAM_PATH.replaceAll(/\{\w+\}/g, '([a-z0-9_]{1,40})')}$`);

export const createAgentListener = (options: AgentListenerOptions): AgentListener => {
  const { registry, clock, log } = options;
  const webSockets = createWebSockets();
  const peers = createPeers(options.register, CONNECTIONS_PER_NODE_MAX);
  /** Streams, with the enrollment of each. */
  const streams = new Map<TLSSocket, string>();
  const auditRows = createRateLimit(AUDIT_ROWS_PER_MINUTE);

  const audit = async (request: IncomingMessage, error: AppError, about: Omit<NodeRefusal, 'operation' | 'policy'>) => {
    const caller = {
      correlation_id: correlationIdOf(request.headers),
      source_ip: request.socket.remoteAddress ?? '',
      user_agent: userAgentOf(request.headers),
    };
    if (auditRows.take(addressBlock(caller.source_ip), clock.now().getTime()) > 0) return;
    await options.audit(caller, { ...about, operation: 'streamConnect', policy: error.message });
  };

  const enter = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const [, nodeId, sessionId] = PATH.exec(request.url ?? '') ?? [];
    if (nodeId === undefined || sessionId === undefined) throw notFound('path here');
    let peer: Peer | undefined;
    try {
      peer = await peers.admit(request.socket as TLSSocket);
      if (peer.node_id !== nodeId) throw refused('The certificate belongs to another node.');
    } catch (err) {
      const error = toAppError(err);
      if (error.code === 'permission_denied')
        await audit(request, error, { node_id: nodeId, peer_node_id: peer?.node_id ?? null });
      throw err;
    }
    if (!protocolsOf(request.headers['sec-websocket-protocol']).includes(STREAM_PROTOCOL))
      throw new AppError('invalid_request', `Offer the subprotocol ${STREAM_PROTOCOL}.`);
    const session = registry.find(sessionId);
    // A session that waits for another host counts as missing, like one that does not wait.
    if (session === undefined || session.node_id !== peer.node_id) throw notFound('session waiting on this gateway');
    if (session.activity().waiting_ms === null) throw conflict('The agent is already connected to this session.');
    const { enrollment_id } = peer;
    const connection = request.socket as TLSSocket;
    webSockets.handleUpgrade(request, socket, head, (host) => {
      if (!session.attach(host)) return host.terminate();
      peers.forget(connection);
      streams.set(connection, enrollment_id);
      connection.once('close', () => streams.delete(connection));
    });
  };

  const server = createServer({
    ...agentTls(options.identity),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: options.headers_timeout_ms,
    requestTimeout: options.headers_timeout_ms,
    connectionsCheckingInterval: Math.min(1_000, options.headers_timeout_ms),
    noDelay: true,
  });
  watchPeers(server, peers, log);
  server.on('request', (request, response) => {
    refuse(request, request.socket, notFound('path here'), options);
    response.detachSocket(request.socket);
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    enter(request, socket, head).catch((err: unknown) => {
      const error = toAppError(err);
      log.info({ error_code: error.code, source_ip: request.socket.remoteAddress }, 'agent refused');
      refuse(request, socket, error, options);
    });
  });

  return {
    ...listenWith(server, options.host, options.port),
    show: (identity) => server.setSecureContext(agentTls(identity)),
    enrollments: () => [...new Set(streams.values())],
    sweep: (asked, good) => {
      const gone = new Set(asked.filter((id) => !good.has(id)));
      const lost = [...streams].filter(([, enrollmentId]) => gone.has(enrollmentId));
      for (const [connection] of lost) connection.destroy();
      return lost.length + peers.sweep();
    },
  };
};
