/**
 * A real Linux host. Everything is readable. It writes driver bindings, resets, wipes and accounts and, if configured,
 * images, network ports and VMs. A missing part fails as `unsupported`, and the task kinds that need it are not
 * offered. With another root directory it reads a recording instead (see node-agent/README.md): nothing is run and
 * nothing written.
 */
import { type HostPort, kindsOf, type PciFunction, type WipeMethod } from '@gpuaas/contract/node';
import type { DeviceIds } from '../../topology/device-ids.ts';
import { isAccelerator } from '../../topology/kinds.ts';
import { type Domain, type Host, HostError } from '../host.ts';
import { createAccess } from './access.ts';
import { listDisks } from './disks.ts';
import { readFabric } from './fabric.ts';
import { createFabric } from './fabric-act.ts';
import { createFiles, type Files } from './files.ts';
import { listGpus } from './gpu/vendors.ts';
import { createHypervisor } from './hypervisor.ts';
import type { HypervisorConfig } from './hypervisor-config.ts';
import { createImages, type ImagesOptions } from './images.ts';
import { NETWORK_DEFAULTS, type NetworkConfig } from './network-config.ts';
import { createNetwork } from './network-host.ts';
import { openDisk } from './open-disk.ts';
import { listIommuGroups, listPci } from './pci.ts';
import { bindPci, resetPci } from './pci-write.ts';
import { createRecordedRun, createRun, type Run } from './run.ts';
import { readIdentity, readKernelLog, readSshHostKey, readSystem } from './system.ts';
import { listTools } from './tools.ts';
import { ensureUser, hasUser, removeUser } from './users.ts';

/** What every real host has; it has images and VMs where it is configured for them. */
const PORTS: readonly HostPort[] = ['pci', 'disks', 'network', 'fabric', 'gpu', 'system'];

const refuse = (what: string) => async (): Promise<never> => {
  throw new HostError('unsupported', `This host is not configured to ${what}.`);
};

const NO_IMAGES: Host['images'] = {
  list: refuse('list cached images'),
  pull: refuse('pull an image'),
  evict: refuse('evict an image'),
  verify: refuse('verify an image'),
  check: refuse('check an image'),
  clone: refuse('clone an image'),
};

/** VMs are those of libvirt; a host without it has none. */
const listVms = async (run: Run): Promise<readonly Domain[]> => {
  try {
    await run({ argv: ['virsh', '--version'], recorded: 'virsh-version.txt' });
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return [];
    throw error;
  }
  return refuse('list virtual machines')();
};

const noVms = (run: Run): Host['hypervisor'] => ({
  bootKinds: async () => [],
  list: () => listVms(run),
  inspect: async () => ({
    domains: (await listVms(run)).map((one) => ({ ...one, devices: [], ended_by: null })),
    leftovers: [],
  }),
  judge: refuse('start a virtual machine'),
  start: refuse('start a virtual machine'),
  reboot: refuse('restart a virtual machine'),
  stop: refuse('stop a virtual machine'),
  remove: refuse('remove a virtual machine'),
  guest: refuse('query a virtual machine'),
});

export type LinuxOptions = Readonly<{
  root?: string;
  /** Instead of the recorded commands: tests supply their own programs. */
  run?: Run;
  files?: Files;
  /** Where images are stored and pulled from; without it the host has none. */
  images?: ImagesOptions;
  wipe_minimum?: WipeMethod;
  devices?: DeviceIds;
  network?: NetworkConfig;
  /** How VMs are run; without it the host runs none. */
  hypervisor?: HypervisorConfig;
}>;

const portsOf = (given: LinuxOptions): ReadonlySet<HostPort> =>
  new Set([
    ...PORTS,
    'access' as const,
    ...(given.images === undefined ? [] : (['images'] as const)),
    ...(given.hypervisor === undefined ? [] : (['hypervisor'] as const)),
  ]);

export const createLinuxHost = ({ root = '/', ...given }: LinuxOptions = {}): Host => {
  const files = given.files ?? createFiles(root);
  const isRecording = root !== '/' && given.run === undefined;
  const run = given.run ?? (isRecording ? createRecordedRun(files) : createRun());
  const pci = (): Promise<readonly PciFunction[]> => listPci(files);
  /** A recording is read and never written. */
  const live = async <T>(act: () => Promise<T>): Promise<T> => {
    if (isRecording) throw new HostError('unsupported', 'A recording can only be read.');
    return act();
  };
  const fabric = createFabric(run, async () => readFabric(files, run, await pci()));
  return {
    kinds: isRecording ? kindsOf(new Set(PORTS), true) : kindsOf(portsOf(given)),
    pci: {
      list: pci,
      iommuGroups: () => listIommuGroups(files),
      bind: (address, driver) => live(() => bindPci(files, address, driver)),
      reset: (address, allowed) => live(() => resetPci(files, address, allowed)),
    },
    disks: {
      list: () => listDisks(files, run),
      open: (identity) => live(() => openDisk(files, run, identity)),
    },
    gpu: {
      list: async () =>
        listGpus(
          files,
          run,
          (await pci()).filter((fn) => isAccelerator(fn, [])),
        ),
    },
    network: createNetwork({ files, run, pci, config: given.network, isRecording }),
    fabric: {
      facts: fabric.facts,
      activate: (id) => live(() => fabric.activate(id)),
      deactivate: (id) => live(() => fabric.deactivate(id)),
      declare: (ids) => live(() => fabric.declare(ids)),
    },
    images: given.images === undefined || isRecording ? NO_IMAGES : createImages(run, given.images),
    ...(given.wipe_minimum === undefined ? {} : { wipe_minimum: given.wipe_minimum }),
    ...(given.devices === undefined ? {} : { devices: given.devices }),
    hypervisor:
      given.hypervisor === undefined || isRecording
        ? noVms(run)
        : createHypervisor({
            config: given.hypervisor,
            network: given.network ?? NETWORK_DEFAULTS,
            files,
            run,
            pci: { list: pci },
            disks: { list: () => listDisks(files, run) },
          }),
    ...(isRecording
      ? {}
      : { access: createAccess({ hypervisor: given.hypervisor, network: given.network ?? NETWORK_DEFAULTS }) }),
    system: {
      identity: () => readIdentity(files),
      facts: () => readSystem(files),
      tools: () => listTools(files, run),
      kernelLog: () => readKernelLog(run),
      ensureUser: (user) => live(() => ensureUser(run, user)),
      hasUser: (username) => live(() => hasUser(run, username)),
      removeUser: (username) => live(() => removeUser(run, username)),
      sshHostKey: () => readSshHostKey(files),
    },
  };
};
