/** Every setting of the server, with its default. `doc/operations/configuration.md` lists the same names. */

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { LIMIT_NAMES, LIMITS, type LimitName, type LimitValues } from '@gpuaas/contract';
import { ConfigReader, type Env } from '@gpuaas/kit';
import type { KeyRing } from './ports/secrets/secrets.ts';

export const ROLES = [
  'gpuaas-api',
  'gpuaas-provisioning-worker',
  'gpuaas-outbox-relay',
  'gpuaas-node-api',
  'gpuaas-terminal-gateway',
] as const;
export type Role = (typeof ROLES)[number];

export type Config = Readonly<{
  mode: 'development' | 'production';
  roles: readonly Role[];
  host: string;
  port: number;
  /** How callers reach the API; the embedded issuer and links are built from it. */
  public_url: string;
  node_api: Readonly<{
    host: string;
    port: number;
    /** The address for agents, shown to operators in the agent's installation instructions. */
    url: string;
    /** Host names and addresses that its certificate is for. */
    names: readonly string[];
    /** Enrollments and other requests without a certificate, per address and minute. */
    stranger_rate_per_minute: number;
    /** Requests of one node. */
    node_rate_per_minute: number;
    /** Files of agent releases, named by their SHA-256. */
    releases_dir: string;
  }>;
  gateway: Readonly<{
    /** Where clients connect; TLS ends in front of it. */
    host: string;
    port: number;
    /** Where agents connect. */
    agent_host: string;
    agent_port: number;
    /** The address of this replica for agents: part of the tasks that call them. */
    agent_url: string;
    /** Host names and addresses that the certificate of the agents' listener is for. */
    names: readonly string[];
    /** The address of any replica for clients: part of a ticket. */
    public_url: string;
    /** Origins of pages that may connect. */
    origins: readonly string[];
    sessions_max: number;
  }>;
  /** How many days log lines are kept. */
  log_days: number;
  /** How many days ended runs and other history that nothing refers to are kept. */
  history_days: number;
  /** How many years after its wipe a certificate may be asked for. */
  certificate_years: number;
  /** Directory for keys, audit chain heads and sign-in details of the laptop default. */
  state_dir: string;
  database_url: string;
  /**
   * A separate database account for the application; without it connections switch to gpuaas_app after signing in as
   * the owner.
   */
  app_database_url: string | null;
  /** Listening, the relay's lock and its work each use one connection besides the requests. */
  database_pool_max: number;
  /** How long the database may take to respond to a query before the connection is given up. */
  database_query_timeout_ms: number;
  /** The age at which the worker ends a write transaction of its own account. */
  write_transaction_max_s: number;
  /** A loop without a sign of life: after this long the process is not ready, after the second it ends. */
  loop_stalled_ms: Readonly<{ unready: number; exit: number }>;
  oidc: Readonly<{
    issuer: string | null;
    audience: string;
    console_client_id: string;
    /** The issuer knows the console as a confidential client. */
    console_client_secret: string | null;
    cli_client_id: string;
    /** The claim of a token that lists the groups of the user. */
    groups_claim: string;
    /** How many days after the last token with groups the memberships that they gave end. */
    groups_max_age_days: number;
    /** External programs whose tokens are accepted. */
    other_client_ids: readonly string[];
  }>;
  /** Web sessions: idle time and maximum duration. */
  web_session: Readonly<{ idle_s: number; max_s: number }>;
  /** The maximum age of an operator's sign-in for operations that need a fresh one. */
  fresh_sign_in_max_age_s: number;
  /** Directory of the built console; null serves none. */
  console_dir: string | null;
  superadmin_emails: readonly string[];
  /** An enrollment token is created only for a host that an operator named. */
  requires_named_host: boolean;
  /** What the checks of the site compare with. */
  site: Readonly<{
    /** The newest recorded backup may be this old. */
    backup_max_age_h: number;
    /** `*.apps.example.com`: a certificate for it ends in front of this site. */
    wildcard_tls_name: string | null;
  }>;
  nats_url: string | null;
  otlp_url: string | null;
  log_level: string;
  validate_responses: boolean;
  rate_limit_per_minute: number;
  anonymous_rate_limit_per_minute: number;
  /** Of each organization, and some of each user: see the contract. */
  limits: LimitValues;
  /** Session tickets, per principal. */
  ticket_rate_per_minute: number;
  /** How long a client may take to send its headers, and its whole request. */
  headers_timeout_ms: number;
  request_timeout_ms: number;
  trust_proxy: string | null;
  /** Bearer token for /metrics; without it only loopback may read them. */
  metrics_token: string | null;
  /** Seals secrets of tenants and sessions. */
  platform_keys: KeyRing;
  /** Seals the CA of hosts and the signer of tasks; null in a process that signs nothing. */
  trust_keys: KeyRing | null;
  audit_heads_file: string;
  /** Directory of the signed segments of old audit rows; null keeps every row in the database. */
  audit_archive_dir: string | null;
  /** How many days audit rows stay in the database. */
  audit_online_days: number;
}>;

