/**
 * The whole API on its own database, with a real issuer on loopback and a set of callers. Requests go through the
 * router as they would over the wire; responses are checked against the contract.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createLog, createShutdown, type Log, silentLog } from '@gpuaas/kit';
import type { InjectOptions } from 'fastify';
import type { JWTPayload } from 'jose';
import { ensureTrustKeys } from '../src/agents/trust.ts';
import { type Config, readConfig } from '../src/config.ts';
import { PLATFORM } from '../src/db/client.ts';
import type { Secrets } from '../src/ports/secrets/secrets.ts';
import { type App, startProcess } from '../src/roles/process.ts';
import { type TestDatabase, testDatabase } from './database.ts';
import { applyDemoSite } from './demo-site.ts';
import { startTestIssuer, type TestIssuer } from './issuer.ts';
import { TEST_KEYS, testSecrets } from './secrets.ts';

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape the contract already checked
type Json = any;
export type TestResponse = Readonly<{
  status: number;
  body: Json;
  headers: Readonly<Record<string, string | undefined>>;
}>;

export type Caller = Readonly<{
  token: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  get(path: string): Promise<TestResponse>;
  /** Sends a new Idempotency-Key. */
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
}>;

export type TestApp = Readonly<{
  app: App;
  issuer: TestIssuer;
  db: TestDatabase;
  /** A caller with this bearer token, or with none. */
  bearer(token: string | null): Caller;
  /** A user, signed up at the first request; names like `dev-admin` have no special role. */
  user(name: string): Promise<Caller & Readonly<{ me: Json; organization_id: string; project_id: string }>>;
  /** The control plane's superadmin, with these claims in the token. */
  admin(claims?: JWTPayload): Promise<Caller & Readonly<{ me: Json; organization_id: string; project_id: string }>>;
  logs: Record<string, unknown>[];
  /** Sealed with the trust key of this control plane, for tests that create the keys of the channel themselves. */
  trustSecrets: Secrets;
}>;

export type TestClock = Clock & Readonly<{ advance(ms: number): void }>;

/** Real time, which a test advances to expire caches. */
export const testClock = (): TestClock => {
  let ahead = 0;
  return {
    now: () => new Date(Date.now() + ahead),
    advance: (ms) => {
      ahead += ms;
    },
  };
};

export type TestAppOptions = Readonly<{
  clock?: Clock;
  /** Instead of a new database: for tests that break the connection below it. */
  db?: TestDatabase;
  /** That of another app, whose users are then users of this one too. */
  issuer?: TestIssuer;
  /** Where log lines go, for tests that read them before the app has started. */
  logs?: Record<string, unknown>[];
  /** Of the users of the embedded issuer. */
  dev_password?: string;
  /** As in `AppOptions`. */
  intervals_ms?: Readonly<Record<string, number>>;
  /** Instead of ending the process. */
  onStall?: (loop: string) => void;
  /** Settings in addition to the defaults of tests. */
  env?: Readonly<Record<string, string>>;
}>;

export const ADMIN_EMAIL = 'root@example.com';

const collect = (lines: Record<string, unknown>[]): Log =>
  createLog({
    service: 'gpuaas-api',
    host_role: 'platform_control',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });

export const startTestApp = async (
  t: TestLike,
  overrides: Partial<Config> = {},
  options: TestAppOptions = {},
): Promise<TestApp> => {
  const db = options.db ?? (await testDatabase(t));
  const issuer = options.issuer ?? (await startTestIssuer(t));
  const stateDir = await mkdtemp(join(tmpdir(), 'gpuaas-test-'));
  const logs = options.logs ?? [];
  const log = collect(logs);
  const shutdown = createShutdown(silentLog());
  t.after(async () => {
    await shutdown.run('test is over');
    await rm(stateDir, { recursive: true, force: true });
  });
  await applyDemoSite(db.database);
  let config: Config = {
    ...readConfig({
      DATABASE_URL: db.ownerUrl,
      GPUAAS_OIDC_ISSUER: issuer.url,
      GPUAAS_PORT: '0',
      GPUAAS_NODE_API_PORT: '0',
      GPUAAS_GATEWAY_PORT: '0',
      GPUAAS_GATEWAY_AGENT_PORT: '0',
      GPUAAS_NODE_API_RATE_LIMIT_PER_MINUTE: '1000000',
      // The listener of agents is started by tests that have agents.
      GPUAAS_ROLES: 'gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay',
      GPUAAS_STATE_DIR: stateDir,
      GPUAAS_VALIDATE_RESPONSES: '1',
      GPUAAS_RATE_LIMIT_PER_MINUTE: '1000000',
      GPUAAS_ANONYMOUS_RATE_LIMIT_PER_MINUTE: '1000000',
      GPUAAS_TICKET_RATE_PER_MINUTE: '1000000',
      GPUAAS_LIMITS: 'all=1000000',
      GPUAAS_SUPERADMIN_EMAILS: ADMIN_EMAIL,
      // As long as the tokens of the test issuer live, for tests that advance the clock.
      GPUAAS_FRESH_SIGN_IN_MAX_AGE_S: '3600',
      ...options.env,
    }),
    ...TEST_KEYS,
    // The test must not depend on an existing build.
    console_dir: null,
    ...overrides,
  };
  if (!config.roles.includes('gpuaas-node-api')) config = { ...config, trust_keys: null };
  const app = await startProcess({
    config,
    log,
    shutdown,
    dev_password: options.dev_password ?? randomUUID(),
    ...(options.onStall === undefined ? {} : { onStall: options.onStall }),
    ...(options.intervals_ms === undefined ? {} : { intervals_ms: options.intervals_ms }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const { http } = app;
  const trustSecrets = testSecrets('trust', config.trust_keys ?? TEST_KEYS.trust_keys);
  // In a test without the node API nothing else would create them.
  await db.database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets: trustSecrets, clock: app.deps.clock }));

  const bearer = (token: string | null): Caller => {
    const call: Caller['call'] = async (method, path, body, headers = {}) => {
      const response = await http.inject({
        method: method as NonNullable<InjectOptions['method']>,
        url: path,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
      });
      const isJson =
        String(response.headers['content-type'] ?? '').includes('json') &&
        !String(response.headers['content-type']).includes('jsonl');
      return {
        status: response.statusCode,
        body: isJson && response.body !== '' ? JSON.parse(response.body) : response.body,
        headers: response.headers as Record<string, string>,
      };
    };
    return {
      token: token ?? '',
      call,
      get: (path) => call('GET', path),
      post: (path, body, headers = {}) => call('POST', path, body, { 'idempotency-key': randomUUID(), ...headers }),
    };
  };

  const signIn = async (name: string, email: string, claims: JWTPayload = {}) => {
    const caller = bearer(await issuer.sign({ sub: name, name, email, email_verified: true, ...claims }));
    const me = await caller.get('/api/v1/me');
    if (me.status !== 200) throw new Error(`sign-in of ${name} failed: ${JSON.stringify(me.body)}`);
    return {
      ...caller,
      me: me.body,
      organization_id: String(me.body.organizations[0].id),
      project_id: String(me.body.projects[0].id),
    };
  };

  return {
    app,
    issuer,
    db,
    bearer,
    logs,
    trustSecrets,
    user: (name) => signIn(name, `${name}@example.com`),
    admin: (claims) => signIn('root', ADMIN_EMAIL, claims),
  };
};
