/**
 * The connection to a gateway: the host dials with its own certificate and accepts no inbound connection. The gateway
 * needs a certificate of the trusted CAs for the name in the URL, whatever the system trusts besides.
 */
import type { IncomingMessage } from 'node:http';
import { AGENT_STREAM_PATH, STREAM_MESSAGE_BYTES_MAX, STREAM_PROTOCOL } from '@gpuaas/contract/stream';
import { WebSocket } from 'ws';
import type { Connection } from '../control-plane/connection.ts';
import { HostError } from '../host/host.ts';

/** Resolves with a connection on which nothing was read yet. */
export type OpenGateway = (url: string, sessionId: string, signal: AbortSignal) => Promise<WebSocket>;

const HANDSHAKE_MS = 10_000;
/** The session ended, was taken by another connection, or is not for this host. */
const CLOSED = new Set([401, 403, 404, 409, 410]);

const refusal = ({ statusCode = 0 }: IncomingMessage): HostError =>
  CLOSED.has(statusCode)
    ? new HostError('conflict', `The gateway does not wait for this session any more (${statusCode}).`)
    : new HostError('host_error', `The gateway refused the connection (${statusCode}).`);

export const createOpenGateway =
  (connection: Pick<Connection, 'node_id' | 'identity' | 'trust'>, version: string): OpenGateway =>
  (url, sessionId, signal) =>
    new Promise((resolve, reject) => {
      const path = AGENT_STREAM_PATH.replace('{node_id}', encodeURIComponent(connection.node_id)).replace(
        '{session_id}',
        encodeURIComponent(sessionId),
      );
      const { private_key_pem: key, certificate_pem: cert } = connection.identity();
      const socket = new WebSocket(`${url}${path}`, [STREAM_PROTOCOL], {
        ca: connection.trust().ca_bundle_pem,
        key,
        cert,
        minVersion: 'TLSv1.3',
        rejectUnauthorized: true,
        perMessageDeflate: false,
        // Inside TLS a mask protects nothing; a mask of zeros avoids a pass over every byte.
        generateMask: () => undefined,
        maxPayload: STREAM_MESSAGE_BYTES_MAX,
        handshakeTimeout: HANDSHAKE_MS,
        headers: { 'user-agent': `gpuaas-node-agent/${version}` },
      });
      const settle = (act: () => void): void => {
        signal.removeEventListener('abort', abort);
        act();
      };
      const fail = (error: HostError): void =>
        settle(() => {
          socket.on('error', () => undefined);
          socket.terminate();
          reject(error);
        });
      const abort = (): void => fail(new HostError('timeout', 'The gateway was not reached in time.'));
      signal.addEventListener('abort', abort, { once: true });
      socket.once('unexpected-response', (_request, response) => fail(refusal(response)));
      socket.once('error', (error: NodeJS.ErrnoException) =>
        fail(new HostError('host_error', `The gateway could not be reached: ${error.message}`, { cause: error })),
      );
      socket.once('open', () =>
        settle(() => {
          socket.removeAllListeners('error');
          socket.removeAllListeners('unexpected-response');
          socket.pause();
          resolve(socket);
        }),
      );
      if (signal.aborted) abort();
    });