const VERSION_MAX = 65_535;
const KEY_FORMAT = 'must be 32 bytes in base64 (`openssl rand -base64 32`), or several with numbers: 2:<key>,1:<key>';

/** A key without a number is version 1. */
const parseRing = (text: string): KeyRing | undefined => {
  const ring = new Map<number, Buffer>();
  for (const part of text.split(',')) {
    const [, number = '1', base64 = ''] = /^\s*(?:(\d{1,5}):)?([A-Za-z0-9+/]{43}=)\s*$/.exec(part) ?? [];
    const version = Number(number);
    if (base64 === '' || version < 1 || version > VERSION_MAX || ring.has(version)) return undefined;
    ring.set(version, Buffer.from(base64, 'base64'));
  }
  return ring;
};

/** In production a key must be configured, or a restart would lose it; in development it is in a file. */
const readRing = (read: ConfigReader, mode: Config['mode'], name: string, file: string): KeyRing => {
  const given = read.optional(name);
  if (given === undefined && mode === 'production') {
    read.problem(name, 'must be set in production');
    return new Map();
  }
  if (given === undefined) chmodSync(file, 0o600);
  const ring = parseRing((given ?? readFileSync(file, 'utf8')).trim());
  if (ring === undefined) read.problem(given === undefined ? file : name, KEY_FORMAT);
  return ring ?? new Map();
};

/** Created together, whichever role starts first: each process reads the files of its own keys. */
const createKeyFiles = (stateDir: string, platformFile: string, trustFile: string): void => {
  const newKey = (): string => `${randomBytes(32).toString('base64')}\n`;
  const write = (file: string, key: string): void => writeFileSync(file, key, { mode: 0o600, flag: 'wx' });
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  // A platform key without a trust key is of an earlier build, in which it sealed the trust keys too.
  if (!existsSync(trustFile))
    write(trustFile, existsSync(platformFile) ? readFileSync(platformFile, 'utf8') : newKey());
  if (!existsSync(platformFile)) write(platformFile, newKey());
};

/** Roles that sign certificates of hosts and tasks. */
const SIGNING_ROLE: Role = 'gpuaas-node-api';

const keyRings = (
  read: ConfigReader,
  mode: Config['mode'],
  roles: readonly Role[],
  stateDir: string,
): Pick<Config, 'platform_keys' | 'trust_keys'> => {
  const [platformFile, trustFile] = [join(stateDir, 'platform.key'), join(stateDir, 'trust.key')];
  if (mode === 'development') createKeyFiles(stateDir, platformFile, trustFile);
  const platform_keys = readRing(read, mode, 'GPUAAS_PLATFORM_KEY', platformFile);
  if (roles.includes(SIGNING_ROLE))
    return { platform_keys, trust_keys: readRing(read, mode, 'GPUAAS_TRUST_KEY', trustFile) };
  if (read.optional('GPUAAS_TRUST_KEY') !== undefined)
    read.problem('GPUAAS_TRUST_KEY', `is for processes with the role ${SIGNING_ROLE} only; remove it here`);
  return { platform_keys, trust_keys: null };
};

const parseRoles = (read: ConfigReader, text: string): readonly Role[] => {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('all')) return ROLES;
  for (const name of names)
    if (!(ROLES as readonly string[]).includes(name))
      read.problem('--roles', `knows ${ROLES.join(', ')} and all, not "${name}"`);
  return names as Role[];
};

const BUILT_CONSOLE = join(import.meta.dirname, '../../dist/console');

