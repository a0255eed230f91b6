/** The server of the lab: a child process whose log goes to a file and whose readiness is polled over HTTP. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { findProcessIdentity, invariant, pause } from '@gpuaas/kit';
import { REPO, type Settings } from './settings.ts';
import { rotate, type StatePaths } from './state.ts';
import { stopProcess } from './stop.ts';

export type LabServer = Readonly<{
  identity: string;
  /** How it ended, in words. */
  ended: Promise<string>;
  stop(): Promise<void>;
}>;

const READY_WITHIN_MS = 90_000;
const STOP_WITHIN_MS = 25_000;

const ensureFree = (port: number, host: string, variable: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (err: NodeJS.ErrnoException) => {
      const reason = err.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${err.code ?? err.message})`;
      reject(new Error(`Port ${port} ${reason}. Choose another: make up ${variable}=${port + 1}`));
    });
    probe.listen(port, host, () => probe.close(() => resolve()));
  });

export const ensurePortsFree = async (settings: Settings): Promise<void> => {
  await ensureFree(settings.port, settings.host, 'GPUAAS_PORT');
  await ensureFree(settings.nodeApiPort, '127.0.0.1', 'GPUAAS_NODE_API_PORT');
  await ensureFree(settings.gatewayPort, settings.host, 'GPUAAS_GATEWAY_PORT');
  await ensureFree(settings.gatewayAgentPort, '127.0.0.1', 'GPUAAS_GATEWAY_AGENT_PORT');
};

export const startServer = (
  settings: Settings,
  paths: StatePaths,
  given: Readonly<{ databaseUrl: string; devPassword: string }>,
): LabServer => {
  rotate(paths.serverLog);
  const log = openSync(paths.serverLog, 'a', 0o600);
  const args = [join(REPO, 'server/src/main.ts'), '--roles', 'all', '--migrate'];
  // A session of its own: Ctrl-C reaches the supervisor alone, which stops the server before its database.
  const child = spawn(process.execPath, args, {
    cwd: REPO,
    env: {
      // Clients that reach the API from elsewhere also reach sessions from there, unless configured otherwise.
      GPUAAS_GATEWAY_HOST: settings.host,
      ...process.env,
      DATABASE_URL: given.databaseUrl,
      GPUAAS_STATE_DIR: settings.stateDir,
      GPUAAS_PORT: String(settings.port),
      GPUAAS_NODE_API_PORT: String(settings.nodeApiPort),
      GPUAAS_GATEWAY_PORT: String(settings.gatewayPort),
      GPUAAS_GATEWAY_AGENT_PORT: String(settings.gatewayAgentPort),
      GPUAAS_GATEWAY_PUBLIC_URL: settings.gatewayUrl,
      GPUAAS_DEV_PASSWORD: given.devPassword,
    },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (err) => resolve(err.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
  });
  invariant(child.pid !== undefined, 'the server was started');
  const identity = findProcessIdentity(child.pid) ?? `${child.pid}:ended`;
  return { identity, ended, stop: () => stopProcess(identity, STOP_WITHIN_MS) };
};

/** An address that means "every interface" is polled on loopback. */
const loopbackOf = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
};

export const waitUntilReady = async (settings: Settings, signal: AbortSignal): Promise<void> => {
  const url = `http://${loopbackOf(settings.host)}:${settings.port}/readyz`;
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!signal.aborted) {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) }).catch(
      () => null,
    );
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    if (Date.now() > deadline) throw new Error(`it was not ready after ${READY_WITHIN_MS / 1000} s`);
    await pause(50, signal);
  }
};
