import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import Fastify from 'fastify';
import { addConsole, isConsolePath, readConsole } from './console.ts';

const PAGE = '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><style nonce="__CSP_NONCE__"></style>';
const SCRIPT = 'export const answer = 42;\n';

const build = async (t: TestContext): Promise<string> => {
  const outside = await mkdtemp(join(tmpdir(), 'gpuaas-console-'));
  t.after(() => rm(outside, { recursive: true, force: true }));
  const folder = join(outside, 'built');
  await mkdir(join(folder, 'assets/.hidden'), { recursive: true });
  const files: Record<string, string | Buffer> = {
    'index.html': PAGE,
    'manifest.json': '{}',
    'assets/icon-v1.svg': '<svg/>',
    'assets/site-v1.webmanifest': '{}',
    '.env': 'SECRET=1',
    'assets/app-3f2a.js': SCRIPT,
    'assets/app-3f2a.js.br': brotliCompressSync(SCRIPT),
    'assets/app-3f2a.js.map': '{}',
    'assets/app-3f2a.css': 'a{}',
    'assets/mono-1.woff2': 'font',
    'assets/.hidden/x.js': 'no',
    'assets/:name.js': 'no',
    '../outside.txt': 'SECRET=2',
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await symlink(join(outside, 'outside.txt'), join(folder, 'assets/link.txt'));
  return folder;
};

const start = async (t: TestContext) => {
  const shown = readConsole(await build(t), {
    public_url: 'https://gpu.example',
    gateway_url: 'wss://gateway.example/v1',
    issuer: 'https://id.example/realms/x',
  });
  const app = Fastify();
  t.after(() => app.close());
  addConsole(app, shown);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { shown, url };
};

/** The raw path: `fetch` would normalize it before sending. */
const rawStatus = async (url: string, path: string): Promise<string> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  return /^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1] ?? '';
};

describe('the built console', () => {
  it('is a page that is never cached, with a fresh nonce and no inline script allowed', async (t) => {
    const { url } = await start(t);
    const nonces = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const answer = await fetch(url);
      const page = await answer.text();
      const policy = answer.headers.get('content-security-policy') ?? '';
      const nonce = /'nonce-([\w-]{24})'/.exec(policy)?.[1] ?? 'none';
      nonces.add(nonce);
      assert.equal(page, PAGE.replaceAll('__CSP_NONCE__', nonce));
      assert.equal(
        policy,
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self' wss://gateway.example; manifest-src 'self'; base-uri 'none'; form-action 'self' https://id.example; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types default`,
      );
      assert.deepEqual(
        [answer.headers.get('cache-control'), answer.headers.get('content-type')],
        ['no-store', 'text/html; charset=utf-8'],
      );
      assert.match(answer.headers.get('permissions-policy') ?? '', /camera=\(\), microphone=\(\), geolocation=\(\)/);
    }
    assert.equal(nonces.size, 3);
  });

  it('serves files with their types, cached indefinitely, because their names change with their content', async (t) => {
    const { url } = await start(t);
    const found: Record<string, unknown> = {};
    for (const path of [
      '/assets/app-3f2a.js',
      '/assets/app-3f2a.css',
      '/assets/mono-1.woff2',
      '/assets/icon-v1.svg',
      '/assets/site-v1.webmanifest',
    ]) {
      const { status, headers } = await fetch(`${url}${path}`);
      found[path] = [status, headers.get('content-type'), headers.get('cache-control')];
    }
    const forEver = 'public, max-age=31536000, immutable';
    assert.deepEqual(found, {
      '/assets/app-3f2a.js': [200, 'text/javascript; charset=utf-8', forEver],
      '/assets/app-3f2a.css': [200, 'text/css; charset=utf-8', forEver],
      '/assets/mono-1.woff2': [200, 'font/woff2', forEver],
      '/assets/icon-v1.svg': [200, 'image/svg+xml', forEver],
      '/assets/site-v1.webmanifest': [200, 'application/manifest+json; charset=utf-8', forEver],
    });
  });

  it('is sent compressed to clients that accept it, and plain to others', async (t) => {
    const { url } = await start(t);
    const { port } = new URL(url);
    const ask = async (accepted: string) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(
        `GET /assets/app-3f2a.js HTTP/1.1\r\nhost: x\r\naccept-encoding: ${accepted}\r\nconnection: close\r\n\r\n`,
      );
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk);
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf('\r\n\r\n');
      const head = whole.subarray(0, end).toString();
      assert.match(head, /vary: accept-encoding/i);
      return { encoding: /content-encoding: (\w+)/i.exec(head)?.[1], body: whole.subarray(end + 4) };
    };
    for (const accepted of ['br', 'gzip, deflate, br', 'br;q=0.5, gzip']) {
      const { encoding, body } = await ask(accepted);
      assert.deepEqual([encoding, brotliDecompressSync(body).toString()], ['br', SCRIPT], accepted);
    }
    for (const refused of ['identity', 'gzip', 'br;q=0', 'br; q=0.0, gzip', 'brotli', '*']) {
      const { encoding, body } = await ask(refused);
      assert.deepEqual([encoding, body.toString()], [undefined, SCRIPT], refused);
    }
  });

  it('serves only files of the build, for any path', async (t) => {
    const { url, shown } = await start(t);
    assert.deepEqual([...shown.files.keys()].toSorted(), [
      '/assets/app-3f2a.css',
      '/assets/app-3f2a.js',
      '/assets/icon-v1.svg',
      '/assets/mono-1.woff2',
      '/assets/site-v1.webmanifest',
    ]);
    for (const path of [
      '/.env',
      '/manifest.json',
      '/index.html',
      '/assets/../.env',
      '/assets/..%2f.env',
      '/assets/%2e%2e/.env',
      '/assets/..\\.env',
      '/../outside.txt',
      '/assets/../../outside.txt',
      '/assets/%2e%2e%2f%2e%2e%2foutside.txt',
      '/assets/....//....//outside.txt',
      '//outside.txt',
      '/assets/link.txt',
      '/assets/.hidden/x.js',
      '/assets/app-3f2a.js.map',
      '/assets/app-3f2a.js.br',
      '/assets/app-3f2a.js%00.txt',
      '/assets/',
      '/assets',
      '/etc/passwd',
    ])
      assert.notEqual(await rawStatus(url, path), '200', path);
  });

  it('takes every other address, for clients that accept HTML', () => {
    const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const is = (url: string, method = 'GET', accept: string | undefined = html) =>
      isConsolePath({ method, url, headers: accept === undefined ? {} : { accept } });
    for (const path of [
      '/allocations',
      '/nodes/nod_1?tab=slots',
      '/images/ubuntu-24.04',
      '/apis',
      '/documents',
      '/a/b/c',
    ])
      assert.ok(is(path), path);
    for (const path of [
      '/api/v1/nothing',
      '/api',
      '/auth/nothing',
      '/oidc/nothing',
      '/docs/nothing',
      '/metrics/x',
      '/healthz/x',
      '/readyz/x',
      '/openapi.json',
      '/site.schema.json',
      '/.well-known/security.txt',
      '/assets/gone-1.js',
      '/robots.txt',
    ])
      assert.ok(!is(path), path);
    assert.ok(!is('/allocations', 'POST'));
    assert.ok(!is('/allocations', 'GET', '*/*'));
    assert.ok(!is('/allocations', 'GET', 'application/json'));
  });
});