/** The build of `make console` by default; a configured directory must exist. */
const consoleDir = (read: ConfigReader): string | null => {
  const given = read.optional('GPUAAS_CONSOLE_DIR');
  const folder = given ?? BUILT_CONSOLE;
  if (existsSync(join(folder, 'index.html'))) return folder;
  if (given !== undefined)
    read.problem('GPUAAS_CONSOLE_DIR', 'must be the directory of a built console, with index.html');
  return null;
};

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);

const LIMIT_MAX = 100_000_000;

/** `projects=200,streams=1000`; `all` stands for every limit that is not named. */
const readLimits = (read: ConfigReader): LimitValues => {
  const given = new Map<string, number>();
  for (const entry of listOf(read.text('GPUAAS_LIMITS', ''))) {
    const [, name = '', digits] = /^(\w+)=(\d{1,9})$/.exec(entry) ?? [];
    const max = Number(digits);
    if ((name === 'all' || Object.hasOwn(LIMITS, name)) && max >= 1 && max <= LIMIT_MAX) given.set(name, max);
    else read.problem('GPUAAS_LIMITS', `must list name=number with names of ${LIMIT_NAMES.join(', ')}, not "${entry}"`);
  }
  const maxOf = (name: LimitName): number => given.get(name) ?? given.get('all') ?? LIMITS[name].default;
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, maxOf(name)])) as LimitValues;
};

const gatewayConfig = (
  read: ConfigReader,
  mode: Config['mode'],
  roles: readonly Role[],
  apiUrl: string,
): Config['gateway'] => {
  const port = read.integer('GPUAAS_GATEWAY_PORT', 8444, { min: 0, max: 65535 });
  const agentPort = read.integer('GPUAAS_GATEWAY_AGENT_PORT', 8446, { min: 0, max: 65535 });
  const names = listOf(read.text('GPUAAS_GATEWAY_NAMES', 'localhost,127.0.0.1'));
  const publicUrl = read.url('GPUAAS_GATEWAY_PUBLIC_URL');
  const isAsked = publicUrl !== undefined || roles.includes('gpuaas-terminal-gateway');
  if (mode === 'production' && isAsked && publicUrl?.protocol !== 'wss:')
    read.problem(
      'GPUAAS_GATEWAY_PUBLIC_URL',
      'must be set in production and use wss, because it receives tickets and sessions',
    );
  const agentUrl = (
    read.url('GPUAAS_GATEWAY_AGENT_URL')?.href ?? `wss://${names[0] ?? 'localhost'}:${agentPort}`
  ).replace(/\/$/, '');
  // Agents refuse anything else, so a mistake here is reported at startup and not at the first session.
  if (!/^wss:\/\/[A-Za-z0-9.:[\]-]{1,260}$/.test(agentUrl))
    read.problem('GPUAAS_GATEWAY_AGENT_URL', 'must be wss:// with a host and a port, without a path');
  return {
    host: read.text('GPUAAS_GATEWAY_HOST', '127.0.0.1'),
    port,
    agent_host: read.text('GPUAAS_GATEWAY_AGENT_HOST', '127.0.0.1'),
    agent_port: agentPort,
    agent_url: agentUrl,
    names,
    public_url: (publicUrl?.href ?? `ws://localhost:${port}`).replace(/\/$/, ''),
    origins: listOf(read.text('GPUAAS_GATEWAY_ORIGINS', new URL(apiUrl).origin)),
    sessions_max: read.integer('GPUAAS_GATEWAY_SESSIONS_MAX', 2_000, { min: 1, max: 100_000 }),
  };
};

const wildcardName = (read: ConfigReader): string | null => {
  const name = read.optional('GPUAAS_WILDCARD_TLS_NAME');
  if (name === undefined) return null;
  if (!/^\*(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){2,}$/.test(name))
    read.problem('GPUAAS_WILDCARD_TLS_NAME', 'must be a DNS name with a wildcard first, like *.apps.example.com');
  return name;
};

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

