/**
 * Serves a build of the console as a file server would, with the policy that the API's server gives its pages: what works
 * here under it works there. Behind `make console-demo`, and behind the tests in a browser.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

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

export const serveBuild = async (dir: string, port = 0): Promise<StaticServer> => {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname));
    const send = async (): Promise<void> => {
      if (path.startsWith('/assets/')) {
        const bytes = await readFile(join(dir, path));
        response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(bytes);
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
