/**
 * The runner behind `make test`: three processes at a time, the longest first, on one PostgreSQL and in one browser for
 * the whole run. A file has a process of its own; short ones share one (sharing.ts), and what fails there runs once more
 * alone. Ends with one plain line, `N passed, N failed, N skipped`, and exits 1 when anything failed: a test, a file that
 * crashed, hung or held no test, or a skip where GPUAAS_REQUIRE=all allows none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { coverageEnv, isJudge, judgeOf } from './test/coverage.ts';
import { type Durations, readDurations, rememberDurations } from './test/durations.ts';
import { isEmulatorFault } from './test/emulator-fault.ts';
import { LANES, type LaneName } from './test/lanes.ts';
import { failureList, fileLine, findingList, skipList, timeList } from './test/print.ts';
import { type Finding, runUnit } from './test/run-unit.ts';
import { selectFiles, TIERS, type Tier, tierOf } from './test/select.ts';
import { needsCommitOrder, startServices } from './test/services.ts';
import { type Unit, unitsOf } from './test/sharing.ts';
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

/**
 * Takes the next unit off the queue. Of those that need commit order to themselves only one runs at a time, and a coverage
 * test waits for the files it judges. Whoever runs what a unit waits for takes it afterwards.
 */
const createQueue = (units: readonly Unit[], root: string) => {
  const waiting = [...units];
  const running = new Set<Unit>();
  const isOrdered = (unit: Unit): boolean => unit.some((file) => needsCommitOrder(root, file));
  const isJudgedBy = (unit: Unit, judges: Unit): boolean => unit.some((file) => judges.includes(judgeOf(file) ?? ''));
  const mayStart = (unit: Unit): boolean => {
    if (isOrdered(unit) && [...running].some(isOrdered)) return false;
    return !unit.some(isJudge) || ![...waiting, ...running].some((other) => isJudgedBy(other, unit));
  };
  return {
    take: (): Unit | undefined => {
      const index = waiting.findIndex(mayStart);
      const [unit] = index === -1 ? [] : waiting.splice(index, 1);
      if (unit !== undefined) running.add(unit);
      return unit;
    },
    putBack: (unit: Unit): void => void running.delete(unit),
  };
};

type Ran = Readonly<{
  verdicts: readonly FileVerdict[];
  findings: readonly Finding[];
  tierMs: Readonly<Partial<Record<Tier, number>>>;
}>;

const runAll = async (
  files: readonly string[],
  options: Options & Readonly<{ env: NodeJS.ProcessEnv; signal: AbortSignal; durations: Durations }>,
): Promise<Ran> => {
  const requireAll = options.env['GPUAAS_REQUIRE'] === 'all';
  const scratchDir = mkdtempSync(join(tmpdir(), 'gpuaas-run-'));
  // Hundreds of processes load the same modules: compiled once, read from the cache by the rest.
  const shared = { ...options.env, NODE_COMPILE_CACHE: join(scratchDir, 'compiled') };
  const verdicts: FileVerdict[] = [];
  const findings: Finding[] = [];
  const runOne = async (unit: Unit): Promise<void> => {
    const [first = ''] = unit;
    const hangAfterMs = options.hangAfterMs * PATIENCE[tierOf(first)];
    const env = coverageEnv(unit, shared, join(scratchDir, 'coverage'));
    const run = async (): Promise<readonly FileVerdict[]> => {
      const ran = await runUnit(unit, { ...options, env, hangAfterMs, scratchDir });
      findings.push(...ran.findings);
      return ran.results.map((result) => judgeFile(result, { requireAll }));
    };
    let judged = await run();
    if (tierOf(first) === 'node' && isEmulatorFault(judged.flatMap(({ failures }) => failures))) {
      console.log(`${judged.map(fileLine).join('\n')}\nThe emulator of the node failed; running the file once more.`);
      judged = await run();
    }
    for (const verdict of judged) {
      console.log(fileLine(verdict));
      if (verdict.failures.length > 0) console.log(failureList(verdict.failures));
    }
    verdicts.push(...judged);
  };
  const times: Partial<Record<Tier, { from: number; to: number }>> = {};
  const runThese = async (units: readonly Unit[], workers: number): Promise<void> => {
    const queue = createQueue(units, options.root);
    const work = async () => {
      for (let unit = queue.take(); unit !== undefined && !options.signal.aborted; unit = queue.take()) {
        const from = performance.now();
        await runOne(unit);
        queue.putBack(unit);
        const tier = tierOf(unit[0] ?? '');
        times[tier] = { from: Math.min(times[tier]?.from ?? from, from), to: performance.now() };
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
  };
  const unitsOfTier = (tier: Tier): readonly Unit[] => {
    const ofTier = files.filter((file) => tierOf(file) === tier);
    return unitsOf(options.root, ofTier, options.durations);
  };
  try {
    // The slow tier starts while the last fast files run.
    await runThese([...unitsOfTier('fast'), ...unitsOfTier('slow')], options.concurrency);
    // A node uses all resources, so its files run after all others, one after the other.
    await runThese(unitsOfTier('node'), 1);
  } finally {
    rmSync(scratchDir, { recursive: true, force: true });
  }
  const tierMs: Partial<Record<Tier, number>> = {};
  for (const tier of TIERS) {
    const time = times[tier];
    if (time !== undefined) tierMs[tier] = time.to - time.from;
  }
  return { verdicts: verdicts.sort((a, b) => (a.file < b.file ? -1 : 1)), findings, tierMs };
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
  const durations = readDurations(options.root);
  const { verdicts, findings, tierMs } = await runAll(files, { ...options, env, durations, signal: interrupt.signal });
  await services.stop();
  if (options.remember) rememberDurations(options.root, verdicts);
  const totals = sum(verdicts);
  const lists = [
    failureList(verdicts.flatMap((verdict) => verdict.failures)),
    skipList(verdicts.flatMap((verdict) => verdict.skips)),
    findingList(findings),
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
