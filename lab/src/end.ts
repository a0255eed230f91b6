/** Stops a lab that runs in another process, and the processes that a killed one left behind. */

import { rmSync } from 'node:fs';
import { isProcessAlive } from '@gpuaas/kit';
import { stopEmbeddedPostgres } from '../../server/src/ports/postgres/embedded.ts';
import { findRun } from './run-file.ts';
import type { Settings } from './settings.ts';
import { statePaths } from './state.ts';
import { stopProcess } from './stop.ts';

const SUPERVISOR_STOP_MS = 60_000;
const FLEET_STOP_MS = 10_000;
const SERVER_STOP_MS = 10_000;

/** Whether there was anything to stop. */
export const endLab = async (settings: Settings): Promise<boolean> => {
  const paths = statePaths(settings);
  const run = findRun(paths.runFile);
  if (run === undefined) return false;
  const wasRunning = isProcessAlive(run.supervisor);
  await stopProcess(run.supervisor, SUPERVISOR_STOP_MS);
  if (run.fleet !== null) await stopProcess(run.fleet, FLEET_STOP_MS);
  if (run.server !== null) await stopProcess(run.server, SERVER_STOP_MS);
  await stopEmbeddedPostgres(paths.postgresDir);
  rmSync(paths.runFile, { force: true });
  return wasRunning;
};
