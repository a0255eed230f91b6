/** A server as its own process, of this or another build, and callers that reach it over HTTP. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { invariant } from '@gpuaas/kit';
import type { Caller } from './app.ts';
import { TEST_KEYS } from './secrets.ts';
import { until } from './until.ts';

export type ServerProcess = Readonly<{
  /** Where it listens: also while it waits for the schema. */
  url(): string;
  status(path: string): Promise<number>;
  /** What it logs, by the start of the message. */
  hasLogged(message: string): boolean;
  /** Ends it as a supervisor does; rejects when it failed. */
  stop(): Promise<void>;
  /** Ends it in the middle of its work. */
  kill(): Promise<void>;
}>;

const NO_LIMIT = '100000000';
const STARTS_WITHIN_MS = 60_000;

export const startServerProcess = async (
  t: Readonly<{ after(fn: () => Promise<void>): void }>,
  options: Readonly<{
    /** The root of the build. */
    root: string;
    database_url: string;
    issuer_url: string;
  }>,
): Promise<ServerProcess> => {
  const stateDir = await mkdtemp(join(tmpdir(), 'gpuaas-test-'));
  const roles = 'gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay';
  const child = spawn(process.execPath, [join(options.root, 'server/src/main.ts'), '--roles', roles], {
    cwd: options.root,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: options.database_url,
      GPUAAS_OIDC_ISSUER: options.issuer_url,
      GPUAAS_STATE_DIR: stateDir,
      GPUAAS_PORT: '0',
      GPUAAS_PLATFORM_KEY: (TEST_KEYS.platform_keys.get(1) ?? Buffer.alloc(0)).toString('base64'),
      GPUAAS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
      GPUAAS_ANONYMOUS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
      GPUAAS_LIMITS: `all=${NO_LIMIT}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const lines: Readonly<{ message?: string; port?: number }>[] = [];
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => {
    said = (said + bytes.toString()).slice(-5_000);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    said = `${said}${line}\n`.slice(-5_000);
    if (line.startsWith('{')) lines.push(JSON.parse(line));
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(async () => {
    if (isRunning()) await kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  await until(
    'the process to listen',
    () => {
      assert.ok(isRunning(), `it ended:\n${said}`);
      return lines.some(({ port }) => port !== undefined);
    },
    STARTS_WITHIN_MS,
  );
  const url = () => `http://127.0.0.1:${lines.findLast(({ port }) => port !== undefined)?.port}`;
  return {
    url,
    status: (path) =>
      fetch(`${url()}${path}`).then(
        ({ status }) => status,
        () => 0,
      ),
    hasLogged: (message) => lines.some((line) => line.message?.startsWith(message)),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      assert.equal(child.exitCode, 0, said);
    },
    kill,
  };
};

/** Requests go to each server of the list in turn, as behind a load balancer; the list may change. They wait for one. */
export const callerOf = (servers: readonly ServerProcess[], token: string): Caller => {
  let turn = 0;
  const call: Caller['call'] = async (method, path, body, headers = {}) => {
    await until('a server', () => servers.length > 0, STARTS_WITHIN_MS);
    const server = servers[turn++ % servers.length];
    invariant(server !== undefined, 'there is a server');
    const response = await fetch(`${server.url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
    return {
      status: response.status,
      body: isJson ? JSON.parse(text) : text,
      headers: Object.fromEntries(response.headers),
    };
  };
  return {
    token,
    call,
    get: (path) => call('GET', path),
    post: (path, body, headers = {}) => call('POST', path, body, { 'idempotency-key': randomUUID(), ...headers }),
  };
};