export const readConfig = (env: Env, roles?: string): Config => {
  const read = new ConfigReader(env);
  const mode = read.oneOf('GPUAAS_MODE', ['development', 'production'] as const, 'development');
  const host = read.text('GPUAAS_HOST', '127.0.0.1');
  const port = read.integer('GPUAAS_PORT', 8080, { min: 0, max: 65535 });
  const stateDir = read.text('GPUAAS_STATE_DIR', '.gpuaas');
  const issuer = read.url('GPUAAS_OIDC_ISSUER');
  const databaseUrl = read.optional('DATABASE_URL');
  if (databaseUrl !== undefined && !/^postgres(?:ql)?:\/\//.test(databaseUrl))
    read.problem('DATABASE_URL', 'must start with postgresql:// or postgres://');
  if (databaseUrl === undefined)
    read.problem('DATABASE_URL', 'must name a PostgreSQL database (`make up` starts an embedded one)');
  if (mode === 'production' && issuer === undefined)
    read.problem('GPUAAS_OIDC_ISSUER', 'must be set in production; the embedded issuer is for development');
  if (mode === 'production' && issuer !== undefined && issuer.protocol !== 'https:')
    read.problem('GPUAAS_OIDC_ISSUER', 'must be https in production');
  const wantedRoles = parseRoles(read, roles ?? read.text('GPUAAS_ROLES', 'all'));
  const servesApi = wantedRoles.includes('gpuaas-api');
  const isLocal = isLoopback(host) || read.flag('GPUAAS_DEV_ISSUER_PUBLIC', false);
  if (mode === 'development' && servesApi && issuer === undefined && !isLocal)
    read.problem(
      'GPUAAS_HOST',
      `is ${host}, where other machines reach the embedded issuer and its development accounts; set GPUAAS_OIDC_ISSUER, or GPUAAS_DEV_ISSUER_PUBLIC=1 to serve it there`,
    );
  const publicUrl = read.url('GPUAAS_PUBLIC_URL');
  if (mode === 'production' && servesApi && publicUrl?.protocol !== 'https:')
    read.problem('GPUAAS_PUBLIC_URL', 'must be set in production and use https, because it receives bearer tokens');
  const nodeApiPort = read.integer('GPUAAS_NODE_API_PORT', 8443, { min: 0, max: 65535 });
  const nodeApiNames = listOf(read.text('GPUAAS_NODE_API_NAMES', 'localhost,127.0.0.1'));
  const publicUrlText = (publicUrl?.href ?? `http://localhost:${port}`).replace(/\/$/, '');
  const config: Config = {
    mode,
    roles: wantedRoles,
    host,
    port,
    public_url: publicUrlText,
    node_api: {
      host: read.text('GPUAAS_NODE_API_HOST', '127.0.0.1'),
      port: nodeApiPort,
      url: (
        read.url('GPUAAS_NODE_API_URL')?.href ?? `https://${nodeApiNames[0] ?? 'localhost'}:${nodeApiPort}`
      ).replace(/\/$/, ''),
      names: nodeApiNames,
      stranger_rate_per_minute: read.integer('GPUAAS_NODE_API_RATE_LIMIT_PER_MINUTE', 120, {
        min: 1,
        max: 100_000_000,
      }),
      node_rate_per_minute: read.integer('GPUAAS_NODE_API_NODE_RATE_LIMIT_PER_MINUTE', 1200, {
        min: 60,
        max: 100_000_000,
      }),
      releases_dir: read.text('GPUAAS_AGENT_RELEASES_DIR', join(stateDir, 'agent-releases')),
    },
    gateway: gatewayConfig(read, mode, wantedRoles, publicUrlText),
    log_days: read.integer('GPUAAS_LOG_DAYS', 7, { min: 1, max: 3650 }),
    history_days: read.integer('GPUAAS_HISTORY_DAYS', 90, { min: 7, max: 36_500 }),
    certificate_years: read.integer('GPUAAS_CERTIFICATE_YEARS', 7, { min: 1, max: 100 }),
    state_dir: stateDir,
    database_url: databaseUrl ?? '',
    app_database_url: read.optional('GPUAAS_APP_DATABASE_URL') ?? null,
    database_pool_max: read.integer('GPUAAS_DATABASE_POOL_MAX', 10, { min: 5, max: 200 }),
    database_query_timeout_ms: read.integer('GPUAAS_DATABASE_QUERY_TIMEOUT_MS', 20_000, { min: 100, max: 600_000 }),
    write_transaction_max_s: read.integer('GPUAAS_WRITE_TRANSACTION_MAX_S', 60, { min: 60, max: 86_400 }),
    loop_stalled_ms: {
      unready: read.integer('GPUAAS_LOOP_UNREADY_S', 90, { min: 1, max: 86_400 }) * 1_000,
      exit: read.integer('GPUAAS_LOOP_EXIT_S', 600, { min: 1, max: 86_400 }) * 1_000,
    },
    oidc: {
      issuer: read.optional('GPUAAS_OIDC_ISSUER')?.replace(/\/$/, '') ?? null,
      audience: read.text('GPUAAS_OIDC_AUDIENCE', 'gpuaas-api'),
      console_client_id: read.text('GPUAAS_OIDC_CONSOLE_CLIENT', 'gpuaas-console'),
      console_client_secret: read.optional('GPUAAS_OIDC_CONSOLE_CLIENT_SECRET') ?? null,
      cli_client_id: read.text('GPUAAS_OIDC_CLI_CLIENT', 'gpuaas-cli'),
      groups_claim: read.text('GPUAAS_OIDC_GROUPS_CLAIM', 'groups'),
      groups_max_age_days: read.integer('GPUAAS_OIDC_GROUPS_MAX_AGE_DAYS', 30, { min: 1, max: 3_650 }),
      other_client_ids: listOf(read.optional('GPUAAS_OIDC_OTHER_CLIENTS') ?? ''),
    },
    web_session: {
      idle_s: read.integer('GPUAAS_WEB_SESSION_IDLE_S', 28_800, { min: 60, max: 2_592_000 }),
      max_s: read.integer('GPUAAS_WEB_SESSION_MAX_S', 86_400, { min: 60, max: 2_592_000 }),
    },
    fresh_sign_in_max_age_s: read.integer('GPUAAS_FRESH_SIGN_IN_MAX_AGE_S', 900, { min: 60, max: 86_400 }),
    requires_named_host: read.flag('GPUAAS_REQUIRE_NAMED_HOST', mode === 'production'),
    console_dir: consoleDir(read),
    superadmin_emails: listOf(read.optional('GPUAAS_SUPERADMIN_EMAILS') ?? '').map((email) => email.toLowerCase()),
    site: {
      backup_max_age_h: read.integer('GPUAAS_BACKUP_MAX_AGE_H', 26, { min: 1, max: 8_760 }),
      wildcard_tls_name: wildcardName(read),
    },
    nats_url: read.optional('NATS_URL') ?? null,
    otlp_url: read.url('OTEL_EXPORTER_OTLP_ENDPOINT')?.href.replace(/\/$/, '') ?? null,
    log_level: read.oneOf('GPUAAS_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const, 'info'),
    validate_responses: read.flag('GPUAAS_VALIDATE_RESPONSES', false),
    rate_limit_per_minute: read.integer('GPUAAS_RATE_LIMIT_PER_MINUTE', 1_200, { min: 1, max: 100_000_000 }),
    anonymous_rate_limit_per_minute: read.integer('GPUAAS_ANONYMOUS_RATE_LIMIT_PER_MINUTE', 300, {
      min: 1,
      max: 100_000_000,
    }),
    ticket_rate_per_minute: read.integer('GPUAAS_TICKET_RATE_PER_MINUTE', 120, { min: 1, max: 100_000_000 }),
    limits: readLimits(read),
    headers_timeout_ms: read.integer('GPUAAS_HEADERS_TIMEOUT_MS', 10_000, { min: 100, max: 600_000 }),
    request_timeout_ms: read.integer('GPUAAS_REQUEST_TIMEOUT_MS', 20_000, { min: 100, max: 600_000 }),
    trust_proxy: read.optional('GPUAAS_TRUST_PROXY') ?? null,
    metrics_token: read.optional('GPUAAS_METRICS_TOKEN') ?? null,
    ...keyRings(read, mode, wantedRoles, stateDir),
    audit_heads_file: read.text('GPUAAS_AUDIT_HEADS_FILE', join(stateDir, 'audit-heads.jsonl')),
    // In production never a default: a directory that is not kept would lose the rows.
    audit_archive_dir:
      read.optional('GPUAAS_AUDIT_ARCHIVE_DIR') ?? (mode === 'development' ? join(stateDir, 'audit-archive') : null),
    audit_online_days: read.integer('GPUAAS_AUDIT_ONLINE_DAYS', 400, { min: 30, max: 36_500 }),
  };
  read.finish();
  return config;
};
