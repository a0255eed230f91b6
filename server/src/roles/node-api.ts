/**
 * The role `gpuaas-node-api`: the listener of agents, and the loops that refresh its caches. Each stops with the
 * process. It is the only role that holds the trust key, so it also creates the keys that operators ask for, signs the
 * certificates of gateways, and seals the trust keys again when their key is rotated.
 */
import { invariant } from '@gpuaas/kit';
import { createCertificateRegister } from '../agents/certificate-register.ts';
import { createHeartbeats } from '../agents/heartbeat.ts';
import { answerListenerRequests, createListenerCertificates, issueHere } from '../agents/listener-certificate.ts';
import { createDispatcher, type Dispatcher } from '../agents/poll-dispatcher.ts';
import { auditNodeRefusal } from '../agents/refusal-audit.ts';
import { createTrustCache, ensureTrustKeys } from '../agents/trust.ts';
import { PLATFORM } from '../db/client.ts';
import { createLogQuota } from '../logs/log-quota.ts';
import { createNodeHandlers } from '../node-api/handlers.ts';
import { createNodeApi, type NodeApiServer } from '../node-api/server.ts';
import { createAgentReleases } from '../ports/objects/agent-releases.ts';
import { reseal } from '../sealing/reseal.ts';
import { createAgentMetrics } from '../telemetry/agent-metrics.ts';
import { addCertificateGauge } from '../telemetry/certificate-gauges.ts';
import type { RoleContext } from './role.ts';

const REFRESH_INTERVAL_MS = 1_000;

export type NodeApi = Readonly<{ url: string; dispatcher: Dispatcher; server: NodeApiServer }>;

export const startNodeApi = async ({
  deps,
  trustSecrets,
  hub,
  startLoop,
  shutdown,
  telemetry,
  loops: watched,
}: RoleContext): Promise<NodeApi> => {
  const { config, database, clock, log } = deps;
  invariant(trustSecrets !== null, 'the node API holds the trust key');
  const secrets = trustSecrets;
  const { host, port, names } = config.node_api;
  const trustCache = await createTrustCache({ database, secrets, clock, log });
  const trust = () => trustCache.current();
  const register = createCertificateRegister({ database, clock, trust });
  await register.refresh();
  const certificates = createListenerCertificates({ clock, obtain: issueHere({ names, clock, trust }) });
  addCertificateGauge(telemetry, {
    name: 'gpuaas_node_api_certificate_remaining_seconds',
    help: 'Time until the certificate of the node API ends.',
    clock,
    pem: () => certificates.current()?.cert,
  });
  addCertificateGauge(telemetry, {
    name: 'gpuaas_node_ca_remaining_seconds',
    help: 'Time until the CA that signs certificates of nodes ends.',
    clock,
    // The active one comes first.
    pem: () => trust().bundle.ca_bundle_pem,
  });
  const identity = await certificates.next(trust());
  if (identity === undefined) throw new Error('a new listener has no certificate yet');
  const heartbeats = createHeartbeats({ database, clock, log });
  const dispatcher = createDispatcher({
    database,
    clock,
    log,
    hub,
    trust: trustCache,
    secrets: deps.secrets,
    loops: watched,
  });
  const server = createNodeApi({
    host,
    port,
    public_url: config.public_url,
    headers_timeout_ms: config.headers_timeout_ms,
    request_timeout_ms: config.request_timeout_ms,
    stranger_rate_per_minute: config.node_api.stranger_rate_per_minute,
    node_rate_per_minute: config.node_api.node_rate_per_minute,
    identity,
    handlers: createNodeHandlers({
      database,
      clock,
      trust,
      log,
      log_quota: createLogQuota(clock),
      dispatcher,
      heartbeats,
      metrics: createAgentMetrics(telemetry),
      releases: createAgentReleases(config.node_api.releases_dir),
    }),
    register,
    audit: (caller, refusal) => auditNodeRefusal({ database, log }, caller, refusal),
    clock,
    log,
  });

  let announcedVersion = trust().bundle.version;
  const refresh = async (): Promise<void> => {
    await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock }));
    await trustCache.refresh();
    const next = await certificates.next(trust());
    if (next !== undefined) server.show(next);
    await register.refresh();
    const ended = server.sweep();
    if (ended > 0) log.warn({ ended }, 'closed connections with revoked certificates');
    if (trust().bundle.version === announcedVersion) return;
    announcedVersion = trust().bundle.version;
    dispatcher.announceTrust();
  };
  const loops = [
    { name: 'refresh-trust', run: refresh },
    { name: 'note-heartbeats', run: () => heartbeats.flush() },
    {
      name: 'answer-listener-requests',
      run: () => answerListenerRequests({ database, clock, trust, names: config.gateway.names }),
    },
    { name: 'reseal-trust', run: async (signal: AbortSignal) => void (await reseal({ database, secrets }, signal)) },
  ];
  for (const loop of loops) startLoop({ ...loop, intervalMs: REFRESH_INTERVAL_MS });
  shutdown.add('presence', () => heartbeats.flush());
  shutdown.add('node-api', async () => {
    const closed = server.close();
    // Waiting polls get a response, so that the agents reconnect elsewhere.
    await dispatcher.stop();
    await closed;
  });
  const listening = await server.listen();
  log.info({ host, port: listening }, 'listening for agents');
  return { url: `https://${host}:${listening}`, dispatcher, server };
};
