/**
 * The runner behind `make test`: every test file in its own process, three at a time, the longest first, on one
 * PostgreSQL and in one browser for the whole run. Ends with one plain line, `N passed, N failed, N skipped`, and exits
 * 1 when anything failed: a test, a file that crashed, hung or held no test, or a skip where GPUAAS_REQUIRE=all allows
 * none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { coverageEnv, isJudge } from './test/coverage.ts';
import { longestFirst, readDurations, rememberDurations } from './test/durations.ts';
import { isEmulatorFault } from './test/emulator-fault.ts';
import { LANES, type LaneName } from './test/lanes.ts';
import { failureList, fileLine, skipList, timeList } from './test/print.ts';
import { runFile } from './test/run-file.ts';
import { selectFiles, TIERS, type Tier, tierOf } from './test/select.ts';
import { needsCommitOrder, startServices } from './test/services.ts';
import { closingLine, type FileVerdict, judgeFile, sum } from './test/verdict.ts';

type Options = Readonly<{
  root: string;
  lane: LaneName | undefined;
  tier: Tier | 'all';
  paths: readonly string[];
  concurrency: number;
  hangAfterMs: number;
  postgres: boolean;
  remember: boolean;
}>;

/** A file may take this many times the usual; one of the node tier may have to build a VM first. */
const PATIENCE: Readonly<Record<Tier, number>> = { fast: 1, slow: 2, node: 3 };

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
      concurrency: { type: 'string', default: '3' },
      'hang-after-s': { type: 'string', default: '600' },
      'no-postgres': { type: 'boolean', default: false },
      remember: { type: 'boolean', default: false },
    },
  });
  const laneNames = LANES.map((lane) => lane.name);
  return {
    root: resolve(values.root),
    lane: values.lane === undefined ? undefined : oneOf('LANE', laneNames, values.lane),
    tier: oneOf('TIER', [...TIERS, 'all'], values.tier),
    paths: positionals,
    concurrency: Number(values.concurrency),
    hangAfterMs: Number(values['hang-after-s']) * 1000,
    postgres: !values['no-postgres'],
    remember: values.remember,
  };
};

const printLane = (lane: LaneName | undefined): void => {
  const holds = LANES.find(({ name }) => name === lane)?.holds;
  console.log(holds === undefined ? 'There are no such tests yet.' : `No tests here yet; lane ${lane} holds ${holds}.`);
};

/** Takes the next file off the queue; of those that need commit order to themselves only one runs at a time. */
const createQueue = (files: readonly string[], root: string) => {
  const waiting = [...files];
  let ordered: string | undefined;
  return {
    take: (): string | undefined => {
      const index = waiting.findIndex((file) => ordered === undefined || !needsCommitOrder(root, file));
      const [file] = index === -1 ? [] : waiting.splice(index, 1);
      if (file !== undefined && needsCommitOrder(root, file)) ordered = file;
      return file;
    },
    putBack: (file: string): void => {
      if (ordered === file) ordered = undefined;
    },
  };
};

type Ran = Readonly<{ verdicts: readonly FileVerdict[]; tierMs: Readonly<Partial<Record<Tier, number>>> }>;

const runAll = async (
  files: readonly string[],
  options: Options & Readonly<{ env: NodeJS.ProcessEnv; signal: AbortSignal }>,
): Promise<Ran> => {
  const requireAll = options.env['GPUAAS_REQUIRE'] === 'all';
  const scratchDir = mkdtempSync(join(tmpdir(), 'gpuaas-run-'));
  // Hundreds of processes load the same modules: compiled once, read from the cache by the rest.
  const shared = { ...options.env, NODE_COMPILE_CACHE: join(scratchDir, 'compiled') };
  const verdicts: FileVerdict[] = [];
  const runOne = async (file: string): Promise<void> => {
    const hangAfterMs = options.hangAfterMs * PATIENCE[tierOf(file)];
    const env = coverageEnv(file, shared, join(scratchDir, 'coverage'));
    const run = async () =>
      judgeFile(await runFile({ ...options, env, hangAfterMs, file, scratchDir }), { requireAll });
    let verdict = await run();
    if (tierOf(file) === 'node' && isEmulatorFault(verdict.failures)) {
      console.log(`${fileLine(verdict)}\nThe emulator of the node failed; running the file once more.`);
      verdict = await run();
    }
    console.log(fileLine(verdict));
    if (verdict.failures.length > 0) console.log(failureList(verdict.failures));
    verdicts.push(verdict);
  };
  const runThese = async (these: readonly string[], workers: number): Promise<void> => {
    const queue = createQueue(these, options.root);
    const work = async () => {
      for (let file = queue.take(); file !== undefined && !options.signal.aborted; file = queue.take()) {
        await runOne(file);
        queue.putBack(file);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
  };
  const tierMs: Partial<Record<Tier, number>> = {};
  try {
    for (const tier of TIERS) {
      const ofTier = files.filter((file) => tierOf(file) === tier);
      if (ofTier.length === 0) continue;
      const startedAt = performance.now();
      // A node uses all resources, so its files run one after the other.
      const workers = tier === 'node' ? 1 : options.concurrency;
      await runThese(
        ofTier.filter((file) => !isJudge(file)),
        workers,
      );
      // Coverage tests need the data that the others collected.
      await runThese(ofTier.filter(isJudge), workers);
      tierMs[tier] = performance.now() - startedAt;
    }
  } finally {
    rmSync(scratchDir, { recursive: true, force: true });
  }
  return { verdicts: verdicts.sort((a, b) => (a.file < b.file ? -1 : 1)), tierMs };
};

const main = async (options: Options): Promise<number> => {
  const files = selectFiles(options);
  if (files.length === 0) {
    printLane(options.lane);
    console.log(closingLine({ passed: 0, failed: 0, skipped: 0 }));
    return 0;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => (interrupt.signal.aborted ? process.exit(130) : interrupt.abort()));
  const services = await startServices(options.root, files, options);

  const env = { ...process.env, ...services.env };
  const ordered = longestFirst(files, readDurations(options.root));
  const { verdicts, tierMs } = await runAll(ordered, { ...options, env, signal: interrupt.signal });
  await services.stop();
  if (options.remember) rememberDurations(options.root, verdicts);
  const totals = sum(verdicts);
  const lists = [
    failureList(verdicts.flatMap((verdict) => verdict.failures)),
    skipList(verdicts.flatMap((verdict) => verdict.skips)),
    timeList(verdicts, tierMs),
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
