/**
 * What is visible inside a simulated VM or bare-metal host. The shell knows nothing else, so nothing of the computer
 * that runs the simulation is reachable.
 */

import { createFiles, type Files } from './access-files.ts';
import type { Core } from './core.ts';
import { uuidOf } from './identity.ts';
import type { SimDomain } from './state.ts';

export type GuestGpu = Readonly<{ uuid: string; model: string; address: string; memory_mib: number; driver: string }>;

export type Inside = Readonly<{
  hostname: string;
  username: string;
  kernel: string;
  gpus: readonly GuestGpu[];
  cpu_count: number;
  memory_mib: number;
  booted_at: Date;
  now: () => Date;
  files: Files;
}>;

/** VMs have their own kernel, whatever the host runs. */
const GUEST_KERNEL = '6.8.0-45-generic';
export const GUEST_USERNAME = 'ubuntu';

const gpusOf = (core: Core, slots: Core['slots'], addressOf: (index: number) => string): readonly GuestGpu[] =>
  slots.map((slot, index) => ({
    uuid: `GPU-${uuidOf(core.name, 'gpu', slot.index)}`,
    model: core.profile.gpu.model,
    address: addressOf(index),
    memory_mib: core.profile.gpu.memory_mib,
    driver: core.profile.gpu.driver_version,
  }));

/** In a VM the devices have the addresses assigned by the hypervisor. */
const guestAddress = (index: number): string => `0000:${(5 + index).toString(16).padStart(2, '0')}:00.0`;

export const insideGuest = (core: Core, domain: SimDomain, files: Files): Inside => {
  const claimed = new Set(domain.plan?.slots.map((slot) => slot.gpu_pci_address));
  const slots = core.slots.filter((slot) => claimed.has(slot.gpu)).slice(0, domain.guest?.gpu_count ?? 0);
  return {
    hostname: domain.hostname ?? domain.name,
    username: GUEST_USERNAME,
    kernel: GUEST_KERNEL,
    gpus: gpusOf(core, slots, guestAddress),
    cpu_count: domain.plan?.vcpu_count ?? 1,
    memory_mib: domain.plan?.memory_mib ?? 1024,
    booted_at: new Date(domain.started_at ?? core.now()),
    now: core.now,
    files,
  };
};

export const insideHost = (core: Core, username: string, files: Files = createFiles(username)): Inside => ({
  hostname: core.name,
  username,
  kernel: core.profile.kernel,
  gpus: gpusOf(core, core.slots, (index) => core.slots[index]?.gpu ?? guestAddress(index)),
  cpu_count: core.profile.numa.reduce((sum, { cpus }) => sum + cpusIn(cpus), 0),
  memory_mib: core.profile.memory_mib,
  booted_at: new Date(core.store.read().boot.at),
  now: core.now,
  files,
});

/** The number of CPUs in a list such as `0-15,64-79`. */
const cpusIn = (list: string): number =>
  list.split(',').reduce((sum, part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
