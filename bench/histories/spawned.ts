/**
 * A server process of a history as a process of the operating system: as shipped, reached over HTTP, and killed by
 * SIGKILL. It starts in seconds, and its clock and its leases are the real ones, so few histories use it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../e2e/sim/platform.ts';
import { TEST_KEYS } from '../../server/test/secrets.ts';
import { Killed, openDatabaseValve, type ProcessOptions, type ServerProcess, settingsOf } from './process.ts';

const REPO = fileURLToPath(new URL('../..', import.meta.url));
const SAID_MAX = 5_000;

const keyText = (ring: ReadonlyMap<number, Buffer>): string =>
  [...ring].map(([version, key]) => `${version}:${key.toString('base64')}`).join(',');

type Line = Readonly<{ message?: string; host?: string; port?: number }>;

export const spawnServerProcess = async (options: ProcessOptions): Promise<ServerProcess> => {
  const { valve, url } = await openDatabaseValve(options);
  const isSigning = options.roles.includes('gpuaas-node-api');
  const child = spawn(process.execPath, ['server/src/main.ts', '--roles', options.roles], {
    cwd: REPO,
    env: {
      PATH: process.env['PATH'],
      ...settingsOf(options, url),
      GPUAAS_PLATFORM_KEY: keyText(TEST_KEYS.platform_keys),
      ...(isSigning ? { GPUAAS_TRUST_KEY: keyText(TEST_KEYS.trust_keys) } : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let said = '';
  const ports = new Map<string, number>();
  const keep = (text: string): void => {
    said = `${said}${text}\n`.slice(-SAID_MAX);
  };
  child.stderr.on('data', (bytes: Buffer) => keep(bytes.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => {
    keep(line);
    if (!line.startsWith('{')) return;
    const { message, port }: Line = JSON.parse(line);
    if (message !== undefined && port !== undefined) ports.set(message, port);
  });
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const killed = Promise.withResolvers<never>();
  killed.promise.catch(() => {});
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (isRunning()) {
      child.kill(signal);
      await ended;
    }
    await valve.close();
  };
  const awaited = isSigning ? ['listening', 'listening for agents'] : ['listening'];
  await eventually(`the process of ${options.roles} listens`, () => {
    if (!isRunning()) throw new Error(`${options.roles} ended:\n${said}`);
    return awaited.every((message) => ports.has(message)) || undefined;
  });
  const base = `http://127.0.0.1:${ports.get('listening')}`;
  return {
    url: base,
    node_api_url: isSigning ? `https://127.0.0.1:${ports.get('listening for agents')}` : null,
    request: async ({ method, path, headers, payload }) => {
      try {
        const answer = await fetch(`${base}${path}`, {
          method,
          headers,
          ...(payload === undefined ? {} : { body: payload }),
        });
        const content_type = answer.headers.get('content-type') ?? '';
        return { status: answer.status, content_type, text: await answer.text() };
      } catch (err) {
        // A connection that broke says nothing about the request.
        throw new Killed('The process does not respond.', { cause: err });
      }
    },
    valve,
    killed: killed.promise,
    kill: async () => {
      killed.reject(new Killed('The process was killed.'));
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
  };
};
