/**
 * One line on standard error that shows what is being waited for and the elapsed time. A terminal gets a line that
 * updates in place; a log gets a new line only when the state changes.
 */
import { GpuaasError, type WaitOptions, wait } from '@gpuaas/sdk';
import { clean, truncate } from './clean.ts';
import { CliError, Interrupted } from './exit.ts';
import type { Io, Screen } from './io.ts';

export type Progress = Readonly<{ update(text: string): void; end(): void }>;

const FRAMES = ['-', '\\', '|', '/'];

export const createProgress = (stream: Screen): Progress => {
  const startedAt = Date.now();
  let shown = '';
  let frame = 0;
  const draw = () => {
    const seconds = Math.floor((Date.now() - startedAt) / 1000);
    const line = `${FRAMES[frame++ % FRAMES.length]} ${shown} (${seconds} s)`;
    stream.write(`\r\u001b[2K${truncate(line, (stream.columns || 80) - 1)}`);
  };
  const timer = stream.isTTY ? setInterval(draw, 200) : undefined;
  return {
    update: (text) => {
      const next = clean(text);
      if (next === shown) return;
      shown = next;
      if (stream.isTTY) draw();
      else stream.write(`${next}\n`);
    },
    end: () => {
      clearInterval(timer);
      if (stream.isTTY) stream.write('\r\u001b[2K');
    },
  };
};

type NextCommand = Readonly<{ resume: string; undo?: string }>;

/** After a timeout or Ctrl-C the work continues, so the error names the commands that show progress or undo it. */
export const explained = (err: unknown, { resume, undo }: NextCommand): unknown => {
  const look = `Check progress: ${resume}`;
  if (err instanceof GpuaasError && err.code === 'timeout') return new CliError('timeout', err.detail, look);
  if (err instanceof Interrupted) return new CliError('interrupted', 'Interrupted; still running.', undo ?? look);
  return err;
};

/**
 * Waits with progress. After a timeout the work continues, so the error names the command that resumes the wait. Ctrl-C
 * does not ask: it prints how to undo what was started, if that is possible.
 */
export const waitWithProgress = async <T>(
  { stderr }: Pick<Io, 'stderr'>,
  read: () => Promise<T>,
  options: WaitOptions<T> & NextCommand & Readonly<{ describe: (value: T) => string }>,
): Promise<T> => {
  const progress = createProgress(stderr);
  try {
    return await wait(read, { ...options, onValue: (value) => progress.update(options.describe(value)) });
  } catch (err) {
    progress.end();
    throw explained(err, options);
  } finally {
    progress.end();
  }
};
