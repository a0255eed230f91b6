/**
 * The beginning of every history, prepared once: a database with a catalog, an operator, two tenants and three hosts
 * that were enrolled, discovered and approved through the API. A history starts from a copy of the database and of the
 * hosts, so that the same seed meets the same ids.
 */
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@gpuaas/kit';
import { type Client, createClient } from '@gpuaas/sdk';
import { Client as SqlClient } from 'pg';
import { createFleetHost } from '../../lab/src/fleet-host.ts';
import type { HostSpec } from '../../lab/src/fleet-spec.ts';
import { onboard } from '../../lab/src/onboard.ts';
import { ensureTrustKeys } from '../../server/src/agents/trust.ts';
import { PLATFORM } from '../../server/src/db/client.ts';

import { ADMIN_EMAIL } from '../../server/test/app.ts';
import { testCluster, testDatabase } from '../../server/test/database.ts';
import { applyDemoSite } from '../../server/test/demo-site.ts';
import { startTestIssuer, type TestIssuer } from '../../server/test/issuer.ts';
import { TEST_KEYS, testSecrets } from '../../server/test/secrets.ts';
import { newSshKey } from '../../server/test/tenants.ts';
import { startServerProcess } from './process.ts';
import { RECORD_STATES } from './reached.ts';

export type BaseTenant = Readonly<{
  name: string;
  organization_id: string;
  project_id: string;
  user_id: string;
  ssh_key_id: string;
}>;
export type BaseNode = Readonly<{ id: string; spec: HostSpec }>;

export type Base = Readonly<{
  issuer: TestIssuer;
  tenants: readonly BaseTenant[];
  nodes: readonly BaseNode[];
  tokenOf(name: string): Promise<string>;
  /** A new database, and a new directory with the hosts and the state of the server. */
  copy(): Promise<Readonly<{ database_url: string; dir: string; remove(): Promise<void> }>>;
}>;

export const OPERATOR = 'root';
/** Small, so that a wipe and its read-back cost little. */
export const SIM = { disk_bytes: 4 * 1024 ** 2, durations: {} } as const;
export const AGENT = {
  wait_s: 5,
  retry: { baseMs: 50, capMs: 500 },
  is_journal_synced: false,
  limits_s: { 'slice.vm_readiness': 8 },
  ship_logs: false,
  health: { every_ms: 60_000, interval_ms: 2_000 },
  reconcile: { every_ms: 60_000, interval_ms: 2_000 },
} as const;

const H200 = { profile: 'dell-xe9680-h200', until: 'ready', faults: [] } as const;
const SPECS: readonly HostSpec[] = [
  { ...H200, name: 'hist-a', capacity_mode: 'slice' },
  { ...H200, name: 'hist-b', capacity_mode: 'slice' },
  { ...H200, name: 'hist-c', capacity_mode: 'baremetal' },
];
const TENANTS = ['amber', 'birch'];

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

const withSql = async <T>(url: string, work: (sql: SqlClient) => Promise<T>): Promise<T> => {
  const sql = new SqlClient({ connectionString: url });
  await sql.connect();
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
};

/** A busy computer is waited for. */
const RETRY = { retriesMax: 50, waitMaxMs: 60_000 } as const;

const createTenant = async (url: string, name: string, token: string): Promise<BaseTenant> => {
  const client = createClient({ baseUrl: url, token, retry: RETRY });
  const me = await client.meGet();
  const [organization, project] = [me.organizations[0], me.projects[0]];
  if (organization === undefined || project === undefined) throw new Error(`${name} has no project`);
  const key = await client.sshKeyCreate({ body: { name: 'laptop', public_key: newSshKey() } });
  return { name, organization_id: organization.id, project_id: project.id, user_id: me.id, ssh_key_id: key.id };
};

const bringUp = async (url: string, nodeApi: URL, client: Client, dir: string): Promise<BaseNode[]> => {
  const hosts = SPECS.map((spec) =>
    createFleetHost({ dir, spec, node_api_url: nodeApi, sim: SIM, agent: AGENT, say: () => {} }),
  );
  try {
    await Promise.all(hosts.map((host) => onboard({ client, host, signal: AbortSignal.timeout(300_000) })));
  } finally {
    await Promise.all(hosts.map((host) => host.stop()));
  }
  const { items } = await client.adminNodeList({ query: { limit: 100 } });
  return SPECS.map((spec) => {
    const node = items.find(({ name }) => name === spec.name);
    if (node === undefined) throw new Error(`${spec.name} is not at ${url}`);
    return { id: node.id, spec };
  });
};

export const createBase = async (t: TestLike): Promise<Base> => {
  const issuer = await startTestIssuer(t);
  const cluster = await testCluster();
  const db = await testDatabase();
  const name = new URL(db.ownerUrl).pathname.slice(1);
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-histories-'));
  t.after(async () => {
    await withSql(cluster, (sql) => sql.query(`drop database if exists ${name} with (force)`));
    await rm(dir, { recursive: true, force: true });
  });
  const tokenOf = (who: string) =>
    issuer.sign({
      sub: who,
      name: who,
      email: who === OPERATOR ? ADMIN_EMAIL : `${who}@example.com`,
      email_verified: true,
      auth_time: Math.floor(Date.now() / 1000),
    });
  await applyDemoSite(db.database);
  await db.database.write(PLATFORM, (tx) =>
    ensureTrustKeys(tx, { secrets: testSecrets('trust', TEST_KEYS.trust_keys), clock: systemClock }),
  );
  await db.database.end();
  const server = await startServerProcess({
    database_url: db.ownerUrl,
    issuer_url: issuer.url,
    state_dir: join(dir, 'state'),
    roles: 'gpuaas-api,gpuaas-provisioning-worker,gpuaas-node-api',
    clock: systemClock,
    lease_ms: 30_000,
  });
  const tenants: BaseTenant[] = [];
  const nodes: BaseNode[] = [];
  try {
    const { url, node_api_url } = server;
    if (node_api_url === null) throw new Error('there is a node API');
    const client = createClient({ baseUrl: url, token: await tokenOf(OPERATOR), retry: RETRY });
    await client.meGet();
    for (const tenant of TENANTS) tenants.push(await createTenant(url, tenant, await tokenOf(tenant)));
    nodes.push(...(await bringUp(url, new URL(node_api_url), client, join(dir, 'fleet'))));
  } finally {
    await server.stop();
  }
  await withSql(db.ownerUrl, (sql) => sql.query(RECORD_STATES));
  let copies = 0;
  return {
    issuer,
    tenants,
    nodes,
    tokenOf,
    copy: async () => {
      const copy = `gpuaas_test_${process.pid}_${randomBytes(4).toString('hex')}_${copies++}`;
      const home = await mkdtemp(join(tmpdir(), 'gpuaas-history-'));
      await Promise.all([
        withSql(cluster, async (sql) => {
          await sql.query(`create database ${copy} template ${name} strategy file_copy`);
          // Connections are short-lived, so a plan for each set of values would be most of what they do.
          await sql.query(`alter database ${copy} set plan_cache_mode = force_generic_plan`);
        }),
        cp(join(dir, 'fleet'), join(home, 'fleet'), { recursive: true }),
        cp(join(dir, 'state'), join(home, 'state'), { recursive: true }),
      ]);
      const url = new URL(db.ownerUrl);
      url.pathname = `/${copy}`;
      return {
        database_url: url.href,
        dir: home,
        remove: async () => {
          await withSql(cluster, (sql) => sql.query(`drop database if exists ${copy} with (force)`));
          await rm(home, { recursive: true, force: true });
        },
      };
    },
  };
};
