/**
 * The cost of connected agents: thousands of agents wait in long polls at one process of the node API, and as many at a
 * bare node:https server with certificates of the same kind. Two figures, ours divided by the reference: memory per
 * waiting agent, and the time from waking all until 99% have their response. Our response is one task per agent, which
 * the database marks and the process signs; the reference sends as many bytes without meaning.
 *
 * The clock starts when the tasks are committed, because the node API does not write them. The server that is not being
 * measured has idle connections.
 */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mintId, pause } from '@gpuaas/kit';
import { Client } from 'pg';
import { readConfig } from '../server/src/config.ts';
import { CHANNEL } from '../server/src/ports/events/waker.ts';
import { enrollAll, issueServer, readTrust } from './agents/identity.ts';
import type { Woken } from './agents/poll-client.ts';
import type { Reading } from './agents/probe.ts';
import { type Program, startProgram } from './agents/program.ts';
import { interleave, median, round } from './pairs.ts';
import { type Fleet, nodeId, withFleet } from './placement/fleet.ts';
import type { Bench, Measurement } from './types.ts';

const POLLS = Number(process.env['GPUAAS_BENCH_POLLS'] ?? 6_100);
const PAIRS = 5;
const GOAL = '<=2.0';
/** Agents connected before memory is measured, so that code is loaded and compiled. */
const WARM = 100;
const READINGS = 3;
const READ_EVERY_MS = 1_000;
const QUIET_MS = 500;
const QUIET_SHARE = 0.3;
/** Files a process has open beside its connections. */
const OTHER_FILES = 200;

type Side = Readonly<{
  server: Program;
  clients: Program;
  /** Responds to every agent; returns when that began, by the clock shared by all processes. */
  wake(): Promise<number>;
  /** Afterwards no request is left to answer. */
  settle(): Promise<void>;
}>;

export const lacksFiles = (wanted: number): string | false => {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  return limit === 'unlimited' || Number(limit) >= wanted
    ? false
    : `open files: a process may open ${limit}, and this needs ${wanted} (raise ulimit -n)`;
};

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const TASKS = `insert into node_tasks (id, node_id, kind, params, correlation_id, expires_at)
  select t.id, t.node_id, 'diag.health_probe', '{}', 'c-bench-' || t.id, clock_timestamp() + interval '10 min'
  from unnest($1::text[], $2::text[]) as t (id, node_id)`;
const DONE = `update node_tasks set state = 'completed', finished_at = clock_timestamp() where state <> 'completed'`;

const connectOwner = async (url: string): Promise<Client> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
};

const startOurs = async (fleet: Fleet, owner: Client, agentsFile: string): Promise<Side> => {
  const server = startProgram('server/src/main.ts', ['--roles', 'gpuaas-node-api'], {
    DATABASE_URL: fleet.url,
    GPUAAS_STATE_DIR: fleet.dir,
    GPUAAS_PORT: '0',
    GPUAAS_NODE_API_PORT: '0',
  });
  const port = await server.line((line) =>
    line.includes('listening for agents') ? /"port":(\d+)/.exec(line)?.[1] : undefined,
  );
  const nodes = Array.from({ length: POLLS }, (_, n) => nodeId(n + 1));
  return {
    server,
    clients: startProgram('bench/agents/poll-client.ts', [agentsFile, port], {}),
    wake: async () => {
      await owner.query('begin');
      await owner.query(TASKS, [nodes.map(() => mintId('tsk')), nodes]);
      await owner.query('commit');
      const beganAt = nowMs();
      await owner.query('select pg_notify($1, $2)', [CHANNEL, '']);
      return beganAt;
    },
    settle: async () => void (await owner.query(DONE)),
  };
};

const startBare = async (identityFile: string, agentsFile: string, bytes: () => number): Promise<Side> => {
  const server = startProgram('bench/agents/bare-server.ts', [identityFile], {});
  const port = await server.line((line) => line);
  return {
    server,
    clients: startProgram('bench/agents/poll-client.ts', [agentsFile, port], {}),
    wake: async () => {
      const beganAt = nowMs();
      server.tell({ wake_bytes: bytes() });
      return beganAt;
    },
    settle: async () => {},
  };
};

const cpuMs = async (program: Program): Promise<number> => (await program.ask<Reading>({ read: 'cpu' })).cpu_ms;

