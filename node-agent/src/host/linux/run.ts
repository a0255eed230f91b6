/**
 * The only way the agent starts a program: an argv array, never a shell, with a time limit, an output limit and a clean
 * environment. With a recording nothing is started: the recorded output is read from `commands/` under the name given
 * by the caller.
 */
import { spawn } from 'node:child_process';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';

export type Command = Readonly<{
  argv: readonly [string, ...string[]];
  /** The file of a recording that holds what it printed. */
  recorded: string;
  timeout_ms?: number;
  input?: string;
  /** Become descriptors 3, 4 and on of the program, which names them /proc/self/fd/3. */
  fd?: number | readonly number[];
  /** Its output while it runs: progress. */
  onOutput?(text: string): void;
  /** A program that writes to a disk must not continue when the agent that checked the disk is gone. */
  ends_with_agent?: boolean;
  uid?: number;
  gid?: number;
}>;
export type Ran = Readonly<{ status: number; stdout: string; stderr: string }>;
export type Run = (command: Command) => Promise<Ran>;

const TIMEOUT_MS = 30_000;
const OUTPUT_MAX = 16 * 1024 * 1024;
const KILL_AFTER_MS = 5_000;
const NOT_FOUND = 127;
const WITH_AGENT = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const createRun = (path = PATH): Run => {
  return ({ argv, timeout_ms = TIMEOUT_MS, input, fd = [], uid, gid, onOutput, ends_with_agent = false }) =>
    new Promise((resolve, reject) => {
      const [file] = argv;
      const [program, ...args] = ends_with_agent ? [...WITH_AGENT, ...argv] : argv;
      const child = spawn(program, args, {
        env: { PATH: path, LC_ALL: 'C' },
        cwd: '/',
        stdio: ['pipe', 'pipe', 'pipe', ...(typeof fd === 'number' ? [fd] : fd)],
        ...(uid === undefined ? {} : { uid }),
        ...(gid === undefined ? {} : { gid }),
      });
      const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
      let bytes = 0;
      let failure: HostError | null = null;
      let killer: NodeJS.Timeout | undefined;
      const stop = (error: HostError): void => {
        if (failure !== null) return;
        failure = error;
        child.kill('SIGTERM');
        killer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
      };
      const timer = setTimeout(
        () => stop(new HostError('timeout', `${file} did not end within ${timeout_ms / 1000} s.`)),
        timeout_ms,
      );
      for (const name of ['stdout', 'stderr'] as const)
        child[name]?.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > OUTPUT_MAX) stop(new HostError('host_error', `${file} printed more than ${OUTPUT_MAX} bytes.`));
          else output[name].push(chunk);
          if (name === 'stdout') onOutput?.(chunk.toString('latin1'));
        });
      child.on('error', (error) => {
        clearTimeout(timer);
        clearTimeout(killer);
        const isMissing = 'code' in error && error.code === 'ENOENT';
        reject(
          isMissing
            ? new HostError('unsupported', `${program} is not installed.`, { cause: error })
            : new HostError('host_error', `${file} could not be started: ${error.message}`, { cause: error }),
        );
      });
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        clearTimeout(killer);
        if (failure !== null) reject(failure);
        else if (ends_with_agent && code === NOT_FOUND)
          reject(new HostError('unsupported', `${file} is not installed.`));
        else if (code === null) reject(new HostError('host_error', `${file} was ended by ${signal ?? 'a signal'}.`));
        else
          resolve({
            status: code,
            stdout: Buffer.concat(output.stdout).toString('utf8'),
            stderr: Buffer.concat(output.stderr).toString('utf8'),
          });
      });
      // A program that does not read its input closes it early; its status shows the outcome.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
};

export const createRecordedRun =
  (files: Files): Run =>
  async ({ argv: [file], recorded }) => {
    const stdout = await files.find(`/commands/${recorded}`);
    if (stdout === null)
      throw new HostError('unsupported', `The recording holds nothing of ${file} (commands/${recorded}).`);
    return { status: 0, stdout, stderr: '' };
  };

/** Its output, or an error with its last line. */
export const outputOf = async (run: Run, command: Command): Promise<string> => {
  const { status, stdout, stderr } = await run(command);
  if (status === 0) return stdout;
  const said = (stderr || stdout).trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  throw new HostError('host_error', `${command.argv[0]} failed with status ${status}${said ? `: ${said}` : ''}.`);
};

export const jsonOf = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HostError('host_error', `${what} did not print JSON.`, { cause: error });
  }
};
