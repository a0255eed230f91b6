/** A platform as processes: the server as shipped, and simulated hosts with real agents that enroll automatically. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invariant, pause } from '@gpuaas/kit';
import type { Client } from '@gpuaas/sdk';
import { createOperator } from '../../lab/src/operator.ts';
import { ensureSite } from '../../lab/src/site.ts';
import { freePorts } from '../platform-control/lab.ts';

const REPO = fileURLToPath(new URL('../..', import.meta.url));
/** Only ends the test of a broken control plane: not a measurement. */
const PATIENCE_MS = 180_000;

export type Running = Readonly<{ child: ChildProcess; said(): string; kill(signal: NodeJS.Signals): Promise<void> }>;

export const start = (args: readonly string[], env: NodeJS.ProcessEnv): Running => {
  const child = spawn(process.execPath, args, { cwd: REPO, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const keep = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-20_000);
  };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', keep);
  return {
    child,
    said: () => text,
    kill: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
};

export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  withinMs = PATIENCE_MS,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs / 1000} s in vain until ${what}.`);
    await pause(50);
  }
};

/** What `gpuaas admin node create` and the dialog of the console print. */
export type EnrollmentGrant = Readonly<{ node_api_url: string; ca_sha256: string; token: string }>;

/** A simulated host that no node exists for yet. */
export type NewHost = Readonly<{
  /** As on its label. */
  serial: string;
  /** Installs the agent as an operator does, and runs it. */
  install(grant: EnrollmentGrant): Running;
}>;

export const newHost = (name: string, { dir, env }: Readonly<{ dir: string; env: NodeJS.ProcessEnv }>): NewHost => {
  const words = ['lab/src/main.ts', 'host', name, '--fast', '--dir', join(dir, 'fleet')];
  const { stdout, stderr } = spawnSync(process.execPath, [...words, '--serial'], { cwd: REPO, env, encoding: 'utf8' });
  const serial = stdout.trim();
  invariant(serial !== '', `the host has a serial number: ${stderr}`);
  return {
    serial,
    install: ({ node_api_url, ca_sha256, token }) => {
      const file = join(dir, `${name}.token`);
      writeFileSync(file, token, { mode: 0o600 });
      const grant = ['--node-api-url', node_api_url, '--ca-sha256', ca_sha256, '--token-file', file];
      return start([...words, ...grant], env);
    },
  };
};

export type Platform = Readonly<{
  url: string;
  /** Signed in as the operator of a laptop. */
  client: Client;
  servers: readonly Running[];
  /** Restarts the process of these roles in place: it must have ended. */
  restart(roles: string): Promise<void>;
  /** Another program on the same database and state, stopped with the rest. */
  run(args: readonly string[]): Running;
  hosts(args: readonly string[]): Running;
  newHost(name: string): NewHost;
  /** Returns when that many hosts report their target state. */
  ready(hosts: Running, count: number, withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}>;

export type PlatformOptions = Readonly<{
  database_url: string;
  /** For state and hosts; the caller removes it. */
  dir: string;
  /** The roles of each server process; the first has the API. */
  processes?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Without the demo site, as a new installation is. */
  isEmpty?: true;
}>;

const ROLES = ['all'];
const NO_LIMIT = '100000000';

export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** The stories launch on whole fleets; the limit of the demo is for people. */
const endGpuLimits = async (client: Client): Promise<void> => {
  const { version } = await client.adminSitePolicyGet({});
  await client.adminSitePolicyUpdate({ body: { default_gpu_limit: null } }, { ifMatch: version });
  for (const { organization_id, project_id, version: ifMatch } of (await client.adminQuotaList({})).items)
    if (project_id === null) await client.adminQuotaPut({ body: { organization_id, gpu_limit: null } }, { ifMatch });
};

export const startPlatform = async (options: PlatformOptions): Promise<Platform> => {
  const stateDir = join(options.dir, 'state');
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const password = join(stateDir, 'dev-password');
  writeFileSync(password, 'only-for-this-test\n', { mode: 0o600 });
  const processes = options.processes ?? ROLES;
  const [nodeApiPort, gatewayPort, gatewayAgentPort, ...ports] = await freePorts(3 + processes.length);
  const [apiPort] = ports;
  const url = `http://localhost:${apiPort}`;
  const { GPUAAS_TOKEN: _, ...inherited } = process.env;
  const env = {
    ...inherited,
    DATABASE_URL: options.database_url,
    GPUAAS_STATE_DIR: stateDir,
    GPUAAS_PUBLIC_URL: url,
    GPUAAS_NODE_API_PORT: String(nodeApiPort),
    GPUAAS_GATEWAY_PORT: String(gatewayPort),
    GPUAAS_GATEWAY_AGENT_PORT: String(gatewayAgentPort),
    GPUAAS_DEV_PASSWORD: 'only-for-this-test',
    GPUAAS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
    GPUAAS_ANONYMOUS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
    GPUAAS_NODE_API_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
    GPUAAS_TICKET_RATE_PER_MINUTE: NO_LIMIT,
    GPUAAS_LIMITS: `all=${NO_LIMIT}`,
    ...options.env,
  };
  const servers: Running[] = [];
  const fleets: Running[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(fleets.map((fleet) => fleet.kill('SIGTERM')));
    await Promise.all(servers.map((server) => server.kill('SIGTERM')));
  };
  const stopping = new AbortController();
  const serve = async (index: number): Promise<void> => {
    const [roles, port] = [processes[index], ports[index]];
    invariant(roles !== undefined && port !== undefined, 'each process has roles and a port');
    const first = index === 0 ? ['--migrate'] : [];
    const server = start(['server/src/main.ts', '--roles', roles, ...first], { ...env, GPUAAS_PORT: String(port) });
    servers[index] = server;
    await eventually(`the process of ${roles} is ready`, async () => {
      if (server.child.exitCode !== null) throw new Error(`${roles} ended:\n${server.said()}`);
      return (await isReady(`http://127.0.0.1:${port}`)) ? true : undefined;
    });
  };
  const client = createOperator({ url, dev_password_file: password, signal: stopping.signal });
  try {
    for (const index of processes.keys()) await serve(index);
    if (options.isEmpty !== true) {
      await ensureSite(client);
      await endGpuLimits(client);
    }
  } catch (err) {
    await stop();
    throw err;
  }
  return {
    url,
    client,
    servers,
    restart: (roles) => serve(processes.indexOf(roles)),
    run: (args) => {
      const program = start(args, { ...env, GPUAAS_PORT: '0' });
      servers.push(program);
      return program;
    },
    hosts: (args) => {
      const words = ['lab/src/main.ts', 'fleet', '--dev', '--fast', '--url', url, ...args];
      const fleet = start(words, { ...env, DATABASE_URL: undefined });
      fleets.push(fleet);
      return fleet;
    },
    newHost: (name) => {
      const host = newHost(name, { dir: options.dir, env });
      return {
        ...host,
        install: (grant) => {
          const running = host.install(grant);
          fleets.push(running);
          return running;
        },
      };
    },
    ready: async (hosts, count, withinMs) => {
      const look = () => {
        if (hosts.child.exitCode !== null) throw new Error(`the hosts ended:\n${hosts.said()}`);
        return hosts.said().includes(`${count} of ${count} hosts are ready`) ? true : undefined;
      };
      await eventually(`${count} hosts are ready`, look, withinMs);
    },
    stop: async () => {
      stopping.abort();
      await stop();
    },
  };
};
