/**
 * Runs a command line inside the test process. Streams, environment, working directory and interruption are injected,
 * so that the state of the test process is neither read nor written. No CLI module keeps state between runs.
 */
import { PassThrough, Readable } from 'node:stream';
import { Interrupted } from '../src/exit.ts';
import type { Screen } from '../src/io.ts';
import { run } from '../src/run.ts';

export type RunOptions = Readonly<{
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  self: readonly string[];
  stdin?: string | undefined;
  /** Interrupt once standard output or standard error contains this text. */
  interruptAfter?: string | undefined;
}>;

export type RunResult = Readonly<{ stdout: string; stderr: string; code: number | null }>;

export const runCommand = async (argv: readonly string[], options: RunOptions): Promise<RunResult> => {
  const written = { stdout: '', stderr: '' };
  const controller = new AbortController();
  const screen = (name: 'stdout' | 'stderr'): Screen => {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => {
      written[name] += chunk.toString();
      if (options.interruptAfter !== undefined && written[name].includes(options.interruptAfter))
        controller.abort(new Interrupted('Interrupted.'));
    });
    return stream;
  };
  const [stdout, stderr] = [screen('stdout'), screen('stderr')];
  const stdin = Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]);
  const { env, cwd, self } = options;
  const code = await run(argv, { env, cwd, self, stdin, stdout, stderr, signal: controller.signal });
  for (const stream of [stdout, stderr]) await new Promise((resolve) => stream.once('end', resolve).end());
  return { ...written, code };
};
