/** The checks of what the site stands on: database, clock, issuer, keys, certificates, NATS. */
import type { SiteFacts, TlsReached } from './doctor-facts.ts';
import {
  type AnyCheck,
  because,
  check,
  DAY_S,
  failed,
  listed,
  notConfigured,
  ok,
  plural,
  secondsUntil,
  span,
  type Verdict,
  warning,
} from './doctor-verdict.ts';

const POSTGRESQL_MIN = 150_000;
const REPLAY_LAG_WARN_S = 60;
const CLOCK_WARN_MS = 2_000;
const CLOCK_FAIL_MS = 30_000;
const ISSUER_SLOW_MS = 2_000;
/** A rotation seals everything again within minutes. */
const RETIRING_WARN_S = 3_600;
/** A running process creates a requested key within seconds. */
const REQUESTED_FAIL_S = 60;
const CA_WARN_S = 90 * DAY_S;
/** A listener replaces its certificate at half its week. */
const LISTENER_WARN_S = 2 * DAY_S;
const PUBLIC_WARN_S = 14 * DAY_S;

const judgeDatabase = (fact: SiteFacts['database']): Verdict => {
  const name = `PostgreSQL ${fact.version}, account ${fact.account}`;
  if (fact.version_number < POSTGRESQL_MIN)
    return failed(`${name}. GPUaaS needs PostgreSQL 15 or newer.`, 'Upgrade the database server.');
  if (fact.passes_policies || (fact.owns_tables && fact.is_production))
    return failed(
      `${name}: it ${fact.passes_policies ? 'bypasses row-level security' : 'owns the tables'}.`,
      'Let GPUAAS_APP_DATABASE_URL name an account that is only a member of gpuaas_app.',
    );
  return ok(`${name}. Row-level security applies.`);
};

const judgeSchema = ({ expected, applied }: SiteFacts['schema']): Verdict => {
  const missing = expected.filter((name) => !applied.includes(name));
  const later = applied.filter((name) => !expected.includes(name));
  if (missing.length > 0)
    return failed(
      `${plural(missing.length, 'migration')} of this build ${missing.length === 1 ? 'is' : 'are'} missing: ${listed(missing)}.`,
      'Run bin/gpuaas-server --migrate-only with the owner in DATABASE_URL.',
    );
  if (later.length > 0)
    return warning(
      `The database has ${plural(later.length, 'migration')} that this build does not know: ${listed(later)}.`,
      'Update the servers to the release that migrated the database.',
    );
  return ok(`All ${expected.length} migrations are applied.`);
};

const judgeWritable = ({ is_standby, is_read_only, replay_lag_s }: SiteFacts['writable']): Verdict => {
  if (is_standby)
    return failed(
      `The database is a standby${replay_lag_s === null ? '' : `, ${span(replay_lag_s)} behind its primary`}, and accepts no writes.`,
      'List every host of the cluster in DATABASE_URL, or promote this one.',
    );
  return is_read_only
    ? failed('Transactions are read-only by default.', 'Set default_transaction_read_only to off.')
    : ok('The database accepts writes.');
};

const judgeStandbys = ({ count, lag_s }: SiteFacts['standbys']): Verdict => {
  if (count === 0) return notConfigured('No standby streams from this database.');
  const streams = `${plural(count, 'standby', 'standbys')} connected`;
  if (lag_s === null) return ok(`${streams}. This account may not read their lag.`);
  const detail = `${streams}, at most ${span(lag_s)} behind.`;
  return lag_s > REPLAY_LAG_WARN_S
    ? warning(detail, 'Check network and disks of the standby: a failover now loses these changes.')
    : ok(detail);
};

const judgeClock = ({ ahead_ms, round_trip_ms }: SiteFacts['clock']): Verdict => {
  // Half of the round trip is uncertain.
  const apart = Math.max(0, Math.abs(ahead_ms) - round_trip_ms / 2);
  if (apart <= CLOCK_WARN_MS) return ok('The clocks of database and server agree within 2 seconds.');
  const detail = `The clock of the database is ${span(apart / 1000)} ${ahead_ms > 0 ? 'ahead of' : 'behind'} this server.`;
  const cure = 'Enable time synchronization on both: deadlines, tokens and certificates are compared with them.';
  return apart > CLOCK_FAIL_MS ? failed(detail, cure) : warning(detail, cure);
};

