/**
 * Plays the gateway and the host behind it for a page: tickets, the WebSocket, flow control in both directions, and the
 * messages of the test. The page is served with the strictest policy that the component supports.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type WebSocket, WebSocketServer } from 'ws';

export const WINDOW_BYTES = 1024 * 1024;
const MESSAGE_BYTES = 64 * 1024;
const HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><title>terminal</title>
<link rel="stylesheet" href="/layout.css"><link rel="stylesheet" href="/page.css">
<div id="terminal"></div><script type="module" src="/page.js"></script></html>`;
const LAYOUT = 'html,body{margin:0;height:100%}#terminal{height:100%}';

type Word = Readonly<{ type: string; bytes?: number; cols?: number; rows?: number }>;
export type SessionFacts = Readonly<{ is_writable?: boolean; is_recorded?: boolean; notice?: string | null }>;

/** One session as the host sees it. */
export type HostEnd = Readonly<{
  words: readonly Word[];
  received: () => Readonly<{ bytes: number; text: string; sha256: string }>;
  /** Not acknowledged by the page. */
  outstanding: () => number;
  /** While false, received data is not acknowledged. */
  setTaking(isTaking: boolean): void;
  send(bytes: string | Uint8Array): Promise<void>;
  say(word: object): void;
  drop(): void;
  closed: Promise<number>;
}>;

export type TestGateway = Readonly<{
  url: string;
  tickets: () => number;
  next(): Promise<HostEnd>;
  set(facts: SessionFacts): void;
  close(): Promise<void>;
}>;

const bundle = async (): Promise<ReadonlyMap<string, string>> => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
    outdir: '/',
    logLevel: 'silent',
  });
  return new Map(outputFiles.map((file) => [file.path, file.text]));
};

const hostEnd = (socket: WebSocket, facts: SessionFacts, id: number): HostEnd => {
  const words: Word[] = [];
  const hash = createHash('sha256');
  let [bytes, text, sent, acknowledged, owed] = [0, '', 0, 0, 0];
  let isTaking = true;
  let wake = (): void => undefined;
  const say = (word: object): void => socket.send(JSON.stringify(word));
  const acknowledge = (): void => {
    if (owed > 0 && isTaking) {
      say({ type: 'ack', bytes: owed });
      owed = 0;
    }
  };
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      hash.update(data);
      bytes += data.length;
      if (text.length < 4096) text += data.toString();
      owed += data.length;
      return acknowledge();
    }
    const word = JSON.parse(data.toString()) as Word;
    words.push(word);
    if (word.type === 'ack') acknowledged += word.bytes ?? 0;
    return wake();
  });
  const session_id = `tse_${String(id).padStart(26, '0')}`;
  const expires_at = '2100-01-01T00:00:00Z';
  say({
    type: 'session',
    session_id,
    kind: 'terminal',
    is_writable: true,
    is_recorded: false,
    notice: null,
    expires_at,
    ...facts,
  });
  say({ type: 'ready' });
  return {
    words,
    received: () => ({ bytes, text, sha256: hash.copy().digest('hex') }),
    outstanding: () => sent - acknowledged,
    setTaking: (next) => {
      isTaking = next;
      acknowledge();
    },
    send: async (data) => {
      const all = Buffer.from(data);
      for (let at = 0; at < all.length; ) {
        while (sent - acknowledged >= WINDOW_BYTES) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const part = all.subarray(at, at + Math.min(MESSAGE_BYTES, WINDOW_BYTES - (sent - acknowledged)));
        socket.send(part);
        sent += part.length;
        at += part.length;
      }
    },
    say,
    drop: () => socket.terminate(),
    closed: once(socket, 'close').then(([code]) => Number(code)),
  };
};

export const startGateway = async (): Promise<TestGateway> => {
  const files = await bundle();
  let facts: SessionFacts = {};
  let [tickets, used] = [0, 0];
  const open: HostEnd[] = [];
  let arrived = (): void => undefined;
  const valid = new Set<string>();
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  const answer = (response: ServerResponse, type: string, body: string): void => {
    const policy = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws://127.0.0.1:${port}`;
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy });
    response.end(body);
  };
  server.on('request', (request, response) => {
    const path = new URL(request.url ?? '/', url).pathname;
    if (path === '/ticket') {
      tickets += 1;
      const ticket = randomBytes(16).toString('hex');
      valid.add(ticket);
      answer(response, 'application/json', JSON.stringify({ ticket, url: `ws://127.0.0.1:${port}/v1/stream` }));
    } else if (path === '/') answer(response, 'text/html', HTML);
    else if (path === '/layout.css') answer(response, 'text/css', LAYOUT);
    else if (files.has(path))
      answer(response, path.endsWith('css') ? 'text/css' : 'text/javascript', files.get(path) ?? '');
    else response.writeHead(404).end();
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'gpuaas.stream.v1' });
  server.on('upgrade', (request, socket, head) => {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
    const ticket = offered.find((one) => one.startsWith('gpuaas.ticket.'))?.slice('gpuaas.ticket.'.length) ?? '';
    if (!valid.delete(ticket)) return void socket.destroy();
    sockets.handleUpgrade(request, socket, head, (client) => {
      used += 1;
      open.push(hostEnd(client, facts, used));
      arrived();
    });
  });

  return {
    url,
    tickets: () => tickets,
    next: async () => {
      for (;;) {
        const found = open.shift();
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      }
    },
    set: (next) => {
      facts = next;
    },
    close: async () => {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
