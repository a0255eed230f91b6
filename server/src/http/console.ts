/**
 * The built console. Its files are read once at the start into a table from address to bytes; each is its own route, so
 * no request path becomes a file path. The page itself is returned for all other addresses and handles unknown ones. It
 * runs no inline script, and its styles use a nonce.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

type Encoding = 'br' | 'gzip';
type ConsoleFile = Readonly<{
  type: string;
  plain: Buffer;
  encoded: Readonly<Partial<Record<Encoding, Buffer>>>;
}>;

export type Console = Readonly<{
  /** With `__CSP_NONCE__` where each response has its own nonce. */
  page: string;
  /** By address. */
  files: ReadonlyMap<string, ConsoleFile>;
  policy: (nonce: string) => string;
}>;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  webp: 'image/webp',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
};
const SIBLINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };
const ENCODINGS: readonly Encoding[] = ['br', 'gzip'];
const NONCE_PLACE = '__CSP_NONCE__';
/** Names of assets contain the hash or the version of their content. */
const FOR_EVER = 'public, max-age=31536000, immutable';
/** Without a leading dot, and without characters that are special to the router. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
/** Paths below these are never pages of the console. */
const NOT_PAGES = new Set([
  'api',
  'auth',
  'oidc',
  'docs',
  'metrics',
  'healthz',
  'readyz',
  'openapi.json',
  '.well-known',
]);
const PERMISSIONS =
  'camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), serial=(), hid=(), midi=()';

const extensionOf = (name: string): string => /\.([A-Za-z0-9]{1,11})$/.exec(name)?.[1]?.toLowerCase() ?? '';

const filesIn = (folder: string, below: string): string[] =>
  readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    if (!NAME.test(entry.name)) return [];
    const path = `${below}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(folder, path);
    return entry.isFile() ? [path] : [];
  });

const readTable = (folder: string): Map<string, ConsoleFile> => {
  const paths = filesIn(folder, '/assets');
  const known = new Set(paths);
  const table = new Map<string, ConsoleFile>();
  for (const path of paths) {
    const type = TYPES[extensionOf(path)];
    // Source maps, compressed siblings and other build files are not served to browsers.
    if (type === undefined) continue;
    const encoded: Partial<Record<Encoding, Buffer>> = {};
    for (const encoding of ENCODINGS)
      if (known.has(path + SIBLINGS[encoding]))
        encoded[encoding] = readFileSync(join(folder, path + SIBLINGS[encoding]));
    table.set(path, { type, plain: readFileSync(join(folder, path)), encoded });
  }
  return table;
};

export const readConsole = (
  folder: string,
  origins: Readonly<{ public_url: string; gateway_url: string; issuer: string }>,
): Console => {
  const own = new URL(origins.public_url).origin;
  const issuer = new URL(origins.issuer).origin;
  const policy = (nonce: string): string =>
    [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "font-src 'self'",
      `connect-src 'self' ${new URL(origins.gateway_url).origin}`,
      "manifest-src 'self'",
      "base-uri 'none'",
      `form-action 'self'${issuer === own ? '' : ` ${issuer}`}`,
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types default',
    ].join('; ');
  return { page: readFileSync(join(folder, 'index.html'), 'utf8'), files: readTable(folder), policy };
};

const accepts = (request: FastifyRequest, encoding: Encoding): boolean =>
  new RegExp(`(?:^|,)\\s*${encoding}\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*(?:,|$))[\\d.]+\\s*)?(?:,|$)`, 'i').test(
    String(request.headers['accept-encoding'] ?? ''),
  );

const sendFile = (file: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const encoding = ENCODINGS.find((one) => file.encoded[one] !== undefined && accepts(request, one));
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  return reply
    .header('cache-control', FOR_EVER)
    .header('vary', 'accept-encoding')
    .type(file.type)
    .send((encoding === undefined ? undefined : file.encoded[encoding]) ?? file.plain);
};

/** The page, with its content security policy. */
export const sendConsole = ({ page, policy }: Console, reply: FastifyReply): FastifyReply => {
  const nonce = randomBytes(18).toString('base64url');
  return (
    reply
      .status(200)
      .header('content-security-policy', policy(nonce))
      .header('permissions-policy', PERMISSIONS)
      // With no referrer at all a browser would also hide the origin from our own server.
      .header('referrer-policy', 'same-origin')
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(page.replaceAll(NONCE_PLACE, nonce))
  );
};

/** Whether an unknown address may be a page of the console. */
export const isConsolePath = ({
  method,
  url,
  headers,
}: Pick<FastifyRequest, 'method' | 'url' | 'headers'>): boolean => {
  const path = url.split('?')[0] ?? '';
  const segments = path.split('/');
  return (
    method === 'GET' &&
    !NOT_PAGES.has(segments[1] ?? '') &&
    !/\.[A-Za-z][A-Za-z0-9]{0,10}$/.test(segments.at(-1) ?? '') &&
    /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(headers.accept ?? '')
  );
};

export const addConsole = (app: FastifyInstance, shown: Console): void => {
  app.get('/', async (_request, reply) => sendConsole(shown, reply));
  for (const [path, file] of shown.files) app.get(path, async (request, reply) => sendFile(file, request, reply));
};
