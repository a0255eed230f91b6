/** A real nats-server with JetStream on a free loopback port, which tests may kill, start again and rob of its store. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { findProgram } from '../../tools/test/requires.ts';

export type TestNats = Readonly<{
  url: string;
  start(): Promise<void>;
  /** Ends the process as a crash would. */
  kill(): Promise<void>;
  /** Removes everything that JetStream has stored; only while the server is down. */
  wipe(): void;
}>;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1');
    socket.once('data', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('data', () => socket.destroy());
  });

export const startNats = async (t: Readonly<{ after(fn: () => Promise<void>): void }>): Promise<TestNats> => {
  const program = findProgram('nats-server');
  if (program === undefined) throw new Error('nats-server is not installed');
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-nats-'));
  const store = join(dir, 'store');
  let child: ChildProcess | undefined;

  const start = async () => {
    child = spawn(program, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', store], { stdio: 'ignore' });
    const started = child;
    while (!(await accepts(port))) {
      if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}`);
      await pause(20);
    }
  };
  const kill = async () => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill('SIGKILL');
    await gone;
  };
  t.after(async () => {
    await kill();
    rmSync(dir, { recursive: true, force: true });
  });
  await start();
  return { url: `nats://127.0.0.1:${port}`, start, kill, wipe: () => rmSync(store, { recursive: true, force: true }) };
};
