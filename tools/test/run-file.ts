/**
 * Runs a test file, or several of them, in a process group of its own, so that a hang ends together with all processes
 * that a file started. A file hangs when none of its tests ends for a time; its total duration depends on the host and
 * is not a fault. A file that crashes, ends early, hangs or holds no test has a `problem`, even if tests passed.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestHome } from './home.ts';
import type { ReportedLine, ReportedTest } from './reporter.ts';

export type FileResult = Readonly<{
  file: string;
  tests: readonly ReportedTest[];
  problem: string | undefined;
  durationMs: number;
  /** The end of the file's output. */
  output: string;
}>;

export type RunOptions = Readonly<{
  root: string;
  /** Temporary directory of the run. */
  scratchDir: string;
  hangAfterMs: number;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}>;

type ProcessResult = Readonly<{
  lines: readonly ReportedLine[];
  problem: string | undefined;
  durationMs: number;
  output: string;
}>;

const REPORTER = fileURLToPath(new URL('./reporter.ts', import.meta.url));
const SHARED = fileURLToPath(new URL('./shared.ts', import.meta.url));
const OUTPUT_CHARS_MAX = 20_000;
const GRACE_MS = 5_000;

const killGroup = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-pid, signal);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
};

const readEvents = (file: string): ReportedLine[] => {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // The text after the last newline is empty, or a line that a killed process left half-written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as ReportedLine);
};

type Ending = Readonly<{ code: number | null; signal: NodeJS.Signals | null; hung: boolean; stopped: boolean }>;

const findProblem = (ending: Ending, lines: readonly ReportedLine[], hangAfterMs: number): string | undefined => {
  const tests = lines.filter((line) => line.kind === 'test');
  if (ending.stopped) return 'was interrupted';
  if (ending.hung) return `hung: no test ended for ${hangAfterMs / 1000} s`;
  if (ending.signal !== null) return `was ended by ${ending.signal}`;
  if (ending.code !== 0 && !tests.some((test) => test.outcome === 'failed'))
    return `crashed with exit code ${ending.code}`;
  if (tests.length === 0) return 'ran no tests';
  if (!lines.some((line) => line.kind === 'end')) return 'ended before its tests were through';
  return undefined;
};

/** `named` names the temporary files of this process, `args` is its program. */
const runProcess = (named: string, args: readonly string[], options: RunOptions): Promise<ProcessResult> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const events = join(options.scratchDir, `${named.replaceAll('/', '__')}.jsonl`);
    const { NODE_TEST_CONTEXT: _, ...env } = options.env;
    const home = createTestHome(events.replace(/\.jsonl$/, '.home'));
    const child = spawn(
      process.execPath,
      [`--test-reporter=${REPORTER}`, `--test-reporter-destination=${events}`, ...args],
      { cwd: options.root, env: { ...env, ...home.env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    );
    let output = '';
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-OUTPUT_CHARS_MAX);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);

    let hung = false;
    let killTimer: NodeJS.Timeout | undefined;
    const end = () => {
      if (child.pid === undefined) return;
      killGroup(child.pid, 'SIGTERM');
      killTimer = setTimeout(() => child.pid && killGroup(child.pid, 'SIGKILL'), GRACE_MS);
    };
    let reported = 0;
    const hangTimer = setTimeout(() => {
      const size = statSync(events, { throwIfNoEntry: false })?.size ?? 0;
      if (size > reported) {
        reported = size;
        hangTimer.refresh();
        return;
      }
      hung = true;
      end();
    }, options.hangAfterMs);
    options.signal.addEventListener('abort', end, { once: true });

    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(hangTimer);
      clearTimeout(killTimer);
      options.signal.removeEventListener('abort', end);
      // Leftover processes of the file would keep its output open, and outlive the run.
      if (child.pid !== undefined) killGroup(child.pid, 'SIGKILL');
      child.once('close', () => {
        const lines = readEvents(events);
        rmSync(events, { force: true });
        const problem = findProblem(
          { code, signal, hung, stopped: options.signal.aborted },
          lines,
          options.hangAfterMs,
        );
        const homeProblem = home.problem();
        home.remove();
        resolve({ lines, problem: problem ?? homeProblem, durationMs: performance.now() - startedAt, output });
      });
    });
  });

export const runFile = async (file: string, options: RunOptions): Promise<FileResult> => {
  const { lines, ...ran } = await runProcess(file, [join(options.root, file)], options);
  return { ...ran, file, tests: lines.filter((line) => line.kind === 'test') };
};

export type SharedResult = Readonly<{
  /** Of the files that started; a file has a `problem` when its tests were not through. */
  results: readonly FileResult[];
  /** Of the whole process. */
  problem: string | undefined;
  output: string;
}>;

/** Runs the files one after the other in one process. */
export const runShared = async (files: readonly string[], options: RunOptions): Promise<SharedResult> => {
  const { lines, problem, output } = await runProcess(`${files[0]}+`, [SHARED, ...files], options);
  const results: FileResult[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.kind !== 'file') continue;
    const next = lines.slice(index + 1).find((other) => other.kind === 'file');
    const own = lines.slice(index + 1, next && lines.indexOf(next));
    const tests = own.filter((other) => other.kind === 'test');
    const isThrough = own.some((other) => other.kind === 'file-end');
    results.push({
      file: line.file,
      tests,
      problem: isThrough ? (tests.length === 0 ? 'ran no tests' : undefined) : (problem ?? 'did not end'),
      durationMs: (next?.startedAt ?? Date.now()) - line.startedAt,
      output,
    });
  }
  return { results, problem, output };
};
