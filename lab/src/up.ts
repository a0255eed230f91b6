/**
 * `make up`. In the foreground it supervises the lab itself until Ctrl-C; with --detach it starts a supervisor of its
 * own session and returns when that one is ready or has failed.
 */
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pause } from '@gpuaas/kit';
import { ensureConsole } from '../../tools/build-console.ts';
import { ensureReference } from '../../tools/build-reference.ts';
import { banner, hostsLine } from './banner.ts';
import { findLiveRun, pidOf, type Run } from './run-file.ts';
import { readSettings, type Settings } from './settings.ts';
import { ensureDevPassword, ensureState, statePaths } from './state.ts';
import { supervise } from './supervise.ts';

const heldMessage = (run: Run): string =>
  `${run.ready ? 'already running' : 'already starting'}: ${run.url} (pid ${pidOf(run.supervisor)})`;

const stopOnSignals = (): AbortSignal => {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
  return stop.signal;
};

const superviseHere = async (settings: Settings, announce: boolean): Promise<number> => {
  const ending = await supervise({
    settings,
    signal: stopOnSignals(),
    onHostsReady: (count) => {
      if (announce) console.log(hostsLine(count));
    },
    onReady: ({ paths, devPassword, hostsReady }) => {
      if (announce) console.log(banner(settings, paths, { devPassword, hostsReady, detached: false }));
    },
    onStopping: () => console.log('\nStopping ...'),
  });
  switch (ending.kind) {
    case 'held':
      console.log(heldMessage(ending.by));
      return 0;
    case 'stopped':
      console.log('Stopped.');
      return 0;
    case 'failed':
      console.error(ending.reason);
      return 1;
  }
};

/** Returns when the other start is ready, or reports that it failed. */
const reportHeld = async (runFile: string): Promise<number> => {
  for (let run = findLiveRun(runFile); run !== undefined; run = findLiveRun(runFile)) {
    if (run.ready) {
      console.log(heldMessage(run));
      return 0;
    }
    await pause(50);
  }
  console.error('Another `make up` was starting and has ended; try again.');
  return 1;
};

const detach = async (settings: Settings): Promise<number> => {
  const { runFile } = statePaths(settings);
  if (findLiveRun(runFile)) return reportHeld(runFile);
  const paths = ensureState(settings);
  const log = openSync(paths.upLog, 'a', 0o600);
  // Two simultaneous starts may share this file: each shows the output after its own start.
  const saidBefore = fstatSync(log).size;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--supervisor'], {
    cwd: '/',
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let exitCode: number | undefined;
  child.once('exit', (code) => {
    exitCode = code ?? 1;
  });
  let hostsReady = 0;
  for (;;) {
    const run = findLiveRun(paths.runFile);
    if (run !== undefined && run.hosts_ready > hostsReady && pidOf(run.supervisor) === child.pid) {
      hostsReady = run.hosts_ready;
      console.log(hostsLine(hostsReady));
    }
    if (run?.ready && pidOf(run.supervisor) === child.pid) {
      child.unref();
      console.log(banner(settings, paths, { devPassword: ensureDevPassword(paths), hostsReady, detached: true }));
      return 0;
    }
    // It exits successfully without being ready when another start was faster.
    if (exitCode === 0) return reportHeld(runFile);
    if (exitCode !== undefined) {
      console.error(readFileSync(paths.upLog).subarray(saidBefore).toString('utf8').trimEnd());
      return exitCode;
    }
    await pause(50);
  }
};

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: { detach: { type: 'boolean', default: false }, supervisor: { type: 'boolean', default: false } },
  });
  const settings = readSettings(process.env);
  // The supervisor of a detached start finds it built.
  if (!values.supervisor) {
    await ensureConsole();
    await ensureReference();
  }
  return values.detach ? detach(settings) : superviseHere(settings, !values.supervisor);
};

try {
  process.exitCode = await main();
} catch (err) {
  console.error((err as Error).message);
  process.exitCode = 1;
}
