/** Where simulated hosts live: a directory each, in the directory of their fleet. */
import { join, resolve } from 'node:path';
import { REPO } from './settings.ts';

export const stateDir = (): string => resolve(REPO, process.env['GPUAAS_STATE_DIR'] || '.gpuaas');

/** The directory of a fleet: as configured, otherwise the one of `make up`. */
export const fleetDir = (given: string | undefined): string =>
  given === undefined ? join(stateDir(), 'fleet') : resolve(given);

/** The host itself, beside its agent: disks, guests and faults. */
export const machineDir = (fleet: string, host: string): string => join(fleet, host, 'machine');
