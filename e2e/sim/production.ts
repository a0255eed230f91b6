/**
 * The control plane as the production checklist has it: migrations by the owner, processes with a plain account, keys from
 * the environment with the trust key at gpuaas-node-api alone, an issuer of its own, and TLS in front of API, gateway and
 * issuer.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { Client } from 'pg';
import { createAuthority, issue, newKeys, pemOfKey } from '../../node-agent/test/platform.ts';
import { APP_ROLE } from '../../server/src/db/migrate.ts';
import { startTestIssuer, type TestIssuer } from '../../server/test/issuer.ts';
import { freePorts } from '../platform-control/lab.ts';
import { eventually, isReady, type Running, start } from './platform.ts';

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;
type Front = (port: number) => Promise<number>;

export type Production = Readonly<{
  url: string;
  issuer: TestIssuer;
  /** With which a client trusts the certificates of this site. */
  env: NodeJS.ProcessEnv;
  /** Ends every process and starts it again. */
  restart(): Promise<void>;
}>;

export const SUPERADMIN = 'ada@example.com';
const CERTIFICATE_MS = 90 * 24 * 3_600_000;
const SERVING = 'gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay,gpuaas-terminal-gateway';

const newKey = (): string => randomBytes(32).toString('base64');

/** One CA, and TLS that ends in front of a port of this computer. */
const createFronts = async (t: TestLike, caFile: string): Promise<Front> => {
  const authority = await createAuthority('test site');
  const keys = await newKeys();
  const certificate = await issue(authority, keys.publicKey, {
    san: [{ type: 'dns', value: 'localhost' }],
    usage: '1.3.6.1.5.5.7.3.1',
    lifeMs: CERTIFICATE_MS,
  });
  writeFileSync(caFile, authority.pem);
  const options = { key: await pemOfKey(keys.privateKey), cert: certificate.toString('pem') };
  const [...ports] = await freePorts(3);
  return async (target) => {
    const port = ports.shift() ?? 0;
    const open = new Set<Socket>();
    const server = createServer(options, (socket) => {
      const behind = connect(target, '127.0.0.1');
      for (const [one, other] of [
        [socket, behind],
        [behind, socket],
      ] as const)
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
      socket.pipe(behind).pipe(socket);
      open.add(socket.on('close', () => open.delete(socket)));
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    t.after(async () => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return port;
  };
};

/** As the checklist creates it: neither the owner of the tables nor past row-level security. */
const createAccount = async (t: TestLike, ownerUrl: string): Promise<string> => {
  const account = `gpuaas_server_${randomBytes(4).toString('hex')}`;
  const withOwner = async (text: string): Promise<void> => {
    const client = new Client({ connectionString: ownerUrl });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  };
  await withOwner(`create role ${account} login password 'only-for-this-test' in role ${APP_ROLE}`);
  t.after(() => withOwner(`drop role ${account}`));
  const url = new URL(ownerUrl);
  [url.username, url.password] = [account, 'only-for-this-test'];
  return url.href;
};

export const startProduction = async (
  t: TestLike,
  { database_url, dir }: Readonly<{ database_url: string; dir: string }>,
): Promise<Production> => {
  const caFile = join(dir, 'ca.pem');
  const front = await createFronts(t, caFile);
  const issuer = await startTestIssuer(t, { url: async (port) => `https://localhost:${await front(port)}` });
  const [api = 0, nodeHttp = 0, nodeApi = 0, gateway = 0, gatewayAgent = 0] = await freePorts(5);
  const url = `https://localhost:${await front(api)}`;
  const { GPUAAS_TOKEN: _, DATABASE_URL: __, ...inherited } = process.env;
  const trusting = { ...inherited, NODE_EXTRA_CA_CERTS: caFile };
  const common = {
    ...trusting,
    GPUAAS_MODE: 'production',
    GPUAAS_OIDC_ISSUER: issuer.url,
    GPUAAS_PUBLIC_URL: url,
    GPUAAS_NODE_API_PORT: String(nodeApi),
    GPUAAS_GATEWAY_PORT: String(gateway),
    GPUAAS_GATEWAY_PUBLIC_URL: `wss://localhost:${await front(gateway)}`,
    GPUAAS_GATEWAY_AGENT_PORT: String(gatewayAgent),
    GPUAAS_PLATFORM_KEY: newKey(),
    GPUAAS_AUDIT_ARCHIVE_DIR: join(dir, 'audit-archive'),
    GPUAAS_STATE_DIR: join(dir, 'state'),
  };
  for (const one of [common.GPUAAS_STATE_DIR, common.GPUAAS_AUDIT_ARCHIVE_DIR]) mkdirSync(one, { mode: 0o700 });
  const migration = start(['server/src/main.ts', '--migrate-only'], {
    ...{ ...common, DATABASE_URL: database_url, GPUAAS_TRUST_KEY: newKey() },
  });
  const [code] = await once(migration.child, 'exit');
  assert.equal(code, 0, migration.said());
  const DATABASE_URL = await createAccount(t, database_url);
  const processes = [
    { roles: SERVING, port: api, env: { GPUAAS_SUPERADMIN_EMAILS: SUPERADMIN } },
    { roles: 'gpuaas-node-api', port: nodeHttp, env: { GPUAAS_TRUST_KEY: newKey() } },
  ];
  let running: readonly Running[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((one) => one.kill('SIGTERM')));
  };
  const startAll = async (): Promise<void> => {
    running = processes.map(({ roles, port, env }) =>
      start(['server/src/main.ts', '--roles', roles], { ...common, DATABASE_URL, ...env, GPUAAS_PORT: String(port) }),
    );
    for (const [index, { roles, port }] of processes.entries())
      await eventually(`the process of ${roles} is ready`, async () => {
        const server = running[index];
        assert.equal(server?.child.exitCode, null, server?.said());
        return (await isReady(`http://127.0.0.1:${port}`)) ? true : undefined;
      });
  };
  // Before the account and the database go.
  t.after(stop);
  await startAll();
  return {
    ...{ url, issuer, env: trusting },
    restart: async () => {
      await stop();
      await startAll();
    },
  };
};