/** Waits until all requests are read: the server is idle. */
const quiet = async ({ server }: Side): Promise<void> => {
  for (let before = await cpuMs(server); ; ) {
    await pause(QUIET_MS);
    const after = await cpuMs(server);
    if (after - before < QUIET_MS * QUIET_SHARE) return;
    before = after;
  }
};

const rss = async ({ server }: Side): Promise<number> => {
  const readings: number[] = [];
  for (let n = 0; n < READINGS; n++) {
    await pause(READ_EVERY_MS);
    readings.push((await server.ask<Reading>({ read: 'memory' })).rss_bytes);
  }
  return median(readings);
};

/** Bytes per waiting agent. */
const memory = async (side: Side): Promise<number> => {
  await side.clients.ask({ poll: WARM });
  const before = await rss(side);
  await side.clients.ask({ poll: POLLS });
  await quiet(side);
  return ((await rss(side)) - before) / (POLLS - WARM);
};

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;

const wakeAll = async (side: Side, onWoken: (woken: Woken) => void): Promise<number> => {
  await side.clients.ask({ poll: POLLS });
  await quiet(side);
  const woken = side.clients.ask<Woken>({ woken: true });
  const beganAt = await side.wake();
  const answer = await woken;
  await side.settle();
  onWoken(answer);
  return p99(answer.at_ms.map((at) => at - beganAt));
};

type Figures = Readonly<{ memory: Measurement; wake: Measurement }>;

const compare = async (ours: Side, bare: Side, onOurs: (woken: Woken) => void): Promise<Figures> => {
  const bytes = { ours: await memory(ours), bare: await memory(bare) };
  const waking = await interleave(
    () => wakeAll(ours, onOurs),
    () => wakeAll(bare, () => {}),
    PAIRS,
  );
  const kib = (value: number): string => `${round(value / 1024)} KiB`;
  const ms = (value: number): string => `${Math.round(value)} ms`;
  return {
    memory: {
      name: 'agents-memory',
      ratio: round(bytes.ours / bytes.bare),
      goal: GOAL,
      reference: `${kib(bytes.bare)} per resting mTLS poll of a bare node:https server`,
      ours: `${kib(bytes.ours)} per resting agent, ${POLLS} at one process`,
      pairs: 1,
    },
    wake: {
      name: 'agents-wake',
      ratio: waking.ratio,
      goal: GOAL,
      reference: `${ms(waking.reference)} until 99 % of ${POLLS} have an answer of as many bytes`,
      ours: `${ms(waking.ours)} from the commit of their tasks until 99 % of ${POLLS} agents have theirs signed`,
      pairs: waking.pairs,
    },
  };
};

const measure = (): Promise<Figures> =>
  withFleet(POLLS, async (fleet) => {
    const config = readConfig({ DATABASE_URL: fleet.url, GPUAAS_STATE_DIR: fleet.dir });
    const trust = await readTrust(fleet.database, config.trust_keys ?? new Map());
    const agentsFile = join(fleet.dir, 'agents.json');
    const identityFile = join(fleet.dir, 'bare.json');
    await writeFile(agentsFile, JSON.stringify(await enrollAll(fleet.database, trust, POLLS)), { mode: 0o600 });
    await writeFile(identityFile, JSON.stringify(await issueServer(trust)), { mode: 0o600 });
    const owner = await connectOwner(fleet.url);
    const sides: Side[] = [];
    let answerBytes = 0;
    try {
      const ours = await startOurs(fleet, owner, agentsFile);
      sides.push(ours);
      const bare = await startBare(identityFile, agentsFile, () => answerBytes);
      sides.push(bare);
      return await compare(ours, bare, ({ answer_bytes }) => {
        answerBytes = answer_bytes;
      });
    } finally {
      for (const { server, clients } of sides) {
        await clients.stop();
        await server.stop();
      }
      await owner.end();
    }
  });

/** Both figures come from one run. */
let measured: Promise<Figures> | undefined;
const part = (figure: keyof Figures): Bench => ({
  name: 'agents',
  lacks: () => lacksFiles(POLLS + OTHER_FILES),
  run: async () => {
    measured ??= measure();
    return (await measured)[figure];
  },
});

export const agentsBenches: readonly Bench[] = [part('memory'), part('wake')];
