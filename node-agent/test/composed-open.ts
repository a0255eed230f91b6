/**
 * The host of the host tier, opened from its description. Opening it again, also from another process, gives the same
 * host, as for a restarted agent.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WipeMethod } from '@gpuaas/contract/node';
import { type Host, HostError } from '../src/host/host.ts';
import { createAccess } from '../src/host/linux/access.ts';
import { createFiles } from '../src/host/linux/files.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createHypervisor } from '../src/host/linux/hypervisor.ts';
import type { HypervisorConfig } from '../src/host/linux/hypervisor-config.ts';
import type { NetworkConfig } from '../src/host/linux/network-config.ts';
import { createNetwork } from '../src/host/linux/network-host.ts';
import { createRun, type Run } from '../src/host/linux/run.ts';
import { ensureUser, hasUser, removeUser } from '../src/host/linux/users.ts';
import { createSimHost, type SimHost } from '../src/host/sim/sim-host.ts';

/** Disks and images: plain values, so that they can be passed to another process. */
export type LoopSpec = Readonly<{
  dir: string;
  /** Below it the disks have names and serials. */
  root: string;
  /** Replacements first, then the system's own programs. */
  path: string;
  cache: string;
  source: string;
  wipe_minimum?: WipeMethod;
}>;

export type ComposedSpec = LoopSpec & Readonly<{ network: NetworkConfig; hypervisor: HypervisorConfig }>;

/** Contains the boot ID of the host after a simulated reboot; until then the real one counts. */
export const bootIdFile = (dir: string): string => join(dir, 'boot_id');

export const openLoopSim = (dir: string): SimHost =>
  createSimHost({ dir: join(dir, 'sim'), name: 'j22u15', profile: 'dell-xe9680-h200' });

/** Disks and images are real, everything else is simulated. */
export const openLoopHost = (spec: LoopSpec, sim: SimHost = openLoopSim(spec.dir)): Host => {
  const minimum = spec.wipe_minimum === undefined ? {} : { wipe_minimum: spec.wipe_minimum };
  const { disks, images } = createLinuxHost({
    root: spec.root,
    run: createRun(spec.path),
    images: { dir: spec.cache, source: spec.source },
    ...minimum,
  });
  const { during: _, ...rest } = sim;
  return { ...rest, disks, images, ...minimum };
};

/** VMs, network and system are real too; PCI functions, GPUs and fabric stay simulated. */
export const openComposedHost = (
  spec: ComposedSpec,
  loop: Host = openLoopHost(spec),
  /** Users are created by these programs; without it by those of the system itself. */
  accounts: Run = createRun(spec.path),
): Host => {
  const files = createFiles('/');
  const run = createRun(spec.path);
  const { disks } = loop;
  const hypervisor = createHypervisor({
    config: spec.hypervisor,
    network: spec.network,
    files,
    run,
    pci: loop.pci,
    disks,
  });
  const pci = withGuests(loop.pci, hypervisor);
  return {
    ...loop,
    pci,
    network: {
      ...createNetwork({ files, run, pci: pci.list, config: spec.network, isRecording: false }),
      // Fabric cards are functions on the bus.
      nics: loop.network.nics,
    },
    hypervisor,
    access: createAccess({ hypervisor: spec.hypervisor, network: spec.network }),
    system: {
      ...composedSystem(createLinuxHost({ run }).system, loop.system, bootIdFile(spec.dir)),
      ensureUser: (user) => ensureUser(accounts, user),
      hasUser: (username) => hasUser(accounts, username),
      removeUser: (username) => removeUser(accounts, username),
    },
  };
};

/** VFIO refuses a function that a VM has open; here the function is emulated, so libvirt is queried for the VM. */
const withGuests = (pci: Host['pci'], hypervisor: Host['hypervisor']): Host['pci'] => {
  const refuseInGuest = async (address: string): Promise<void> => {
    const { domains } = await hypervisor.inspect();
    const user = domains.find((one) => one.state === 'running' && one.devices.includes(address));
    if (user !== undefined) throw new HostError('blocked', `${address} is in use by ${user.name}.`);
  };
  const held = async (address: string, driver: string | null): Promise<boolean> =>
    (await pci.list()).some((fn) => fn.address === address && fn.driver === driver);
  return {
    ...pci,
    bind: async (address, driver) => {
      if (!(await held(address, driver))) await refuseInGuest(address);
      await pci.bind(address, driver);
    },
    reset: async (address, allowed) => {
      await refuseInGuest(address);
      return pci.reset(address, allowed);
    },
  };
};

/** Drivers and tools of the simulated parts. */
const SIMULATED: readonly string[] = ['vfio-pci', 'nvidia-smi', 'nv-fabricmanager', 'rdma', 'cloud-localds'];
/** Memory beside every GPU: the host has the required huge pages, and test VMs do not use them. */
const FAR_NODE = 99;

const composedSystem = (real: Host['system'], sim: Host['system'], bootId: string): Host['system'] => ({
  ...real,
  identity: () => sim.identity(),
  facts: async () => {
    const facts = await real.facts();
    const pages = { node: FAR_NODE, size_kib: 2048, total: 1, free: 1 };
    const boot_id = await readFile(bootId, 'utf8').catch(() => facts.boot_id);
    return { ...facts, boot_id, has_kvm: true, hugepages: [...facts.hugepages, pages] };
  },
  tools: async () => {
    const told = await sim.tools();
    return (await real.tools()).map((tool) =>
      SIMULATED.includes(tool.name) ? (told.find(({ name }) => name === tool.name) ?? tool) : tool,
    );
  },
});
