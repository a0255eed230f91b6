/**
 * Serves a build of the console as a file server would, with the same content security policy as the API server. Used
 * by `make console-demo` and by the browser tests.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');

export type StaticServer = Readonly<{ url: string; close(): Promise<void> }>;

/** Passes a request to an API in this process, and streams its response. */
const pass = async (api: typeof fetch, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const answer = await api(`http://localhost${request.url ?? '/'}`, {
    method: request.method ?? 'GET',
    headers,
    ...(parts.length === 0 ? {} : { body: Buffer.concat(parts).toString() }),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) return void response.end();
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), response).catch(() => undefined);
};

/** `api` serves the paths below /api and /auth; without it they do not exist. */
export const serveBuild = async (
  dir: string,
  { port = 0, api }: Readonly<{ port?: number; api?: typeof fetch }> = {},
): Promise<StaticServer> => {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname));
    const send = async (): Promise<void> => {
      if (api !== undefined && /^\/(api|auth)\//.test(path)) return pass(api, request, response);
      if (path.startsWith('/assets/')) {
        const bytes = await readFile(join(dir, path));
        // As the API server sends them: their names change with their content.
        const type = TYPES[extname(path)] ?? 'application/octet-stream';
        response.writeHead(200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
        response.end(bytes);
        return;
      }
      const nonce = randomBytes(16).toString('base64');
      const page = (await readFile(join(dir, 'index.html'), 'utf8')).replaceAll('__CSP_NONCE__', nonce);
      response
        .writeHead(200, {
          'content-type': TYPES['.html'],
          'content-security-policy': policy(nonce),
          'cache-control': 'no-store',
        })
        .end(page);
    };
    send().catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