const judgeIssuer = ({ url, is_embedded, clients, audience, reached }: SiteFacts['issuer']): Verdict => {
  const accepted = `Clients ${clients.join(', ')}; audience ${audience}.`;
  if (is_embedded || reached === null) return ok(`The embedded issuer of development. ${accepted}`);
  if (!reached.ok)
    return failed(
      `${url} does not respond: ${because(reached.reason)}`,
      'Check GPUAAS_OIDC_ISSUER and the issuer. Until then only existing sessions and API tokens work.',
    );
  if (reached.keys === 0)
    return failed(`${url} publishes no signing key.`, 'Create a signing key of the realm at the issuer.');
  const detail = `${url} answered in ${Math.round(reached.duration_ms)} ms with ${plural(reached.keys, 'key')}. ${accepted}`;
  return reached.duration_ms > ISSUER_SLOW_MS
    ? warning(detail, 'Find out why the issuer is slow: every sign-in waits for it.')
    : ok(detail);
};

const judgePlatformKeys = ({ keys, holders }: SiteFacts['platform_keys']): Verdict => {
  const described: string[] = [];
  for (const kind of ['platform', 'trust'] as const) {
    const active = keys.find((key) => key.kind === kind && key.state === 'active');
    if (active === undefined)
      return failed(
        `No ${kind} key was ever used.`,
        kind === 'trust'
          ? 'Start gpuaas-node-api with GPUAAS_TRUST_KEY.'
          : 'Start the server with GPUAAS_PLATFORM_KEY.',
      );
    const without = holders.filter((one) => one.kind === kind && !one.versions.includes(active.version));
    if (without.length > 0)
      return failed(
        `${listed(without.map(({ service }) => service))} lacks version ${active.version} of the ${kind} key.`,
        `Add that version to its setting and restart it.`,
      );
    const retiring = keys.find((key) => key.kind === kind && key.state === 'retiring');
    if (retiring !== undefined && retiring.state_age_s > RETIRING_WARN_S)
      return warning(
        `Version ${retiring.version} of the ${kind} key has been retiring for ${span(retiring.state_age_s)}.`,
        `Check that ${kind === 'trust' ? 'gpuaas-node-api' : 'gpuaas-provisioning-worker'} runs: it seals the values again.`,
      );
    described.push(`${kind} key version ${active.version}`);
  }
  return ok(`Sealing with ${described.join(' and ')}.`);
};

/** Who creates the keys of a purpose. */
const CREATOR: Readonly<Record<string, string>> = {
  node_ca: 'gpuaas-node-api',
  task_signer: 'gpuaas-node-api',
  certificate_signer: 'gpuaas-provisioning-worker',
};

const judgeTrustKeys = ({ keys, ca_ends_at }: SiteFacts['trust_keys'], now: Date): Verdict => {
  for (const [purpose, creator] of Object.entries(CREATOR)) {
    const mine = keys.filter((key) => key.purpose === purpose);
    if (mine.every(({ state }) => state !== 'active'))
      return failed(`There is no active ${purpose} key.`, `Start ${creator}: it creates the key.`);
    if (mine.some(({ state, state_age_s }) => state === 'requested' && state_age_s > REQUESTED_FAIL_S))
      return failed(`A requested ${purpose} key was not created.`, `Check that ${creator} runs.`);
  }
  if (ca_ends_at === null) return failed('The CA of nodes has no readable certificate.', 'Rotate the CA of nodes.');
  const left = secondsUntil(ca_ends_at, now);
  const day = ca_ends_at.slice(0, 10);
  if (left <= 0)
    return failed(`The CA of nodes ended on ${day}. Agents cannot connect.`, 'Stage and activate a new CA.');
  if (left < CA_WARN_S)
    return warning(
      `The CA of nodes ends on ${day}, in ${span(left)}.`,
      'Stage a new CA now: gpuaas admin trust stage node_ca --reason REASON',
    );
  return ok(`Every purpose has an active key. The CA of nodes ends on ${day}.`);
};

