/**
 * The reference for the node API: node:https that requires a client certificate, reads each request and holds its
 * response as long as the node API does, or until it is instructed to answer all. It knows no nodes, parses no bodies,
 * signs nothing and stores nothing.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';

const HOLD_MS = 15_000;
const KEEP_ALIVE_MS = 75_000;
const NOTHING = '{"tasks":[]}';

const identity = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as { key: string; cert: string; ca: string };
const held = new Map<ServerResponse, number>();

const answer = (response: ServerResponse, text: string): void => {
  held.delete(response);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
};

const server = createServer(
  {
    ...identity,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  },
  (request, response) => {
    if (!(request.socket as TLSSocket).authorized) {
      response.writeHead(403).end();
      return;
    }
    request.resume();
    request.once('end', () => held.set(response, performance.now() + HOLD_MS));
    response.once('close', () => held.delete(response));
  },
);

setInterval(() => {
  const now = performance.now();
  for (const [response, until] of held) if (until <= now) answer(response, NOTHING);
}, 1_000).unref();

process.on('message', (message: Readonly<{ wake_bytes?: number }>) => {
  if (message.wake_bytes === undefined) return;
  const text = `{"tasks":["${'x'.repeat(message.wake_bytes)}"]}`;
  for (const response of held.keys()) answer(response, text);
});
process.channel?.unref();
process.on('SIGTERM', () => process.exit(0));
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
);
