/**
 * A real nats-server with JetStream on a free loopback port, which tests may kill, restart and deprive of its store.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { findProgram } from '../../tools/test/requires.ts';
import { STREAM } from '../src/ports/events/nats.ts';

export type StoredMessage = Readonly<{ subject: string; id: string; body: Record<string, unknown> }>;

export type TestNats = Readonly<{
  url: string;
  start(): Promise<void>;
  /** Ends the process as a crash would. */
  kill(): Promise<void>;
  /** Stops responding without closing anything, until `start`. */
  stall(): Promise<void>;
  /** Removes everything that JetStream has stored; only while the server is down. */
  wipe(): void;
  /** Removes the stream under the running server. */
  removeStream(): Promise<void>;
  /** Everything the stream holds, in its order. */
  stored(): Promise<StoredMessage[]>;
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

/** Whether every thread of the process has stopped; true where the system does not report it. */
const isStopped = (pid: number): boolean => {
  const threads = `/proc/${pid}/task`;
  if (!existsSync(threads)) return true;
  return readdirSync(threads).every((thread) => /\) [Tt] /.test(readFileSync(`${threads}/${thread}/stat`, 'utf8')));
};

export const startNats = async (t: Readonly<{ after(fn: () => Promise<void>): void }>): Promise<TestNats> => {
  const program = findProgram('nats-server');
  if (program === undefined) throw new Error('nats-server is not installed');
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-nats-'));
  const store = join(dir, 'store');
  let child: ChildProcess | undefined;

  const start = async () => {
    if (child !== undefined) {
      child.kill('SIGCONT');
      return;
    }
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
  const manage = async <T>(act: (manager: JetStreamManager) => Promise<T>): Promise<T> => {
    const connection = await connect({ servers: `127.0.0.1:${port}`, reconnect: false });
    try {
      return await act(await jetstreamManager(connection));
    } finally {
      await connection.close();
    }
  };
  const stored = () =>
    manage(async (manager) => {
      const messages: StoredMessage[] = [];
      const info = await manager.streams.info(STREAM).catch((err: unknown) => {
        if (err instanceof JetStreamApiError && err.code === JetStreamApiCodes.StreamNotFound) return undefined;
        throw err;
      });
      if (info === undefined) return messages;
      const { state } = info;
      for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
        const message = await manager.streams.getMessage(STREAM, { seq });
        if (message)
          messages.push({
            subject: message.subject,
            id: message.header.get('Nats-Msg-Id'),
            body: message.json<Record<string, unknown>>(),
          });
      }
      return messages;
    });
  t.after(async () => {
    await kill();
    rmSync(dir, { recursive: true, force: true });
  });
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    start,
    kill,
    stall: async () => {
      const pid = child?.pid;
      if (pid === undefined) return;
      process.kill(pid, 'SIGSTOP');
      // The signal stops one thread after the other; until the last has stopped, the server may still respond.
      while (!isStopped(pid)) await pause(5);
    },
    wipe: () => rmSync(store, { recursive: true, force: true }),
    removeStream: () => manage(async (manager) => void (await manager.streams.delete(STREAM))),
    stored,
  };
};
