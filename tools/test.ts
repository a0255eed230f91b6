/**
 * The runner behind `make test`: every test file in a process of its own, two at a time, on one PostgreSQL for the
 * whole run. Closes with one plain line, `N passed, N failed, N skipped`, and exits 1 when anything failed: a test, a
 * file that crashed, hung or held no test, or a skip where GPUAAS_REQUIRE=all allows none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startTestCluster } from '../server/test/cluster.ts';
import { LANES, type LaneName } from './test/lanes.ts';
import { failureList, fileLine, skipList } from './test/print.ts';
import { runFile } from './test/run-file.ts';
import { selectFiles, type Tier, tierOf } from './test/select.ts';
import { closingLine, type FileVerdict, judgeFile, sum } from './test/verdict.ts';

type Options = Readonly<{
  root: string;
  lane: LaneName | undefined;
  tier: Tier;
  paths: readonly string[];
  concurrency: number;
  hangAfterMs: number;
  postgres: boolean;
}>;

/** A file of the slow tier may have to build a machine first. */
const NODE_TIER_PATIENCE = 3;

class UsageError extends Error {}

const oneOf = <T extends string>(what: string, values: readonly T[], given: string): T => {
  const found = values.find((value) => value === given);
  if (found === undefined) throw new UsageError(`${what} is one of ${values.join(', ')}, not "${given}".`);
  return found;
};

const readOptions = (argv: readonly string[]): Options => {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      lane: { type: 'string' },
      tier: { type: 'string', default: 'fast' },
      root: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
      concurrency: { type: 'string', default: '2' },
      'hang-after-s': { type: 'string', default: '600' },
      'no-postgres': { type: 'boolean', default: false },
    },
  });
  const laneNames = LANES.map((lane) => lane.name);
  return {
    root: resolve(values.root),
    lane: values.lane === undefined ? undefined : oneOf('LANE', laneNames, values.lane),
    tier: oneOf('TIER', ['fast', 'node', 'all'], values.tier),
    paths: positionals,
    concurrency: Number(values.concurrency),
    hangAfterMs: Number(values['hang-after-s']) * 1000,
    postgres: !values['no-postgres'],
  };
};

const sayWhatLaneHolds = (lane: LaneName | undefined): void => {
  const holds = LANES.find(({ name }) => name === lane)?.holds;
  console.log(holds === undefined ? 'There are no such tests yet.' : `No tests here yet; lane ${lane} holds ${holds}.`);
};

const runAll = async (
  files: readonly string[],
  options: Options & Readonly<{ env: NodeJS.ProcessEnv; signal: AbortSignal }>,
): Promise<readonly FileVerdict[]> => {
  const requireAll = options.env['GPUAAS_REQUIRE'] === 'all';
  const scratchDir = mkdtempSync(join(tmpdir(), 'gpuaas-run-'));
  const verdicts: FileVerdict[] = [];
  const work = async (waiting: string[]) => {
    for (let file = waiting.shift(); file !== undefined && !options.signal.aborted; file = waiting.shift()) {
      const hangAfterMs = options.hangAfterMs * (tierOf(file) === 'node' ? NODE_TIER_PATIENCE : 1);
      const verdict = judgeFile(await runFile({ ...options, hangAfterMs, file, scratchDir }), { requireAll });
      console.log(fileLine(verdict));
      verdicts.push(verdict);
    }
  };
  try {
    // The slow tier comes last and one file after the other: its machines take all there is.
    const ofTier = (tier: Tier): string[] => files.filter((file) => tierOf(file) === tier);
    const fast = ofTier('fast');
    await Promise.all(Array.from({ length: options.concurrency }, () => work(fast)));
    await work(ofTier('node'));
  } finally {
    rmSync(scratchDir, { recursive: true, force: true });
  }
  return verdicts.sort((a, b) => (a.file < b.file ? -1 : 1));
};

const main = async (options: Options): Promise<number> => {
  const files = selectFiles(options);
  if (files.length === 0) {
    sayWhatLaneHolds(options.lane);
    console.log(closingLine({ passed: 0, failed: 0, skipped: 0 }));
    return 0;
  }
  const interrupt = new AbortController();
  const postgres = options.postgres ? await startTestCluster() : undefined;
  process.once('exit', () => postgres?.abandon());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => (interrupt.signal.aborted ? process.exit(130) : interrupt.abort()));

  const env = { ...process.env, ...(postgres ? { GPUAAS_TEST_POSTGRES_URL: postgres.url } : {}) };
  const verdicts = await runAll(files, { ...options, env, signal: interrupt.signal });
  const totals = sum(verdicts);
  const lists = [
    failureList(verdicts.flatMap((verdict) => verdict.failures)),
    skipList(verdicts.flatMap((verdict) => verdict.skips)),
  ].filter(Boolean);
  console.log([...lists, '', closingLine(totals)].join('\n'));
  if (interrupt.signal.aborted) return 130;
  return totals.failed > 0 ? 1 : 0;
};

try {
  process.exitCode = await main(readOptions(process.argv.slice(2)));
} catch (err) {
  console.error((err as Error).message);
  process.exitCode = err instanceof UsageError || err instanceof TypeError ? 2 : 1;
}
