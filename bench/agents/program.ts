/** A program of this benchmark: a separate Node process that is controlled over its channel, one request at a time. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { stopChild } from '../child.ts';

export type Program = Readonly<{
  child: ChildProcess;
  /** A message without a response. */
  tell(message: object): void;
  ask<T>(message: object | string): Promise<T>;
  /** The first line of output that `pick` accepts. */
  line(pick: (line: string) => string | undefined): Promise<string>;
  stop(): Promise<void>;
}>;

const PROBE = new URL('probe.ts', import.meta.url).href;

export const startProgram = (file: string, args: readonly string[], env: Record<string, string>): Program => {
  const child = spawn(process.execPath, ['--expose-gc', '--import', PROBE, file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${file} ended (${code ?? signal})`);
  });
  // A waiting caller gets the rejection; without one it must not count as unhandled.
  ended.catch(() => {});
  const output = child.stdout;
  if (output === null) throw new Error('the output of a program is a pipe');
  return {
    child,
    tell: (message) => void child.send(message),
    ask: async <T>(message: object | string) => {
      const answered = once(child, 'message').then(([answer]) => answer as T);
      child.send(message);
      return Promise.race([answered, ended]);
    },
    line: async (pick) => {
      for await (const line of createInterface({ input: output })) {
        const found = pick(line);
        if (found === undefined) continue;
        output.resume();
        return found;
      }
      return ended;
    },
    stop: () => stopChild(child),
  };
};
