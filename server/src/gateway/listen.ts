/** What both listeners of the gateway share: WebSocket settings, and how a server starts and stops. */
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { STREAM_MESSAGE_BYTES_MAX, STREAM_PROTOCOL } from '@gpuaas/contract/stream';
import { WebSocketServer } from 'ws';

export const HEADERS_BYTES_MAX = 8 * 1024;

export const createWebSockets = (): WebSocketServer =>
  new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Terminals would gain little, SSH nothing, and every connection would keep a dictionary.
    perMessageDeflate: false,
    maxPayload: STREAM_MESSAGE_BYTES_MAX,
    // Answered by the leg, which knows the length of its queue.
    autoPong: false,
    // The ticket is a subprotocol too, and must not be sent back.
    handleProtocols: () => STREAM_PROTOCOL,
  });

export const protocolsOf = (header: string | undefined): string[] =>
  (header ?? '').split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));

export type Listening = Readonly<{
  listen(): Promise<number>;
  /** Accepts no new connections, and resolves when all have ended, by themselves or by force. */
  close(): Promise<void>;
}>;

const CLOSE_WITHIN_MS = 2_000;

export const listenWith = (server: Server, host: string, port: number): Listening => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host, port, backlog: 1024 }, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const late = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, CLOSE_WITHIN_MS);
      await closed;
      clearTimeout(late);
    },
  };
};
