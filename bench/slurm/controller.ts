/** A real controller with its own munge daemon, in a separate directory and on loopback; it is removed afterwards. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stopChild } from '../child.ts';
import { type Flavour, gresConf, logFile, mungeSocket, slurmConf } from './config.ts';

const run = promisify(execFile);
const READY_MS = 60_000;

/** Pairs of allocate and cancel per second, for this number of processes and seconds. */
export type PairRate = (clients: number, seconds: number) => Promise<number>;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

const until = async (child: ChildProcess, isReady: () => Promise<unknown>): Promise<void> => {
  for (const deadline = performance.now() + READY_MS; performance.now() < deadline; await delay(50)) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    if ((await isReady().catch(() => false)) !== false) return;
  }
  throw new Error(`${child.spawnfile} did not get ready`);
};

const startMunge = async (dir: string, children: ChildProcess[]): Promise<void> => {
  const file = (name: string): string => join(dir, `munge.${name}`);
  await writeFile(file('key'), randomBytes(128), { mode: 0o600 });
  const paths = ['key', 'pid', 'seed', 'log'].map((name) => `--${name}-file=${file(name)}`);
  const args = ['--foreground', '--force', `--socket=${mungeSocket(dir)}`, ...paths];
  const child = spawn('/usr/sbin/munged', args, { stdio: 'ignore' });
  children.push(child);
  await until(child, () => access(mungeSocket(dir)));
};

const startController = async (dir: string, env: NodeJS.ProcessEnv, children: ChildProcess[]): Promise<void> => {
  const child = spawn('/usr/sbin/slurmctld', ['-D'], { env, stdio: 'ignore' });
  children.push(child);
  try {
    await until(child, async () => (await run('/usr/bin/scontrol', ['ping'], { env })).stdout.includes('is UP'));
  } catch (error) {
    const log = await readFile(logFile(dir), 'utf8').catch(() => '');
    throw new Error(`the controller does not run:\n${log.slice(-2_000)}`, { cause: error });
  }
};

const compileClient = async (dir: string): Promise<string> => {
  const client = join(dir, 'allocate');
  await run('gcc', ['-O2', '-o', client, fileURLToPath(new URL('allocate.c', import.meta.url)), '-lslurm']);
  return client;
};

const pairsPerSecond = (stdout: string): number => {
  const [pairs, ms] = stdout.trim().split(' ').map(Number);
  if (pairs === undefined || ms === undefined) throw new Error(`the client said ${stdout}`);
  return (pairs * 1000) / ms;
};

export const withController = async <T>(flavour: Flavour, fn: (rate: PairRate) => Promise<T>): Promise<T> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-slurm-'));
  const children: ChildProcess[] = [];
  try {
    const [name = 'localhost'] = hostname().split('.');
    const place = { dir, hostname: name, controllerPort: await freePort(), nodePort: await freePort() };
    await mkdir(join(dir, 'state'));
    await writeFile(join(dir, 'slurm.conf'), slurmConf(flavour, place));
    await writeFile(join(dir, 'gres.conf'), gresConf(flavour));
    const client = await compileClient(dir);
    const env = { ...process.env, SLURM_CONF: join(dir, 'slurm.conf') };
    await startMunge(dir, children);
    await startController(dir, env, children);
    const ask = flavour.gpus === null ? [] : [`gres:gpu:${flavour.gpus.asked}`];
    return await fn(async (clients, seconds) => {
      const args = [String(seconds * 1000), ...ask];
      const ran = await Promise.all(Array.from({ length: clients }, () => run(client, args, { env })));
      return ran.reduce((sum, { stdout }) => sum + pairsPerSecond(stdout), 0);
    });
  } finally {
    // The controller stops first, because it needs munge to stop.
    for (const child of children.reverse()) await stopChild(child);
    await rm(dir, { recursive: true, force: true });
  }
};
