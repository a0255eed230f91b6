/**
 * The HTTP listener: Fastify with our parsers, our error envelope and one route per operation of the contract. Routes
 * that are not operations (health, metrics, documentation, sign-in) are in system-routes.ts.
 */
import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import { api, ERRORS } from '@gpuaas/contract';
import type { Log } from '@gpuaas/kit';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { isConsolePath, sendConsole } from './console.ts';
import { handlers } from './handlers.ts';
import { parseForm, parseJson } from './json.ts';
import { type AnyHandler, type Gate, operationRoute, type RequestState } from './operation.ts';
import { toAppError, toProblem } from './problem.ts';
import { correlationIdOf, traceIdOf } from './request.ts';
import { addSystemRoutes, type SystemRoutes } from './system-routes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
    operation_id: string;
    finish: ((status: number) => void) | null;
  }
}

const BODY_BYTES_MAX = 1024 * 1024;
const HEADERS_BYTES_MAX = 16 * 1024;

/** `{id}` of OpenAPI becomes `:id` of the router, where a colon of a verb (`allocations:estimate`) must stand twice. */
const routePath = (path: string): string => path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');

const pathPatterns = Object.values(api).map((operation) => ({
  method: operation.method,
  pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

const methodsOf = (path: string): string[] => [
  ...new Set(pathPatterns.filter((entry) => entry.pattern.test(path)).map((entry) => entry.method)),
];

/** Node refuses malformed requests before there is a request: respond in the same envelope, then disconnect. */
const onClientError = (publicUrl: string, log: Log) => (err: NodeJS.ErrnoException, socket: Socket) => {
  if (!socket.writable || err.code === 'ECONNRESET') return socket.destroy();
  const code =
    err.code === 'HPE_HEADER_OVERFLOW'
      ? 'header_too_large'
      : err.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'invalid_request';
  const correlation_id = correlationIdOf({});
  const problem = toProblem(new AppError(code, 'The request is not well-formed HTTP.'), {
    correlation_id,
    path: '',
    public_url: publicUrl,
  });
  const body = JSON.stringify(problem);
  log.info(
    { correlation_id, error_code: code, status: problem.status, source_ip: socket.remoteAddress },
    'malformed request',
  );
  socket.end(
    `HTTP/1.1 ${problem.status} ${ERRORS[code].title}\r\nContent-Type: application/problem+json\r\nX-Correlation-Id: ${correlation_id}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
};

/** Where the credential is valid and only too old, the challenge of RFC 9470 states what the next sign-in must satisfy. */
const challengeOf = ({ code, details }: AppError): string =>
  code === 'fresh_sign_in_required'
    ? `Bearer realm="gpuaas", error="insufficient_user_authentication", error_description="A fresh sign-in is required", max_age="${details.max_age_s ?? 0}"`
    : 'Bearer realm="gpuaas"';

const sendProblem = (gate: Gate, request: FastifyRequest, reply: FastifyReply, err: unknown): FastifyReply => {
  const error = toAppError(err);
  const { correlation_id } = request.state;
  request.state.error_code = error.code;
  const problem = toProblem(error, {
    correlation_id,
    path: request.url.split('?')[0] ?? '',
    public_url: gate.deps.config.public_url,
  });
  const fields = {
    correlation_id,
    error_code: error.code,
    operation: request.operation_id,
    internal: error.details.internal,
  };
  if (problem.status >= 500) gate.deps.log.error({ ...fields, err: error.cause ?? error }, error.message);
  if (problem.retry_after_s !== null) reply.header('retry-after', String(problem.retry_after_s));
  if (problem.status === 401) reply.header('www-authenticate', challengeOf(error));
  // The same address may be a page of the console for another client, and succeed for the same caller a moment later.
  reply.header('cache-control', 'no-store');
  return reply.status(problem.status).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
};

/** One line per request. */
const logRequest = (log: Log, request: FastifyRequest, reply: FastifyReply): void => {
  request.finish?.(reply.statusCode);
  const { state } = request;
  const quiet = request.operation_id === '' && reply.statusCode < 400;
  log[quiet ? 'debug' : 'info'](
    {
      correlation_id: state.correlation_id,
      trace_id: traceIdOf(request.headers),
      org_id: state.decision?.organization_id ?? undefined,
      project_id: state.decision?.project_id ?? undefined,
      principal_id: state.principal?.id,
      operation: request.operation_id,
      method: request.method,
      path: request.url.split('?')[0]?.slice(0, 256),
      status: reply.statusCode,
      error_code: state.error_code,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    },
    'request',
  );
};

const addParsers = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/json\s*(?:;|$)/i, { parseAs: 'buffer' }, (request, body, done) => {
    const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]?.toLowerCase();
    try {
      if (charset !== undefined && charset !== 'utf-8')
        throw new AppError('unsupported_media_type', 'JSON must be sent as UTF-8.');
      done(null, parseJson(body as Buffer));
    } catch (err) {
      done(err as Error);
    }
  });
  app.addContentTypeParser(
    /^application\/x-www-form-urlencoded\s*(?:;|$)/i,
    { parseAs: 'buffer' },
    (request, body, done) => {
      try {
        if (!formRoutes.has(request.operation_id))
          throw new AppError('unsupported_media_type', 'This operation takes application/json.');
        done(null, parseForm(body as Buffer));
      } catch (err) {
        done(err as Error);
      }
    },
  );
};

const formRoutes = new Set(Object.entries(api).flatMap(([id, operation]) => ('bodyType' in operation ? [id] : [])));

export type HttpServerOptions = Readonly<{ gate: Gate; telemetry: Telemetry; system: SystemRoutes }>;

export const createHttpServer = async ({ gate, telemetry, system }: HttpServerOptions): Promise<FastifyInstance> => {
  const { config } = gate.deps;
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: false,
    trustProxy: config.trust_proxy ?? false,
    requestTimeout: config.request_timeout_ms,
    connectionTimeout: 0,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    // Requests already accepted get a response in our own envelope while the listener closes.
    return503OnClosing: false,
    clientErrorHandler: onClientError(config.public_url, gate.deps.log),
    // Bad percent encoding in the path is refused before any hook has run.
    frameworkErrors: (err: FastifyError, request, reply) => {
      request.state ??= { correlation_id: correlationIdOf(request.headers), principal: null, decision: null };
      reply.header('x-correlation-id', request.state.correlation_id);
      void sendProblem(gate, request, reply, err);
      logRequest(gate.deps.log, request, reply);
    },
    http: {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: config.headers_timeout_ms,
      // Node checks for slow clients at this interval (default 30 s).
      connectionsCheckingInterval: Math.min(1_000, config.headers_timeout_ms),
      insecureHTTPParser: false,
    },
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 200 },
  });
  app.decorateRequest('state');
  app.decorateRequest('operation_id', '');
  app.decorateRequest('finish', null);

  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    strictTransportSecurity: config.public_url.startsWith('https:') ? { maxAge: 31_536_000 } : false,
    referrerPolicy: { policy: 'no-referrer' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
  });
  addParsers(app);

  app.addHook('onRequest', async (request, reply) => {
    request.state = { correlation_id: correlationIdOf(request.headers), principal: null, decision: null };
    request.operation_id = request.routeOptions.config.operation_id ?? '';
    reply.header('x-correlation-id', request.state.correlation_id);
    // Private responses must not be cached: neither by a proxy, which ignores cookies, nor by the browser, which the
    // next user of the computer shares.
    if (request.operation_id !== '') reply.header('cache-control', 'no-store');
    request.finish = telemetry.startRequest({
      operation: request.operation_id || (request.routeOptions.url ?? 'unknown'),
      method: request.method,
      correlation_id: request.state.correlation_id,
      trace_id: traceIdOf(request.headers),
      traceparent: request.headers['traceparent'],
    });
  });
  app.addHook('onResponse', async (request, reply) => logRequest(gate.deps.log, request, reply));
  app.setErrorHandler((err, request, reply) => sendProblem(gate, request, reply, err));
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(request.url.split('?')[0] ?? '');
    if (methods.length === 0 && system.console !== null && isConsolePath(request))
      return sendConsole(system.console, reply);
    if (methods.length === 0) return sendProblem(gate, request, reply, new AppError('not_found', REFUSALS.no_resource));
    reply.header('allow', methods.join(', '));
    return sendProblem(gate, request, reply, new AppError('method_not_allowed', REFUSALS.methods_of_path(methods)));
  });

  for (const [operationId, operation] of Object.entries(api)) {
    const route = operationRoute(
      operationId,
      operation,
      handlers[operationId as keyof typeof handlers] as AnyHandler,
      gate,
    );
    app.route({
      method: operation.method,
      url: routePath(operation.path),
      config: { operation_id: operationId },
      onRequest: route.onRequest,
      handler: route.handler,
      errorHandler: (err, request, reply) => {
        void route.onFailure(request, err).then(() => sendProblem(gate, request, reply, err));
      },
    });
  }
  addSystemRoutes(app, system);
  return app;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    operation_id?: string;
  }
}
