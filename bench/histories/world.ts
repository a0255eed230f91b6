/**
 * The world of one history: server processes on a copy of the prepared database, and the prepared hosts under real
 * agents. Callers use the router; a caller whose process dies gets no response and, where a retry is safe, sends the
 * same request with the same key again, as the SDK does.
 */
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { Client as SqlClient } from 'pg';
import { eventually } from '../../e2e/sim/platform.ts';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { createFleetHost, type FleetHost } from '../../lab/src/fleet-host.ts';
import { type TestClock, testClock } from '../../server/test/app.ts';
import { AGENT, type Base, type BaseNode, OPERATOR, SIM } from './base.ts';
import type { ServerProcess } from './process.ts';
import { startServerProcess } from './process.ts';
import { openValve, type Valve } from './valve.ts';

// biome-ignore lint/suspicious/noExplicitAny: the contract has checked every response
type Json = any;
/** Status 0: no response, and no way to know what became of the request. */
export type Reply = Readonly<{ status: number; body: Json }>;

export type Request = Readonly<{
  method: string;
  path: string;
  body?: unknown;
  /** With it, a request without a response is repeated. */
  key?: string;
  if_match?: number;
  correlation_id?: string;
}>;

export type WorldHost = Readonly<{
  node: BaseNode;
  fleet: FleetHost;
  valve: Valve;
  machine: string;
  skew: { ms: number };
}>;
export type ProcessName = 'front' | 'worker';

export type World = Readonly<{
  base: Base;
  sql: SqlClient;
  clock: TestClock;
  hosts: readonly WorldHost[];
  call(who: string, request: Request): Promise<Reply>;
  process(name: ProcessName): Promise<ServerProcess>;
  /** Kills the process and starts another one in its place. */
  kill(name: ProcessName): Promise<void>;
  close(): Promise<void>;
}>;

const ROLES: Readonly<Record<ProcessName, string>> = {
  front: 'gpuaas-api,gpuaas-node-api,gpuaas-outbox-relay',
  worker: 'gpuaas-provisioning-worker',
};
/** A run of a killed worker waits this long. */
const LEASE_MS = 2_000;
const SEEN =
  "select count(*)::integer as n from node_agents where last_seen_at > clock_timestamp() - interval '10 seconds'";
const TRIES_MAX = 100;
const HANGS_AFTER_MS = 30_000;

export const createWorld = async (base: Base): Promise<World> => {
  const copy = await base.copy();
  const clock = testClock();
  const sql = new SqlClient({ connectionString: copy.database_url });
  await sql.connect();
  const start = (name: ProcessName) =>
    startServerProcess({
      database_url: copy.database_url,
      issuer_url: base.issuer.url,
      state_dir: join(copy.dir, 'state'),
      roles: ROLES[name],
      clock,
      lease_ms: LEASE_MS,
    });
  const front = start('front');
  const processes: Record<ProcessName, Promise<ServerProcess>> = { front, worker: front };

  const nodeApiOf = async (): Promise<URL> => {
    const { node_api } = (await processes.front).app;
    if (node_api === null) throw new Error('there is a node API');
    return new URL(node_api.url);
  };
  const upstream = async () => {
    const { hostname, port } = await nodeApiOf();
    return { host: hostname, port: Number(port) };
  };
  const first = await upstream();
  const hosts: WorldHost[] = await Promise.all(
    base.nodes.map(async (node) => {
      const valve = await openValve(first);
      const skew = { ms: 0 };
      const dir = join(copy.dir, 'fleet');
      const fleet = createFleetHost({
        dir,
        spec: node.spec,
        node_api_url: new URL(`https://127.0.0.1:${valve.port}`),
        sim: SIM,
        agent: { ...AGENT, now: () => new Date(Date.now() + skew.ms) },
        say: () => {},
      });
      return { node, fleet, valve, machine: machineDir(dir, node.spec.name), skew };
    }),
  );
  const tokens = new Map<string, string>();
  for (const name of [OPERATOR, ...base.tenants.map((tenant) => tenant.name)])
    tokens.set(name, await base.tokenOf(name));
  await Promise.all(hosts.map(({ fleet }) => fleet.start()));
  // A worker would find the hosts as offline as they were since the copy was prepared.
  await eventually(`${hosts.length} agents are connected`, async () => {
    const { rows } = await sql.query<{ n: number }>(SEEN);
    return rows[0]?.n === hosts.length || undefined;
  });
  processes.worker = start('worker');
  await processes.worker;

  const once = async (who: string, request: Request): Promise<Reply> => {
    const server = await processes.front;
    const late = new AbortController();
    const sent = server.app.http.inject({
      method: request.method as 'GET',
      url: request.path,
      headers: {
        authorization: `Bearer ${tokens.get(who) ?? ''}`,
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.key === undefined ? {} : { 'idempotency-key': request.key }),
        ...(request.if_match === undefined ? {} : { 'if-match': `"v${request.if_match}"` }),
        ...(request.correlation_id === undefined ? {} : { 'x-correlation-id': request.correlation_id }),
      },
      ...(request.body === undefined ? {} : { payload: JSON.stringify(request.body) }),
    });
    const hung = pause(HANGS_AFTER_MS, late.signal).then(() => {
      if (!late.signal.aborted) throw new Error(`${request.method} ${request.path} got no response`);
      return undefined;
    });
    try {
      const answer = await Promise.race([sent, server.killed, hung]);
      if (answer === undefined) return { status: 0, body: null };
      const isJson = String(answer.headers['content-type'] ?? '').includes('json');
      return { status: answer.statusCode, body: isJson && answer.body !== '' ? JSON.parse(answer.body) : null };
    } catch (err) {
      if (err instanceof Error && err.name === 'Killed') return { status: 0, body: null };
      throw err;
    } finally {
      late.abort();
    }
  };

  const call = async (who: string, request: Request): Promise<Reply> => {
    const isSafe = request.method === 'GET' || request.key !== undefined;
    for (let attempt = 1; ; attempt++) {
      const reply = await once(who, request);
      const isLost = reply.status === 0 || reply.status === 503;
      const isInFlight = reply.status === 409 && reply.body?.code === 'idempotency_in_flight';
      if (!(isLost || isInFlight)) return reply;
      if (!isSafe || attempt >= TRIES_MAX) return { status: 0, body: reply.body };
      await pause(30);
    }
  };

  return {
    base,
    sql,
    clock,
    hosts,
    call,
    process: (name) => processes[name],
    kill: async (name) => {
      const old = await processes[name];
      old.kill();
      processes[name] = start(name);
      await processes[name];
      if (name === 'front') {
        const next = await upstream();
        for (const { valve } of hosts) valve.pointAt(next);
      }
    },
    close: async () => {
      for (const { valve } of hosts) valve.setSilent(false);
      await Promise.all(hosts.map(({ fleet }) => fleet.stop()));
      const running = await Promise.all(Object.values(processes));
      await Promise.all(running.map((server) => server.stop()));
      await Promise.all(hosts.map(({ valve }) => valve.close()));
      await sql.end();
      await copy.remove();
    },
  };
};
