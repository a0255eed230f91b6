/**
 * A tenant's session compared with a direct connection. `stream` is `scp` of a file into a guest through gateway, agent
 * and the generated ssh configuration, compared with plain `scp` from the guest's own host: the same guest, the same
 * cipher. It also prints the added latency of a key stroke through the gateway over plain ssh, and the gateway's memory
 * per idle session.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Allocation, connect, type SessionKind } from '@gpuaas/sdk';
import { type HostLab, startHostLab } from '../e2e/worker-compute/host/host-lab.ts';
import { composedHostLacks } from '../node-agent/test/composed-host.ts';
import { interleave, p50, round } from './pairs.ts';
import type { Bench, Measurement } from './types.ts';

const run = promisify(execFile);
const GPUAAS = fileURLToPath(new URL('../bin/gpuaas', import.meta.url));
const PROCESSES = [
  'gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay,gpuaas-node-api',
  'gpuaas-terminal-gateway',
];
const MIB = 1024 ** 2;
const FILE_BYTES = 32 * MIB;
const PAIRS = 5;
const KEYS = 200;
const IDLE = 200;

const gatewayBytes = (lab: HostLab): number => {
  const pid = lab.cloud.platform.servers[1]?.child.pid;
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
};

const open = (lab: HostLab, machine: Allocation, kind: SessionKind, port?: number) =>
  connect(lab.cloud.client, {
    project_id: lab.cloud.project_id,
    allocation_id: machine.id,
    kind,
    ...(port === undefined ? {} : { port }),
  });

/** Sends one key, and returns when it is echoed. */
type Typist = Readonly<{ press(key: string): Promise<void>; leave(): void }>;

/** Resolves whenever output arrives after a key. */
const echoes = () => {
  let heard = (): void => undefined;
  return {
    hear: () => heard(),
    next: () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      }),
  };
};

const throughGateway = async (lab: HostLab, machine: Allocation): Promise<Typist> => {
  const stream = await open(lab, machine, 'terminal');
  await stream.ready;
  const { hear, next } = echoes();
  void (async () => {
    for await (const _ of stream.bytes) hear();
  })();
  return {
    press: async (key) => {
      const echoed = next();
      await stream.write(Buffer.from(key));
      await echoed;
    },
    leave: () => stream.close(),
  };
};

const overSsh = (argv: readonly string[]): Typist => {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const { hear, next } = echoes();
  child.stdout.on('data', hear);
  return {
    press: async (key) => {
      const echoed = next();
      child.stdin.write(key);
      await echoed;
    },
    leave: () => child.kill(),
  };
};

const echoMs = async (typist: Typist): Promise<number> => {
  // The first output is the prompt.
  await typist.press('\n');
  await p50(10, () => typist.press('x'));
  const ms = await p50(KEYS, () => typist.press('x'));
  typist.leave();
  return ms;
};

const idleBytes = async (lab: HostLab, machine: Allocation): Promise<number> => {
  await lab.ssh(machine, 'setsid busybox nc -ll -p 7007 -e cat >/dev/null 2>&1 </dev/null &');
  const first = await open(lab, machine, 'forward', 7007);
  await first.ready;
  const before = gatewayBytes(lab);
  const streams = await Promise.all(Array.from({ length: IDLE }, () => open(lab, machine, 'forward', 7007)));
  await Promise.all(streams.map(({ ready }) => ready));
  const spent = (gatewayBytes(lab) - before) / IDLE;
  for (const stream of [first, ...streams]) stream.close();
  return spent;
};

const measure = async (lab: HostLab): Promise<Measurement> => {
  const { id } = await lab.cloud.launch('desk', { ssh_key_ids: [lab.key_id], image_name: lab.image.name });
  const machine = await lab.cloud.reaches(id, 'active');
  const { ssh } = machine;
  assert.ok(ssh?.address != null);
  const { token } = await lab.cloud.client.apiTokenCreate({
    body: { name: 'bench', scopes: ['all'], expires_in_s: 7200 },
  });
  // First, before other traffic has used memory of the gateway.
  const idle = await idleBytes(lab, machine);
  const home = join(lab.cloud.scratch, 'home');
  await mkdir(home, { recursive: true });
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    GPUAAS_URL: lab.cloud.platform.url,
    GPUAAS_TOKEN: token,
  };
  await run(GPUAAS, ['ssh-config', '--write'], { env });
  const file = join(home, 'file');
  await writeFile(file, randomBytes(FILE_BYTES));
  const known = join(home, 'known');
  await writeFile(known, `${ssh.address} ${ssh.host_key}\n`);
  const identity = ['-i', lab.tenant.key_file, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes'];
  const plain = [...identity, '-o', `UserKnownHostsFile=${known}`, '-o', 'StrictHostKeyChecking=yes'];
  const at = `${ssh.username}@${ssh.address}`;
  const prefix = lab.host.network.config.command_prefix;
  const bytesPerS = async (program: string, args: readonly string[]): Promise<number> => {
    const startedAt = performance.now();
    await run(program, args, { env, timeout: 10 * 60_000 });
    return (FILE_BYTES * 1000) / (performance.now() - startedAt);
  };
  const [enter, ...inside] = [...prefix, 'scp', '-q', ...plain, file, `${at}:/tmp/file`];
  const pairs = await interleave(
    () => bytesPerS('scp', ['-q', '-F', join(home, '.ssh', 'config'), ...identity, file, 'gpuaas-desk:/tmp/file']),
    () => bytesPerS(enter, inside),
    PAIRS,
  );
  const plainEcho = await echoMs(overSsh([...prefix, 'ssh', '-tt', ...plain, at]));
  const ourEcho = await echoMs(await throughGateway(lab, machine));
  const mbPerS = (rate: number): string => `${round(rate / 1e6)} MB/s`;
  return {
    name: 'stream',
    ratio: pairs.ratio,
    goal: '>=0.5',
    reference: `${mbPerS(pairs.reference)} by scp from the guest's own host; a key is back after ${round(plainEcho)} ms`,
    ours:
      `${mbPerS(pairs.ours)} by scp through gateway and agent; a key is back ${round(ourEcho - plainEcho)} ms later; ` +
      `${round(idle / 1024)} KiB of the gateway for an idle session, of ${IDLE}`,
    pairs: pairs.pairs,
  };
};

export const streamBench: Bench = {
  name: 'stream',
  lacks: composedHostLacks,
  run: async () => {
    const lab = await startHostLab({ slots: 1, processes: PROCESSES });
    try {
      return await measure(lab);
    } finally {
      await lab.close();
    }
  },
};
