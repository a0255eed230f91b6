/**
 * What a tenant writes to its disks, and the search for it afterwards. Agents share this process, so a check of the host
 * and a synchronous write after it are one step: the VM cannot be stopped and wiped in between.
 */
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { State } from '../../node-agent/src/host/sim/state.ts';
import { SIM } from './base.ts';
import type { World, WorldHost } from './world.ts';

const MARK = 'secret of ';
const OWNER_MAX = 30;
/** Where an image writes nothing, so that a reinstallation keeps it too. */
const OFFSET = 128 * 1024;

export const machineState = ({ machine }: WorldHost): State =>
  JSON.parse(readFileSync(join(machine, 'state.json'), 'utf8'));

const diskFile = ({ machine }: WorldHost, serial: string): string => join(machine, 'disks', `${serial}.img`);

const writeSecretTo = (host: WorldHost, serial: string, owner: string): void => {
  mkdirSync(join(host.machine, 'disks'), { recursive: true });
  const file = diskFile(host, serial);
  const isNew = !existsSync(file);
  const fd = openSync(file, isNew ? 'w+' : 'r+');
  try {
    if (isNew) ftruncateSync(fd, SIM.disk_bytes);
    writeSync(fd, `${MARK}${owner}`, OFFSET);
  } finally {
    closeSync(fd);
  }
};

/** The guest OS of a running VM writes to every disk of the VM. False when none runs. */
export const writeSecret = async (world: World, allocationId: string): Promise<boolean> => {
  let wrote = false;
  for (const host of world.hosts) {
    const domain = machineState(host).domains.find(
      (one) => one.allocation_id === allocationId && one.state === 'running' && one.plan !== null,
    );
    for (const slot of domain?.plan?.slots ?? [])
      if (slot.nvme_serial !== null) {
        writeSecretTo(host, slot.nvme_serial, allocationId);
        wrote = true;
      }
  }
  return wrote;
};

/** The allocation whose data is on the disk; null if none is. */
export const findSecret = (host: WorldHost, serial: string): string | null => {
  const file = diskFile(host, serial);
  if (!existsSync(file)) return null;
  const bytes = Buffer.alloc(MARK.length + OWNER_MAX);
  const fd = openSync(file, 'r');
  try {
    readSync(fd, bytes, 0, bytes.length, OFFSET);
  } finally {
    closeSync(fd);
  }
  const text = bytes.toString('latin1');
  return text.startsWith(MARK) ? text.slice(MARK.length).replaceAll('\0', '') : null;
};
