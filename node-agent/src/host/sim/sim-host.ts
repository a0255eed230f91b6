/**
 * A simulated host in a directory: state in a JSON file, disks as sparse files with real content, faults as files. It
 * outlives the process; opening the directory again gives the same host. An idle one holds no timer and no open file,
 * so a thousand of them fit in a few processes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HOST_PORTS, kindsOf } from '@gpuaas/contract/node';
import type { Host } from '../host.ts';
import { createAccess } from './access.ts';
import { createCore, type Durations } from './core.ts';
import { blockOf } from './disk-table.ts';
import { createDisks, type OpenDrives } from './disks.ts';
import { createFabric } from './fabric.ts';
import { createGpu } from './gpu.ts';
import { createHypervisor } from './hypervisor.ts';
import { createImages } from './images.ts';
import { createNetwork } from './network.ts';
import { createPci } from './pci.ts';
import { PROFILES, type ProfileName } from './profile.ts';
import { boot } from './sim-events.ts';
import type { SimSlot } from './slot.ts';
import type { State } from './state.ts';
import { createSystem } from './system.ts';

export type SimOptions = Readonly<{
  dir: string;
  name: string;
  profile: ProfileName;
  disk_bytes?: number;
  vfio_at_boot?: boolean;
  durations?: Partial<Durations>;
  now?: () => Date;
  /** How the host waits if its speed or a fault requires it. */
  pause?: (ms: number) => Promise<void>;
  /** A crash ends the process, unless the caller replaces it. */
  onCrash?: () => void;
}>;

/** Operations that only a simulated host has: what a person at the rack, or inside the VM, would do or see. */
export type SimHost = Host &
  Required<Pick<Host, 'during'>> &
  Readonly<{
    name: string;
    dir: string;
    slots: readonly SimSlot[];
    reboot(): void;
    powerOff(): void;
    powerOn(): void;
    /** An unmanaged VM, without the tag of the agent. */
    defineForeignDomain(name: string, devices?: readonly string[]): void;
    /** A change by the guest OS, or on the host outside of the agent: off, or removed. */
    endDomain(name: string, how: 'guest' | 'host' | 'undefined'): void;
    openSession(username: string): void;
    logKernel(text: string): void;
    readDisk(serial: string, offset: number, length: number): Promise<Buffer>;
    writeDisk(serial: string, offset: number, bytes: Uint8Array): Promise<void>;
    state(): Readonly<State>;
  }>;

const DISK_BYTES = 64 * 1024 ** 2;
const NO_WAIT: Durations = { boot_ms: 0, clone_ms: 0, wipe_ms: 0, pull_ms: 0, grace_ms: 0 };
/** As after SIGKILL: nothing is flushed or reported. */
const CRASH_STATUS = 137;

export const createSimHost = (options: SimOptions): SimHost => {
  const core = createCore({
    dir: options.dir,
    name: options.name,
    profile: PROFILES[options.profile],
    disk_bytes: options.disk_bytes ?? DISK_BYTES,
    vfio_at_boot: options.vfio_at_boot ?? false,
    durations: { ...NO_WAIT, ...options.durations },
    now: options.now ?? (() => new Date()),
    pause:
      options.pause ??
      (async (ms) => {
        if (ms > 0) await sleep(ms);
      }),
    onCrash: options.onCrash ?? (() => process.exit(CRASH_STATUS)),
  });
  const opened: OpenDrives = new WeakSet();
  const { store } = core;
  return {
    pci: createPci(core),
    disks: createDisks(core, opened),
    images: createImages(core, opened),
    hypervisor: createHypervisor(core),
    network: createNetwork(core),
    fabric: createFabric(core),
    gpu: createGpu(core),
    system: createSystem(core),
    access: createAccess(core),
    kinds: kindsOf(new Set(HOST_PORTS)),
    during: core.during,
    name: core.name,
    dir: core.dir,
    slots: core.slots,
    reboot: () => store.change((state) => boot(core, state)),
    powerOff: () =>
      store.change((state) => {
        boot(core, state);
        state.is_on = false;
      }),
    powerOn: () => {
      store.refresh();
      if (!store.read().is_on) store.change((state) => boot(core, state));
    },
    defineForeignDomain: (name, devices = []) =>
      store.change(({ domains }) => {
        const off = { started_at: null, guest: null };
        domains.push({ name, allocation_id: null, plan: null, state: 'running', ...off, devices: [...devices] });
      }),
    endDomain: (name, how) =>
      store.change((state) => {
        const domain = state.domains.find((one) => one.name === name);
        if (domain === undefined) throw new Error(`There is no domain ${name} on ${core.name}.`);
        if (how === 'undefined') state.domains = state.domains.filter((one) => one !== domain);
        else Object.assign(domain, { state: 'shut_off', started_at: null, guest: null, ended_by: how });
      }),
    openSession: (username) =>
      store.change(({ users }) => {
        const user = users[username];
        if (user === undefined) throw new Error(`${username} has no account on ${core.name}.`);
        user.sessions += 1;
      }),
    logKernel: (text) =>
      store.change(({ log }) => {
        log.push({ at: core.now().toISOString(), text });
      }),
    readDisk: (serial, offset, length) => blockOf(core, serial).read(offset, length),
    writeDisk: (serial, offset, bytes) => blockOf(core, serial).write(offset, bytes),
    state: () => {
      store.refresh();
      return store.read();
    },
  };
};
