/**
 * The endpoints of every process, whatever its roles: liveness, readiness and metrics. A process without the API role
 * serves nothing else.
 */
import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import type { Readiness } from '../telemetry/readiness.ts';
import { toProblem } from './problem.ts';

export type Probes = Readonly<{
  readiness: () => Promise<Readiness>;
  metrics: () => Promise<string>;
  /** Whether this caller may read /metrics. */
  metricsAllowed: (request: Readonly<{ ip: string; authorization: string | undefined }>) => boolean;
}>;

export const addProbes = (app: FastifyInstance, probes: Probes): void => {
  // Alive means that the process responds; ready means that it can do its work.
  app.get('/healthz', async () => ({ status: 'alive' }));
  app.get('/readyz', async (_request, reply) => {
    const readiness = await probes.readiness();
    return reply
      .status(readiness.ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send(readiness);
  });
  app.get('/metrics', async (request, reply) => {
    const caller = { ip: request.ip, authorization: request.headers.authorization };
    if (!probes.metricsAllowed(caller)) return reply.callNotFound();
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await probes.metrics());
  });
};

export const createProbeServer = (probes: Probes): FastifyInstance => {
  const app = Fastify({ logger: false, exposeHeadRoutes: false });
  addProbes(app, probes);
  return app;
};

/** For a process that cannot work yet: probes, and 503 with the reason for everything else. */
export const createWaitingServer = (probes: Probes, reason: string, public_url: string): FastifyInstance => {
  const app = createProbeServer(probes);
  app.setNotFoundHandler((request, reply) => {
    const correlation_id = `c-${randomUUID()}`;
    const problem = toProblem(new AppError('unavailable', reason, { retry_after_s: 5 }), {
      ...{ correlation_id, public_url },
      path: request.url.split('?')[0] ?? '',
    });
    return reply
      .status(problem.status)
      .header('retry-after', String(problem.retry_after_s))
      .header('x-correlation-id', correlation_id)
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify(problem));
  });
  return app;
};
