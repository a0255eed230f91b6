/**
 * The simulated hosts of `make up`: a child process like the server, with a log file of its own. When it ends it is
 * restarted, as a service manager restarts an agent.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { backoffMs, findProcessIdentity, pause } from '@gpuaas/kit';
import { REPO, type Settings } from './settings.ts';
import { rotate, type StatePaths } from './state.ts';
import { stopProcess } from './stop.ts';

const STOP_WITHIN_MS = 10_000;
const RESTART = { baseMs: 1_000, capMs: 30_000 };

const argsOf = (settings: Settings, paths: StatePaths): readonly string[] => [
  fileURLToPath(new URL('main.ts', import.meta.url)),
  'fleet',
  '--demo',
  ...['--dir', paths.fleetDir],
  ...['--url', settings.publicUrl],
  ...['--node-api-url', `https://localhost:${settings.nodeApiPort}`],
  // With an external issuer no password is known here: then only enrolled hosts run.
  ...(settings.issuer === undefined ? ['--dev'] : []),
];

export const startFleetProcess = (
  settings: Settings,
  paths: StatePaths,
  on: Readonly<{ start(identity: string): void; hostsReady(count: number): void }>,
): Readonly<{ stop(): Promise<void> }> => {
  rotate(paths.fleetLog);
  const stopping = new AbortController();
  let current: string | undefined;

  const runOnce = (): Promise<void> => {
    const log = openSync(paths.fleetLog, 'a', 0o600);
    // A session of its own: Ctrl-C reaches the supervisor alone.
    const child = spawn(process.execPath, argsOf(settings, paths), {
      cwd: REPO,
      env: { ...process.env, GPUAAS_STATE_DIR: settings.stateDir },
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    });
    closeSync(log);
    child.on('message', (count) => on.hostsReady(Number(count)));
    const ended = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', () => resolve());
    });
    if (child.pid !== undefined) {
      current = findProcessIdentity(child.pid);
      if (current !== undefined) on.start(current);
    }
    return ended;
  };
  const keepRunning = async (): Promise<void> => {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      await runOnce();
      await pause(backoffMs(attempt, RESTART), stopping.signal);
    }
  };
  const running = keepRunning();
  return {
    stop: async () => {
      stopping.abort();
      if (current !== undefined) await stopProcess(current, STOP_WITHIN_MS);
      await running;
    },
  };
};
