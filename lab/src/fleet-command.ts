/**
 * `gpuaas-lab fleet`: simulated hosts until Ctrl-C or SIGTERM. Small fleets run in this process; larger ones in a few,
 * each with its share, and a process that exits is restarted.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { TASK_KINDS, TASKS, type TaskKind } from '@gpuaas/contract/node';
import { pause } from '@gpuaas/kit';
import { PROFILE_NAMES } from '../../node-agent/src/host/sim/profile.ts';
import { startFleet } from './fleet.ts';
import { fleetDir, stateDir } from './fleet-dir.ts';
import { simSpeed } from './fleet-host.ts';
import { DEMO_HOSTS, type HostSpec, manyHosts } from './fleet-spec.ts';
import { createOperator } from './operator.ts';
import { onSignal } from './signal.ts';
import { oneOf, UsageError } from './usage.ts';

export const FLEET_HELP = `Usage: gpuaas-lab fleet [options]

Runs simulated GPU hosts, each with a real agent: enrolled through the public
API, over mTLS. They keep identity, disks and VMs in a directory; a later start
continues from there. Ctrl-C or SIGTERM stops them.

  --nodes N            number of hosts (default 4)
  --demo               the four hosts of \`make up\` instead
  --url URL            public API; GPUAAS_URL or http://localhost:8080
  --token-file FILE    an operator's API token with the scope fresh_sign_in;
                       read again when it is refused
  --dev                sign in as dev-admin of a laptop's \`make up\` instead
  --dir DIR            where hosts live (default: fleet/ in the state directory)
  --node-api-url URL   where agents connect (default: as the server states)
  --prefix TEXT        prefix of the host names (default sim-)
  --mode MODE          slice (default), baremetal or flexible
  --profile NAME       ${PROFILE_NAMES.join(', ')}
  --until STATE        ready (default), or discovered: left for an operator to
                       approve
  --processes N        number of processes (default: one per 250 hosts)
  --fast               hosts take no time for their work; small disks
  --verbose            print what agents log

Examples:
  gpuaas-lab fleet --nodes 20 --dev
  gpuaas-lab fleet --nodes 1000 --url https://gpuaas.example \\
    --token-file operator-token --dir /var/lib/gpuaas-fleet
`;

const OPTIONS = {
  nodes: { type: 'string', default: '4' },
  demo: { type: 'boolean', default: false },
  url: { type: 'string' },
  'token-file': { type: 'string' },
  dev: { type: 'boolean', default: false },
  dir: { type: 'string' },
  'node-api-url': { type: 'string' },
  prefix: { type: 'string', default: 'sim-' },
  mode: { type: 'string', default: 'slice' },
  profile: { type: 'string', default: 'dell-xe9680-h200' },
  until: { type: 'string', default: 'ready' },
  processes: { type: 'string' },
  fast: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
  /** Set by this command for its own child processes: the n-th share of how many. */
  share: { type: 'string' },
} as const;

const HOSTS_PER_PROCESS = 250;
const RESTART_MS = 1_000;

const countOf = (flag: string, text: string, max: number): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new UsageError(`${flag} is a number from 1 to ${max}, not "${text}".`);
  return value;
};

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

const specsOf = (values: Values): readonly HostSpec[] =>
  values.demo
    ? DEMO_HOSTS
    : manyHosts(countOf('--nodes', values.nodes, 9_999), {
        prefix: values.prefix,
        profile: oneOf('--profile', PROFILE_NAMES, values.profile),
        capacity_mode: oneOf('--mode', ['slice', 'baremetal', 'flexible'] as const, values.mode),
        until: oneOf('--until', ['ready', 'discovered'] as const, values.until),
      });

/** Limits apply to a host with its own CPUs. Hosts that share this process's CPUs take proportionally longer. */
const limitsFor = (hosts: number): Partial<Record<TaskKind, number>> =>
  Object.fromEntries(TASK_KINDS.map((kind) => [kind, TASKS[kind].timeout_s * Math.max(1, hosts / 50)]));

