/**
 * The host of the host tier, opened from what is written down of it. Whoever opens it again, also another process, finds the
 * same machine: that is what an agent does that starts anew.
 */
import { join } from 'node:path';
import type { Host, WipeMethod } from '../src/host/host.ts';
import { createAccess } from '../src/host/linux/access.ts';
import { createFiles } from '../src/host/linux/files.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createHypervisor } from '../src/host/linux/hypervisor.ts';
import type { HypervisorConfig } from '../src/host/linux/hypervisor-config.ts';
import type { NetworkConfig } from '../src/host/linux/network-config.ts';
import { createNetwork } from '../src/host/linux/network-host.ts';
import { createRun } from '../src/host/linux/run.ts';
import { createSimHost, type SimHost } from '../src/host/sim/sim-host.ts';

/** Disks and images: plain values, so that they can be handed to another process. */
export type LoopSpec = Readonly<{
  dir: string;
  /** Below it the drives have names and serials. */
  root: string;
  /** Stand-ins first, then the machine's own programs. */
  path: string;
  cache: string;
  source: string;
  wipe_minimum?: WipeMethod;
}>;

export type ComposedSpec = LoopSpec & Readonly<{ network: NetworkConfig; hypervisor: HypervisorConfig }>;

export const openLoopSim = (dir: string): SimHost =>
  createSimHost({ dir: join(dir, 'sim'), name: 'j22u15', profile: 'dell-xe9680-h200' });

/** Drives and images are Linux's own, everything else is simulated. */
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

/** Machines, network and system are Linux's own too; PCI functions, GPUs and fabric stay simulated. */
export const openComposedHost = (spec: ComposedSpec, loop: Host = openLoopHost(spec)): Host => {
  const files = createFiles('/');
  const run = createRun(spec.path);
  const { pci, disks } = loop;
  return {
    ...loop,
    network: {
      ...createNetwork({ files, run, pci: pci.list, config: spec.network, isRecording: false }),
      // Cards of the fabric are functions on the bus.
      nics: loop.network.nics,
    },
    hypervisor: createHypervisor({ config: spec.hypervisor, network: spec.network, files, run, pci, disks }),
    access: createAccess({ hypervisor: spec.hypervisor, network: spec.network }),
    system: composedSystem(createLinuxHost({ run }).system, loop.system),
  };
};

/** Drivers and tools of the parts that are simulated. */
const SIMULATED: readonly string[] = ['vfio-pci', 'nvidia-smi', 'nv-fabricmanager', 'rdma', 'cloud-localds'];
/** Memory beside every GPU: the host has huge pages as it must, and guests of tests do without. */
const FAR_NODE = 99;

const composedSystem = (real: Host['system'], sim: Host['system']): Host['system'] => ({
  ...real,
  facts: async () => {
    const facts = await real.facts();
    const pages = { node: FAR_NODE, size_kib: 2048, total: 1, free: 1 };
    return { ...facts, has_kvm: true, hugepages: [...facts.hugepages, pages] };
  },
  tools: async () => {
    const told = await sim.tools();
    return (await real.tools()).map((tool) =>
      SIMULATED.includes(tool.name) ? (told.find(({ name }) => name === tool.name) ?? tool) : tool,
    );
  },
});
