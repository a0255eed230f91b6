/**
 * The world of one history: server processes on a copy of the prepared database, and the prepared hosts under real
 * agents. Callers use the router; a caller whose process dies gets no response and, where a retry is safe, sends the
 * same request with the same key again, as the SDK does.
 */
import { join } from 'node:path';
import { invariant, pause } from '@gpuaas/kit';
import { Client as SqlClient } from 'pg';
import { eventually } from '../../e2e/sim/platform.ts';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { createFleetHost, type FleetHost } from '../../lab/src/fleet-host.ts';
import { type TestClock, testClock } from '../../server/test/app.ts';
import { AGENT, type Base, type BaseNode, OPERATOR, SIM } from './base.ts';
import type { Layout, ProcessRole } from './command.ts';
import { type ServerProcess, startServerProcess } from './process.ts';
import { spawnServerProcess } from './spawned.ts';
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

export type World = Readonly<{
  base: Base;
  sql: SqlClient;
  clock: TestClock;
  hosts: readonly WorldHost[];
  call(who: string, request: Request): Promise<Reply>;
  layout: Layout;
  /** The process that has this role. */
  process(role: ProcessRole): Promise<ServerProcess>;
  processes(): Promise<readonly ServerProcess[]>;
  /** Kills the process and starts another one in its place, after what happens meanwhile. */
  kill(role: ProcessRole, meanwhile?: () => Promise<void>): Promise<void>;
  headersOf(who: string): Readonly<Record<string, string>>;
  close(): Promise<void>;
}>;

const ROLE_NAMES: Readonly<Record<ProcessRole, string>> = {
  api: 'gpuaas-api',
  node_api: 'gpuaas-node-api',
  relay: 'gpuaas-outbox-relay',
  gateway: 'gpuaas-terminal-gateway',
  worker: 'gpuaas-provisioning-worker',
};
/** The roles of each process; the worker starts when the agents are connected. */
const PROCESSES: Readonly<Record<Layout, readonly (readonly ProcessRole[])[]>> = {
  joined: [['api', 'node_api', 'relay'], ['worker']],
  split: [['api'], ['node_api'], ['relay'], ['gateway'], ['worker']],
  spawned: [['api'], ['node_api'], ['relay'], ['gateway'], ['worker']],
};

/** A run of a killed worker waits this long. */
const LEASE_MS = 2_000;
const SEEN =
  "select count(*)::integer as n from node_agents where last_seen_at > clock_timestamp() - interval '10 seconds'";
const TRIES_MAX = 100;
const HANGS_AFTER_MS = 30_000;

export const createWorld = async (base: Base, layout: Layout): Promise<World> => {
  const copy = await base.copy();
  const clock = testClock();
  const sql = new SqlClient({ connectionString: copy.database_url });
  await sql.connect();
  const groups = PROCESSES[layout];
  const start = (roles: readonly ProcessRole[]): Promise<ServerProcess> =>
    (layout === 'spawned' ? spawnServerProcess : startServerProcess)({
      database_url: copy.database_url,
      issuer_url: base.issuer.url,
      state_dir: join(copy.dir, 'state'),
      roles: roles.map((role) => ROLE_NAMES[role]).join(','),
      clock,
      lease_ms: LEASE_MS,
    });
  /** A role without a process of its own is with the API. */
  const groupOf = (role: ProcessRole): readonly ProcessRole[] => {
    const group = groups.find((one) => one.includes(role)) ?? groups[0];
    invariant(group !== undefined, 'there is a process');
    return group;
  };
  const running = new Map<readonly ProcessRole[], Promise<ServerProcess>>();
  const processOf = (role: ProcessRole): Promise<ServerProcess> => {
    const found = running.get(groupOf(role));
    invariant(found !== undefined, `a process has the role ${role}`);
    return found;
  };
  for (const group of groups) if (!group.includes('worker')) running.set(group, start(group));
  await Promise.all(running.values());

  const upstream = async () => {
    const { node_api_url } = await processOf('node_api');
    invariant(node_api_url !== null, 'there is a node API');
    const { hostname, port } = new URL(node_api_url);
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
  running.set(groupOf('worker'), start(groupOf('worker')));
  await processOf('worker');

  const headersOf = (who: string) => ({ authorization: `Bearer ${tokens.get(who) ?? ''}` });

  const once = async (who: string, request: Request): Promise<Reply> => {
    const server = await processOf('api');
    const late = new AbortController();
    const sent = server.request({
      method: request.method,
      path: request.path,
      headers: {
        ...headersOf(who),
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
      const isJson = answer.content_type.includes('json') && answer.text !== '';
      return { status: answer.status, body: isJson ? JSON.parse(answer.text) : null };
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
    layout,
    headersOf,
    process: processOf,
    processes: () => Promise.all(running.values()),
    kill: async (role, meanwhile) => {
      const group = groupOf(role);
      const old = await processOf(role);
      await old.kill();
      const next = (meanwhile?.() ?? Promise.resolve()).then(() => start(group));
      running.set(group, next);
      await next;
      if (!group.includes('node_api')) return;
      const address = await upstream();
      for (const { valve } of hosts) valve.pointAt(address);
    },
    close: async () => {
      for (const { valve } of hosts) valve.setSilent(false);
      await Promise.all(hosts.map(({ fleet }) => fleet.stop()));
      await Promise.all((await Promise.all(running.values())).map((server) => server.stop()));
      await Promise.all(hosts.map(({ valve }) => valve.close()));
      await sql.end();
      await copy.remove();
    },
  };
};
