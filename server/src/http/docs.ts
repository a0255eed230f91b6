/**
 * The server's own documentation: the API reference, a page per error code (where `type` of a problem points), the
 * contract, and a plain text for language models. All of it comes from the contract in this process, so it cannot
 * disagree with the router, and none of it needs a network.
 */
import { readFile } from 'node:fs/promises';
import { api, ERRORS, type ErrorCode, type Operation } from '@gpuaas/contract';
import { openapi, siteSchema } from '@gpuaas/contract/emit';
import { DOCS_START, DOCS_STYLE } from './docs-theme.ts';
import { escapeHtml, htmlPage, prose } from './html.ts';

/** Redoc uses inline style elements and searches in a worker made from a blob; nothing else is allowed. */
export const DOCS_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SUMMARY =
  'GPUaaS turns racks of GPU hosts into a multi-tenant GPU cloud: whole nodes or slices of 1, 2, 4 or 8 GPUs, by API and command line.';

/** The server's own address is relative, so the document is correct wherever it is read from. */
const document = JSON.stringify({ ...openapi(api), servers: [{ url: '/', description: 'This server.' }] });

export const openapiJson = (): string => document;

const siteDocument = JSON.stringify(siteSchema());

/** With it an editor completes site files. */
export const siteSchemaJson = (): string => siteDocument;

export const docsPage = (): string =>
  htmlPage(
    'GPUaaS API reference',
    '<main id="reference"><noscript>The reference needs JavaScript. The contract itself is at <a href="/openapi.json">/openapi.json</a>, a plain text at <a href="/llms.txt">/llms.txt</a>.</noscript></main>',
    `${DOCS_STYLE}\n<script src="/docs/redoc.js" charset="utf-8"></script>\n`,
  );

/** Where `make console` writes Redoc's file. */
const REDOC = new URL('../../../dist/reference/redoc.js', import.meta.url);

/** Redoc with its start script, or undefined where it is not built. */
const readBundle = async (): Promise<string | undefined> => {
  const redoc = await readFile(REDOC, 'utf8').catch(() => undefined);
  return redoc === undefined ? undefined : `${redoc}\n${DOCS_START}`;
};

let bundle: Promise<string | undefined> | undefined;
/** Read once: it is a megabyte, and public. */
export const redocBundle = (): Promise<string | undefined> => {
  bundle ??= readBundle();
  return bundle;
};

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** Undefined for a code that does not exist. */
export const errorPage = (code: string): string | undefined => {
  if (!isErrorCode(code)) return undefined;
  const { title, status, retryable, help } = ERRORS[code];
  return htmlPage(
    `${title} (${code})`,
    `<main class="text">
<p class="soft">GPUaaS API error</p>
<h1>${escapeHtml(title)}</h1>
<p>${prose(help)}</p>
<dl>
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>HTTP status</dt><dd>${status}</dd>
<dt>Retry</dt><dd>${retryable ? 'The same request may succeed later unchanged.' : 'The same request will be refused again.'}</dd>
</dl>
<p>The response has a <code>correlation_id</code>. Give it to support: it identifies everything that the request did.</p>
<p><a href="/docs">API reference</a></p>
</main>`,
  );
};

/** The first page without a console, and always at /docs/start. */
export const landingPage = (publicUrl: string, hasConsole: boolean): string =>
  htmlPage(
    'GPUaaS',
    `<main class="text">
<h1>GPUaaS</h1>
<p>${escapeHtml(SUMMARY)}</p>
<p>${hasConsole ? '<a href="/">Open the console</a>, or use the command line.' : 'The console is not built. Run <code>make console</code> and restart the server.'}</p>
<h2>Start</h2>
<pre>gpuaas login --url ${escapeHtml(publicUrl)}
gpuaas whoami
gpuaas sku list</pre>
<h2>Read</h2>
<ul>
<li><a href="/docs">API reference</a></li>
<li><a href="/openapi.json">The contract</a> (OpenAPI 3.1)</li>
<li><a href="/llms.txt">Plain text</a> for language models</li>
<li><a href="/readyz">Health</a></li>
</ul>
</main>`,
  );

const operationLine = ([id, operation]: readonly [string, Operation]): string =>
  `- ${id}: ${operation.method} ${operation.path}: ${operation.summary}${operation.permission === null ? '' : ` (${operation.permission})`}`;

export const llmsTxt = (publicUrl: string): string => {
  const byTag = Map.groupBy(Object.entries<Operation>(api), ([, operation]) => operation.tag);
  const lists = [...byTag].map(([tag, operations]) => `### ${tag}\n\n${operations.map(operationLine).join('\n')}`);
  const errors = Object.entries(ERRORS).map(([code, { status, help }]) => `- ${code} (${status}): ${help}`);
  return `# GPUaaS

> ${SUMMARY}

- Base URL: ${publicUrl}
- Contract (OpenAPI 3.1): ${publicUrl}/openapi.json
- API reference for people: ${publicUrl}/docs
- How to sign in (issuer, client ids): ${publicUrl}/.well-known/gpuaas

## Authentication

Send \`Authorization: Bearer <token>\`. A token is one of: an access token of the OpenID Connect issuer (people: \`gpuaas login\`
uses the device code flow), an API token (POST /api/v1/tokens), or an access token of a service account (POST /api/v1/auth/token,
OAuth 2.0 client credentials, form-encoded).

## Rules

- Send \`Idempotency-Key\` on POST and reuse the value when you retry. The same key with another body gives 422.
- Changing a resource that has a \`version\` needs \`If-Match\` with its \`ETag\`.
- Lists are cursor pages: \`limit\` up to 200, \`next_cursor\` becomes \`cursor\`, null ends.
- Bodies are strict JSON: unknown fields are refused. Times are RFC 3339 in UTC, money is integer minor units.
- Every response has \`X-Correlation-Id\`. Errors are application/problem+json: act on \`code\`, and on \`retryable\`.
- 202 means accepted: read the resource at \`Location\` until its \`state\` settles.

## Operations

Each line: operation id, method, path, what it does, and the permission it needs.

${lists.join('\n\n')}

## Error codes

${errors.join('\n')}
`;
};
