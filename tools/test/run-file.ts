/**
 * Runs one test file in its own process group, so that a hang ends together with all processes that the file started. A
 * file hangs when none of its tests ends for a time; its total duration depends on the host and is not a fault. A file
 * that crashes, ends early, hangs or holds no test has a `problem`, even if tests passed.
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

export type RunFileOptions = Readonly<{
  root: string;
  file: string;
  /** Temporary directory of the run. */
  scratchDir: string;
  hangAfterMs: number;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}>;

const REPORTER = fileURLToPath(new URL('./reporter.ts', import.meta.url));
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

export const runFile = (options: RunFileOptions): Promise<FileResult> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const events = join(options.scratchDir, `${options.file.replaceAll('/', '__')}.jsonl`);
    const { NODE_TEST_CONTEXT: _, ...env } = options.env;
    const home = createTestHome(events.replace(/\.jsonl$/, '.home'));
    const child = spawn(
      process.execPath,
      [`--test-reporter=${REPORTER}`, `--test-reporter-destination=${events}`, join(options.root, options.file)],
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
        resolve({
          file: options.file,
          tests: lines.filter((line) => line.kind === 'test'),
          problem: problem ?? homeProblem,
          durationMs: performance.now() - startedAt,
          output,
        });
      });
    });
  });
