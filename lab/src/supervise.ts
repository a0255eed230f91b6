/**
 * Runs the lab from start to end: database, server, simulated hosts, then wait; on a signal, the reverse. On any
 * failure everything started is stopped before this returns. The lab is ready when launches can be placed on its hosts,
 * or after HOSTS_WAIT_MS: the control plane works without hosts.
 */
import { pause } from '@gpuaas/kit';
import { type LabDatabase, openDatabase } from './database.ts';
import { startFleetProcess } from './fleet-process.ts';
import { DEMO_HOSTS } from './fleet-spec.ts';
import { createOperator } from './operator.ts';
import { type Claim, claimRun, type Run } from './run-file.ts';
import { ensurePortsFree, type LabServer, startServer, waitUntilReady } from './server.ts';
import type { Settings } from './settings.ts';
import { ensureSite } from './site.ts';
import { ensureDevPassword, ensureState, lastLines, type StatePaths } from './state.ts';
import { stopProcess } from './stop.ts';

export type Ready = Readonly<{ paths: StatePaths; devPassword: string; hostsReady: number }>;

export type Ending =
  | Readonly<{ kind: 'held'; by: Run }>
  | Readonly<{ kind: 'stopped' }>
  | Readonly<{ kind: 'failed'; reason: string }>;

export type SuperviseOptions = Readonly<{
  settings: Settings;
  /** Aborted when the lab should stop. */
  signal: AbortSignal;
  onHostsReady: (count: number) => void;
  onReady: (ready: Ready) => void;
  onStopping: () => void;
}>;

const LEFTOVER_STOP_MS = 10_000;
const HOSTS_WAIT_MS = 90_000;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Waits for the first of: a stop request, or the end of a component that should run (then returns its description). */
const waitForEnd = (server: LabServer, database: LabDatabase, signal: AbortSignal): Promise<string | undefined> =>
  Promise.race([
    aborted(signal).then(() => undefined),
    server.ended.then((how) => `The server ended (${how})`),
    database.ended.then(() => 'The embedded PostgreSQL ended'),
  ]);

const withLogTail = (reason: string, paths: StatePaths): string => {
  const tail = lastLines(paths.serverLog);
  return tail ? `${reason}. The end of ${paths.serverLog}:\n\n${tail}` : `${reason}.`;
};

const runServer = async (
  options: SuperviseOptions,
  given: Readonly<{ paths: StatePaths; claim: Claim; database: LabDatabase }>,
): Promise<Ending> => {
  const { settings, signal } = options;
  const { paths, claim, database } = given;
  const devPassword = ensureDevPassword(paths);
  const server = startServer(settings, paths, { databaseUrl: database.url, devPassword });
  claim.update({ server: server.identity });
  try {
    const ended = waitForEnd(server, database, signal);
    const startUp = new AbortController();
    const ready = waitUntilReady(settings, AbortSignal.any([signal, startUp.signal])).then(
      () => 'ready' as const,
      (err: Error) => `The server did not start: ${err.message}`,
    );
    const first = await Promise.race([ready, ended]);
    startUp.abort();
    if (signal.aborted) return { kind: 'stopped' };
    if (first !== 'ready') return { kind: 'failed', reason: withLogTail(first ?? 'The server did not start', paths) };
    // With an external issuer, an operator applies a site file.
    if (settings.issuer === undefined)
      await ensureSite(createOperator({ url: settings.publicUrl, dev_password_file: paths.devPassword, signal }));
    let hostsReady = 0;
    const allReady = Promise.withResolvers<void>();
    const fleet = startFleetProcess(settings, paths, {
      start: (identity) => claim.update({ fleet: identity }),
      hostsReady: (count) => {
        hostsReady = count;
        claim.update({ hosts_ready: count });
        options.onHostsReady(count);
        if (count >= DEMO_HOSTS.length) allReady.resolve();
      },
    });
    try {
      // With an external issuer, hosts join when an operator adds them.
      if (settings.issuer === undefined) await Promise.race([allReady.promise, ended, pause(HOSTS_WAIT_MS, signal)]);
      if (!signal.aborted) {
        claim.update({ ready: true });
        options.onReady({ paths, devPassword, hostsReady });
      }
      const reason = await ended;
      return reason === undefined ? { kind: 'stopped' } : { kind: 'failed', reason: withLogTail(reason, paths) };
    } finally {
      await fleet.stop();
    }
  } finally {
    if (signal.aborted) options.onStopping();
    await server.stop();
  }
};

export const supervise = async (options: SuperviseOptions): Promise<Ending> => {
  const { settings, signal } = options;
  const paths = ensureState(settings);
  const claimed = await claimRun(paths.runFile, settings.publicUrl, async (dead) => {
    for (const left of [dead.fleet, dead.server]) if (left !== null) await stopProcess(left, LEFTOVER_STOP_MS);
  });
  if ('held' in claimed) return { kind: 'held', by: claimed.held };
  try {
    await ensurePortsFree(settings);
    const database = await openDatabase(settings, paths);
    try {
      return signal.aborted ? { kind: 'stopped' } : await runServer(options, { paths, claim: claimed.claim, database });
    } finally {
      await database.stop();
    }
  } finally {
    claimed.claim.release();
  }
};
