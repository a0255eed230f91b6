/**
 * The role `gpuaas-terminal-gateway`: a listener for clients, one for agents, and the loops that end sessions. Each
 * stops with the process and notifies its connections.
 */
import { invariant, type Log, pause } from '@gpuaas/kit';
import { createCertificateRegister } from '../agents/certificate-register.ts';
import {
  createListenerCertificates,
  type ListenerCertificate,
  type ListenerCertificates,
  requestIssue,
} from '../agents/listener-certificate.ts';
import { auditNodeRefusal } from '../agents/refusal-audit.ts';
import { createPublicTrust, type PublicTrust } from '../agents/trust.ts';
import { createAgentListener } from '../gateway/agent-listener.ts';
import { createClientListener } from '../gateway/client-listener.ts';
import { createRegistry, type Registry } from '../gateway/registry.ts';
import { createSessionEnforcer } from '../gateway/session-enforcer.ts';
import { createGatewaySessions } from '../sessions/gateway-session.ts';
import { addCertificateGauge } from '../telemetry/certificate-gauges.ts';
import { createGatewayMetrics } from '../telemetry/gateway-metrics.ts';
import type { RoleContext } from './role.ts';

const CERTIFICATE_RETRY_MS = 100;
const CERTIFICATE_TRIES_QUIET = 50;
const REFRESH_INTERVAL_MS = 1_000;
const ENFORCE_INTERVAL_MS = 1_000;
const RECHECK_INTERVAL_MS = 20_000;

export type Gateway = Readonly<{
  /** Where clients connect, without the path. */
  url: string;
  /** The address for hosts, as in tasks. */
  agent_url: string;
  registry: Registry;
}>;

/** With a port chosen at startup, the configured address cannot be right. */
const reached = (url: string, configuredPort: number, port: number): string =>
  configuredPort === 0 ? url.replace(/:0$/, `:${port}`) : url;

/** Hosts cannot reach a gateway without a certificate, and without the node API they could not be called anyway. */
const firstCertificate = async ({
  publicTrust,
  certificates,
  log,
  signal,
}: Readonly<{
  publicTrust: ReturnType<typeof createPublicTrust>;
  certificates: ListenerCertificates;
  log: Log;
  signal: AbortSignal;
}>): Promise<ListenerCertificate> => {
  for (let tries = 0; !signal.aborted; tries++) {
    await publicTrust.refresh();
    const known = publicTrust.current();
    const identity = known === undefined ? undefined : await certificates.next(known);
    if (identity !== undefined) return identity;
    if (tries === CERTIFICATE_TRIES_QUIET)
      log.warn({}, 'waiting for gpuaas-node-api to sign the certificate of this gateway');
    await pause(CERTIFICATE_RETRY_MS, signal);
  }
  throw new Error('stopped before the node API signed a certificate');
};

export const startTerminalGateway = async ({ deps, telemetry, startLoop, shutdown }: RoleContext): Promise<Gateway> => {
  const { config, database, clock, log } = deps;
  const { gateway } = config;
  const nowMs = (): number => clock.now().getTime();
  const publicTrust = createPublicTrust(database);
  const trust = (): PublicTrust => {
    const known = publicTrust.current();
    invariant(known !== undefined, 'a gateway starts with a certificate');
    return known;
  };
  const certificates = createListenerCertificates({
    clock,
    obtain: requestIssue({ names: gateway.names, database }),
  });
  addCertificateGauge(telemetry, {
    name: 'gpuaas_gateway_certificate_remaining_seconds',
    help: 'Time until the certificate of the listener for agents ends.',
    clock,
    pem: () => certificates.current()?.cert,
  });
  const identity = await firstCertificate({ publicTrust, certificates, log, signal: shutdown.signal });
  const register = createCertificateRegister({ database, clock, trust });
  await register.refresh();

  let agentUrl = gateway.agent_url;
  const metrics = createGatewayMetrics(telemetry, () => registry.size(), gateway.sessions_max);
  const sessions = createGatewaySessions({
    database,
    secrets: deps.secrets,
    log,
    gateway_url: () => agentUrl,
  });
  const registry: Registry = createRegistry({ sessions, metrics, nowMs, log });
  // A monotonic clock: setting the clock back must not stop this replica's reports.
  const enforcer = createSessionEnforcer({ registry, sessions, nowMs: () => performance.now() });
  const agents = createAgentListener({
    host: gateway.agent_host,
    port: gateway.agent_port,
    headers_timeout_ms: config.headers_timeout_ms,
    public_url: config.public_url,
    identity,
    register,
    registry,
    audit: (caller, refusal) => auditNodeRefusal({ database, log }, caller, refusal),
    clock,
    log,
  });
  const clients = createClientListener({
    host: gateway.host,
    port: gateway.port,
    origins: gateway.origins,
    sessions_max: gateway.sessions_max,
    guess_rate_per_minute: config.anonymous_rate_limit_per_minute,
    trust_proxy: config.trust_proxy,
    headers_timeout_ms: config.headers_timeout_ms,
    public_url: config.public_url,
    registry,
    sessions,
    metrics,
    clock,
    log,
  });

  const refresh = async (): Promise<void> => {
    await publicTrust.refresh();
    const next = await certificates.next(trust());
    if (next !== undefined) agents.show(next);
    await register.refresh();
    const enrollments = agents.enrollments();
    const good =
      enrollments.length === 0 ? new Set<string>() : await sessions.goodEnrollments(enrollments, trust().ca_ids);
    const ended = agents.sweep(enrollments, good);
    if (ended > 0) log.warn({ ended }, 'closed streams of agents with revoked certificates');
  };
  const ask = async (): Promise<void> => {
    for (const session of registry.all()) session.ask();
  };
  const loops = [
    { name: 'refresh-gateway-trust', run: refresh, intervalMs: REFRESH_INTERVAL_MS },
    { name: 'enforce-sessions', run: () => enforcer.run(), intervalMs: ENFORCE_INTERVAL_MS },
    { name: 'ask-sessions', run: ask, intervalMs: RECHECK_INTERVAL_MS },
  ];
  // Bound before any session: a session names the address of this replica for hosts.
  const agentPort = await agents.listen();
  agentUrl = reached(gateway.agent_url, gateway.agent_port, agentPort);
  for (const loop of loops) startLoop(loop);
  shutdown.add('gateway', async () => {
    const closed = clients.close();
    registry.endAll({
      reason: 'gateway_stopped',
      message: 'The gateway is restarting. Connect again.',
    });
    await registry.settled();
    await Promise.all([closed, agents.close()]);
    await registry.settled();
  });
  const port = await clients.listen();
  log.info({ host: gateway.host, port, agent_port: agentPort }, 'listening for sessions');
  return { url: `ws://${gateway.host}:${port}`, agent_url: agentUrl, registry };
};