const judgeGateway = ({ is_running, public_url, certificate, reached }: SiteFacts['gateway'], now: Date): Verdict => {
  if (!is_running) return notConfigured('No gpuaas-terminal-gateway runs: terminals, SSH and ports are not available.');
  if (certificate !== null && 'refusal' in certificate)
    return failed(
      `gpuaas-node-api refused a certificate for a gateway: ${because(certificate.refusal)}`,
      'Correct GPUAAS_GATEWAY_NAMES.',
    );
  const left = certificate === null ? null : secondsUntil(certificate.ends_at, now);
  if (left !== null && left <= 0)
    return failed(
      `The certificate of a gateway ended ${span(left)} ago.`,
      'Start gpuaas-node-api, which signs it, and restart the gateway.',
    );
  if (!reached.ok)
    return failed(
      `${public_url} cannot be reached from gpuaas-api: ${because(reached.reason)}`,
      'Check GPUAAS_GATEWAY_PUBLIC_URL, its DNS name and the proxy in front of the gateways.',
    );
  const facing = `${public_url} answered in ${Math.round(reached.duration_ms)} ms`;
  if (certificate === null || left === null) return ok(`${facing}. No gateway has asked for a certificate yet.`);
  const detail = `${facing}. Certificate for ${listed(certificate.names)} until ${certificate.ends_at.slice(0, 10)}.`;
  return left < LISTENER_WARN_S
    ? warning(detail, 'It should have been replaced: check that gpuaas-node-api and the gateway run.')
    : ok(detail);
};

const judgeTls = (name: string, reached: TlsReached, now: Date): Verdict => {
  if (!reached.ok)
    return failed(
      `${name} cannot be reached: ${because(reached.reason)}`,
      'Check the DNS name and the proxy that ends TLS.',
    );
  if (reached.refusal !== null)
    return failed(
      `Clients refuse the certificate of ${name}: ${because(reached.refusal)}`,
      'Install a certificate for this name.',
    );
  const left = secondsUntil(reached.ends_at, now);
  const detail = `The certificate of ${name} ends on ${reached.ends_at.slice(0, 10)}, in ${span(left)}.`;
  return left < PUBLIC_WARN_S
    ? warning(detail, 'Renew the certificate, and check why it was not renewed.')
    : ok(detail);
};

export const INFRASTRUCTURE_CHECKS: readonly AnyCheck[] = [
  check({
    key: 'database',
    label: 'Database version and rights',
    fact: 'database',
    runbook: 'database-down.md',
    judge: judgeDatabase,
  }),
  check({ key: 'schema', label: 'Migrations', fact: 'schema', runbook: 'database-down.md', judge: judgeSchema }),
  check({
    key: 'writable',
    label: 'Database accepts writes',
    fact: 'writable',
    runbook: 'database-down.md#read-only',
    judge: judgeWritable,
  }),
  check({ key: 'standbys', label: 'Standbys', fact: 'standbys', runbook: 'database-down.md', judge: judgeStandbys }),
  check({ key: 'clock', label: 'Clock', fact: 'clock', runbook: null, judge: judgeClock }),
  check({ key: 'issuer', label: 'Issuer', fact: 'issuer', runbook: 'sign-in-fails.md', judge: judgeIssuer }),
  check({
    key: 'platform_keys',
    label: 'Platform keys',
    fact: 'platform_keys',
    runbook: 'key-rotation.md',
    judge: judgePlatformKeys,
  }),
  check({
    key: 'trust_keys',
    label: 'Trust keys',
    fact: 'trust_keys',
    runbook: 'rotate-trust.md',
    judge: judgeTrustKeys,
  }),
  check({ key: 'gateway', label: 'Gateway', fact: 'gateway', runbook: 'terminal-gateway.md', judge: judgeGateway }),
  check({
    key: 'public_tls',
    label: 'Public certificate',
    fact: 'public_tls',
    runbook: null,
    judge: ({ url, reached }, now) =>
      reached === null ? notConfigured(`${url} is without TLS, as in development.`) : judgeTls(url, reached, now),
  }),
  check({
    key: 'wildcard_tls',
    label: 'Wildcard certificate',
    fact: 'wildcard_tls',
    runbook: null,
    judge: (fact, now) =>
      fact === null
        ? notConfigured('GPUAAS_WILDCARD_TLS_NAME names no wildcard.')
        : judgeTls(fact.name, fact.reached, now),
  }),
  check({
    key: 'nats',
    label: 'NATS',
    fact: 'nats',
    runbook: 'outbox-lag.md',
    judge: (reached) => {
      if (reached === null) return notConfigured('This process has no NATS_URL: events stay in the database.');
      return reached.ok
        ? ok(`NATS answered in ${Math.round(reached.duration_ms)} ms.`)
        : failed(
            `NATS does not respond: ${because(reached.reason)}`,
            'Check NATS_URL and the NATS server. Events wait meanwhile.',
          );
    },
  }),
];
