/** Runs `make up`, `make down` and `make reset` from outside, each test on its own port and state directory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from '@gpuaas/kit';

const REPO = fileURLToPath(new URL('../..', import.meta.url));
/** Only ends the test of a broken control plane: not a measurement. */
const PATIENCE_MS = 180_000;

/** A test, or the context of all tests of a file. */
export type TestLike = Readonly<{ after(close: () => Promise<void> | void): void }>;
export type Finished = Readonly<{ code: number | null; text: string }>;
export type Started = Readonly<{ child: ChildProcess; said: () => string; finished: Promise<Finished> }>;

export type LabUnderTest = Readonly<{
  stateDir: string;
  port: number;
  url: string;
  start(args: readonly string[], env?: NodeJS.ProcessEnv): Started;
  make(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Finished>;
  /** Processes named in the run file. */
  run(): Readonly<{ supervisor: string; server: string; fleet: string; ready: boolean }>;
  /** Whether every simulated host is enrolled and in its target state. */
  areHostsReady(): boolean;
  /** Returns when they are. */
  hostsReady(): Promise<void>;
  readyz(): Promise<number | undefined>;
}>;

/** All are held until each is known: a port that was just closed may be given out again. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const probes = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    probes.map(
      (probe) =>
        new Promise<number>((resolve, reject) => {
          probe.once('error', reject);
          probe.listen(0, '127.0.0.1', () => {
            const address = probe.address();
            resolve(typeof address === 'object' && address ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return ports;
};

export const freePort = async (): Promise<number> => (await freePorts(1))[0] ?? 0;

export const eventually = async (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`Waited ${PATIENCE_MS / 1000} s in vain until ${what}.`);
    await pause(20);
  }
};

/** Of a process named in the run file. */
export const pidOf = (identity: string): number => Number(identity.split(':')[0]);
export const postmasterPid = (stateDir: string): number =>
  Number(readFileSync(join(stateDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** An interrupted run ends its test processes; children in their own sessions must end too. */
const clearWhenInterrupted = (t: TestLike, clear: () => void): void => {
  const onSignal = () => {
    clear();
    process.exit(143);
  };
  process.once('SIGTERM', onSignal);
  t.after(() => void process.off('SIGTERM', onSignal));
};

/** A state directory that is removed, with all processes in it, when the test ends. */
export const labUnderTest = async (t: TestLike, stateDir?: string): Promise<LabUnderTest> => {
  const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-up-'));
  chmodSync(scratch, 0o711);
  const dir = stateDir ?? join(scratch, 'state of a lab');
  const [port = 0, nodeApi = 0, gateway = 0, gatewayAgent = 0] = await freePorts(4);
  const { DATABASE_URL: _, GPUAAS_OIDC_ISSUER: __, ...inherited } = process.env;
  const own = {
    GPUAAS_STATE_DIR: dir,
    GPUAAS_PORT: String(port),
    GPUAAS_NODE_API_PORT: String(nodeApi),
    GPUAAS_GATEWAY_PORT: String(gateway),
    GPUAAS_GATEWAY_AGENT_PORT: String(gatewayAgent),
  };
  const start: LabUnderTest['start'] = (args, env = {}) => {
    // Its own process group, as a terminal creates it: Ctrl-C goes to make and all its children.
    const child = spawn('make', ['--no-print-directory', ...args], {
      cwd: REPO,
      env: { ...inherited, ...own, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk));
    const finished = new Promise<Finished>((resolve) => child.once('close', (code) => resolve({ code, text })));
    return { child, said: () => text, finished };
  };
  const make: LabUnderTest['make'] = (args, env) => start(args, env).finished;
  clearWhenInterrupted(t, () => {
    spawnSync('make', ['reset'], { cwd: REPO, env: { ...inherited, ...own }, stdio: 'ignore' });
    rmSync(scratch, { recursive: true, force: true });
  });
  t.after(async () => {
    await make(['reset']);
    rmSync(scratch, { recursive: true, force: true });
  });
  const areHostsReady = (): boolean => {
    const log = join(dir, 'log/fleet.log');
    return existsSync(log) && /4 of 4 hosts/.test(readFileSync(log, 'utf8'));
  };
  return {
    stateDir: dir,
    port,
    url: `http://localhost:${port}`,
    start,
    make,
    run: () => JSON.parse(readFileSync(join(dir, 'up.json'), 'utf8')),
    areHostsReady,
    hostsReady: () => eventually('the hosts are ready', areHostsReady),
    readyz: () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        (answer) => answer.status,
        () => undefined,
      ),
  };
};
