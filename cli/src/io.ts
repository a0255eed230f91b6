/**
 * Everything outside the program that one run uses: streams, environment, working directory and interruption. Commands
 * reach these only through `Cli`, so that a run is the same in its own process and inside another program.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

export type Env = Readonly<Record<string, string | undefined>>;

export type Input = Readable & { isTTY?: boolean; setRawMode?(mode: boolean): unknown };
export type Screen = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export type Io = Readonly<{
  env: Env;
  cwd: string;
  stdin: Input;
  stdout: Screen;
  stderr: Screen;
  /** Aborted with `Interrupted` by Ctrl-C or a request to stop. */
  signal: AbortSignal;
  /** The command line that starts this program again: runtime, its flags, file. */
  self: readonly string[];
}>;

/** The path of a file named on the command line. */
export const pathOf = ({ cwd }: Io, file: string): string => resolve(cwd, file);

/** The content of a file named on the command line, of standard input for `-`, or null if it cannot be read. */
export const readNamed = (io: Io, file: string): Promise<string | null> =>
  file === '-' ? text(io.stdin) : readFile(pathOf(io, file), 'utf8').catch(() => null);