const runHere = async (values: Values, specs: readonly HostSpec[], onReady: (ready: number) => void): Promise<void> => {
  const stopped = onSignal();
  const ended = new AbortController();
  const url = values.url ?? process.env['GPUAAS_URL'] ?? 'http://localhost:8080';
  const tokenFile = values['token-file'];
  const client =
    tokenFile === undefined && !values.dev
      ? null
      : createOperator({
          url,
          signal: ended.signal,
          ...(tokenFile === undefined
            ? { dev_password_file: join(stateDir(), 'dev-password') }
            : { token_file: tokenFile }),
        });
  let ready = 0;
  const isLarge = specs.length > 50;
  const fleet = startFleet({
    specs,
    client,
    dir: fleetDir(values.dir),
    ...(values['node-api-url'] === undefined ? {} : { node_api_url: new URL(values['node-api-url']) }),
    sim: simSpeed(values.fast),
    agent: {
      // Losing this computer loses the simulated hosts as well.
      is_journal_synced: false,
      limits_s: limitsFor(specs.length),
      // Thousands of hosts with frequent inventory reports would do nothing else.
      ...(isLarge
        ? { health: { interval_ms: 60_000, every_ms: 120_000 }, reconcile: { interval_ms: 120_000, every_ms: 240_000 } }
        : {}),
      ...(values.verbose ? { write_log: (line: string) => void process.stdout.write(line) } : {}),
    },
    say: (line) => process.stderr.write(`${line}\n`),
    onReady: () => onReady(++ready),
  });
  await stopped;
  ended.abort();
  await fleet.stop();
};

/** Reports how many hosts are ready, at most once a second, and when all are. */
const createTally = (total: number) => {
  let said = 0;
  return (ready: number): void => {
    const now = performance.now();
    if (ready < total && now - said < 1_000) return;
    said = now;
    process.stdout.write(`${ready} of ${total} hosts are ready\n`);
  };
};

const runShares = async (argv: readonly string[], shares: number, onReady: (ready: number) => void): Promise<void> => {
  const stopped = onSignal();
  let isStopping = false;
  const ready = new Array<number>(shares).fill(0);
  const children = new Map<number, ChildProcess>();
  const keepRunning = async (share: number): Promise<void> => {
    while (!isStopping) {
      const child = fork(fileURLToPath(new URL('main.ts', import.meta.url)), [
        'fleet',
        ...argv,
        '--share',
        `${share}/${shares}`,
      ]);
      children.set(share, child);
      child.on('message', (count) => {
        ready[share] = Number(count);
        onReady(ready.reduce((sum, one) => sum + one, 0));
      });
      await new Promise((done) => child.once('exit', done));
      if (isStopping) return;
      process.stderr.write('a process of the fleet ended and is started again\n');
      await pause(RESTART_MS);
    }
  };
  const running = Promise.all(Array.from({ length: shares }, (_, share) => keepRunning(share)));
  await stopped;
  isStopping = true;
  for (const child of children.values()) child.kill('SIGTERM');
  await running;
};

const shareOf = (specs: readonly HostSpec[], text: string): readonly HostSpec[] => {
  const [share, shares] = text.split('/').map(Number);
  return specs.filter((_, index) => index % (shares ?? 1) === share);
};

export const fleetCommand = async (argv: readonly string[]): Promise<void> => {
  const { values } = parseArgs({ args: [...argv], options: OPTIONS });
  const specs = specsOf(values);
  if (values['token-file'] !== undefined && values.dev)
    throw new UsageError('--token-file and --dev exclude each other.');
  if (values.share !== undefined)
    return runHere(values, shareOf(specs, values.share), (ready) => void process.send?.(ready));
  const wanted = Math.min(availableParallelism(), Math.ceil(specs.length / HOSTS_PER_PROCESS));
  const processes = values.processes === undefined ? wanted : countOf('--processes', values.processes, 64);
  const tally = createTally(specs.length);
  const onReady = (ready: number): void => {
    tally(ready);
    process.send?.(ready);
  };
  return processes === 1 ? runHere(values, specs, onReady) : runShares(argv, processes, onReady);
};
