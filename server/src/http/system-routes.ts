/**
 * Routes that are not operations: health, metrics, documentation, discovery, the console with its sign-in, and the embedded
 * issuer. They are listed in one place so that the router's table and the contract can be compared.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';
import { addConsole, type Console } from './console.ts';
import {
  DOCS_CSP,
  docsPage,
  errorPage,
  landingPage,
  llmsTxt,
  openapiJson,
  redocBundle,
  siteSchemaJson,
} from './docs.ts';
import { addProbes, type Probes } from './probes.ts';
import { addSignInRoutes, type SignInRoutes } from './sign-in.ts';

export type SystemRoutes = Probes &
  Readonly<{
    wellKnown: Readonly<Record<string, unknown>>;
    public_url: string;
    signIn: SignInRoutes;
    /** Null where it is not built. */
    console: Console | null;
    /** The embedded issuer, mounted at /oidc; null when an external one is configured. */
    issuer: ((req: IncomingMessage, res: ServerResponse) => void) | null;
  }>;

const page = (reply: FastifyReply, html: string, csp: string): FastifyReply =>
  reply
    .header('content-security-policy', csp)
    .header('cache-control', 'public, max-age=300')
    .type('text/html; charset=utf-8')
    .send(html);

export const addSystemRoutes = (app: FastifyInstance, system: SystemRoutes): void => {
  addProbes(app, system);
  app.get('/.well-known/gpuaas', async () => system.wellKnown);
  app.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(openapiJson()),
  );
  app.get('/site.schema.json', async (_request, reply) =>
    reply.type('application/schema+json; charset=utf-8').send(siteSchemaJson()),
  );
  app.get('/llms.txt', async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(llmsTxt(system.public_url)),
  );
  const landing = landingPage(system.public_url, system.console !== null);
  if (system.console === null) app.get('/', async (_request, reply) => page(reply, landing, DOCS_CSP));
  else addConsole(app, system.console);
  addSignInRoutes(app, system.signIn);
  app.get('/docs/start', async (_request, reply) => page(reply, landing, DOCS_CSP));
  app.get('/docs', async (_request, reply) => page(reply, docsPage(), DOCS_CSP));
  app.get('/docs/redoc.js', async (_request, reply) => {
    const bundle = await redocBundle();
    if (bundle === undefined)
      throw new AppError(
        'not_found',
        'The API reference was not built (`make console`). See /openapi.json or /llms.txt.',
      );
    return reply
      .header('cache-control', 'public, max-age=86400')
      .type('application/javascript; charset=utf-8')
      .send(bundle);
  });
  app.get<{ Params: { code: string } }>('/docs/errors/:code', async (request, reply) => {
    const html = errorPage(request.params.code);
    if (html === undefined) throw new AppError('not_found', 'No error code has this name.');
    return page(reply, html, DOCS_CSP);
  });
  const { issuer } = system;
  if (issuer === null) return;
  // The issuer reads the request itself, so Fastify must not parse the body.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({
      method: ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'],
      url: '/oidc/*',
      handler: (request, reply) => {
        reply.hijack();
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (name === 'x-correlation-id' && value !== undefined) reply.raw.setHeader(name, value);
        issuer(request.raw, reply.raw);
      },
    });
  });
};
