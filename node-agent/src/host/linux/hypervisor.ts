/**
 * VMs on libvirt. What runs is what was planned: the definition is compiled, validated by libvirt's schema, read back
 * and compared before the start. A domain is managed only if its definition has our tag; any other is listed and never
 * changed. No state is kept here: after a restart the VMs are found by name.
 */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PciFunction } from '@gpuaas/contract/node';
import { checkUserData, cloudInit } from '../../vm/cloud-init.ts';
import { compileDomain } from '../../vm/domain.ts';
import { assertSame, assertSameButFabric } from '../../vm/domain-read.ts';
import { vmName } from '../../vm/grammar.ts';
import { vmPaths } from '../../vm/host-profile.ts';
import { vmUuid } from '../../vm/identity.ts';
import { writeSeed } from '../../vm/seed.ts';
import { STAND_IN_ACCELERATOR } from '../../vm/stand-in.ts';
import { type Disks, type Domain, HostError, type Hypervisor, type Pci, type VmPlan } from '../host.ts';
import type { Files } from './files.ts';
import { chooseAccelerator } from './hypervisor-accelerator.ts';
import { foldersOf, type HypervisorConfig } from './hypervisor-config.ts';
import { readHypervisor } from './hypervisor-facts.ts';
import { inspectVms, managedIn } from './hypervisor-inspect.ts';
import { readProfile } from './hypervisor-profile.ts';
import {
  findBootKinds,
  refuseDisks,
  refuseMissingFiles,
  refuseShared,
  refuseUnbound,
  refuseUnplugged,
  refuseWithoutPages,
} from './hypervisor-ready.ts';
import { listenToGuest } from './hypervisor-report.ts';
import { isDown, requestShutdown } from './hypervisor-stop.ts';
import { createVirsh, type KnownDomain, type Virsh } from './hypervisor-virsh.ts';
import type { NetworkConfig } from './network-config.ts';
import type { Run } from './run.ts';
import { readSystem } from './system.ts';

export type GivenHypervisor = Readonly<{
  config: HypervisorConfig;
  network: NetworkConfig;
  files: Files;
  run: Run;
  pci: Pick<Pci, 'list'>;
  disks: Pick<Disks, 'list'>;
}>;

type Given = GivenHypervisor & Readonly<{ virsh: Virsh }>;

const domainOf = ({ parsed, state }: KnownDomain): Domain => ({
  name: parsed.name ?? '',
  allocation_id: parsed.allocation_id,
  state,
});

const findManaged = async ({ virsh }: Given, name: string): Promise<KnownDomain | undefined> => {
  const domain = (await virsh.all()).find((one) => one.parsed.name === name);
  if (domain !== undefined && domain.parsed.allocation_id === null)
    throw new HostError('conflict', `${name} is not managed by GPUaaS. The agent does not change it.`);
  return domain;
};

const refuseOther = (
  { config }: Given,
  machine: VmPlan,
  { parsed }: KnownDomain,
  assertIt: typeof assertSame = assertSame,
): void => {
  if (parsed.allocation_id === null)
    throw new HostError('conflict', `${machine.name} exists and is not managed by GPUaaS.`);
  assertIt(machine, parsed, config.passthrough);
};

const isOff = ({ state }: KnownDomain): boolean => state === 'shut_off' || state === 'crashed';

const refuseUnready = async (given: Given, machine: VmPlan, others: readonly KnownDomain[]) => {
  const { config, network, files, run } = given;
  refuseShared(machine, others);
  const [functions, disks, system] = await Promise.all([given.pci.list(), given.disks.list(), readSystem(files)]);
  await refuseUnbound(machine, functions, async (group) =>
    config.passthrough === 'vfio' ? files.exists(`/dev/vfio/${group}`) : true,
  );
  refuseDisks(machine, disks);
  refuseWithoutPages(machine, system.hugepages);
  await refuseMissingFiles(files, config, machine);
  await refuseUnplugged(run, network, machine);
  return functions;
};

/** The device IDs that the guest OS counts: those of its passed-through functions. */
const acceleratorsOf = (config: HypervisorConfig, { plan }: VmPlan, functions: readonly PciFunction[]) => {
  if (config.passthrough === 'emulated') return [STAND_IN_ACCELERATOR];
  const own = plan.slots.flatMap((slot) => functions.filter((fn) => fn.address === slot.gpu_pci_address));
  return [...new Set(own.map((fn) => `${fn.vendor_id}:${fn.device_id}`))];
};

/** Every refusal happens here, before anything is written. */
const compile = async (given: Given, machine: VmPlan, others: readonly KnownDomain[]) => {
  const functions = await refuseUnready(given, machine, others);
  const accelerator = await chooseAccelerator(given);
  const accelerators = acceleratorsOf(given.config, machine, functions);
  const profile = await readProfile(machine, { ...given, functions, accelerator, others });
  return {
    xml: compileDomain(machine, profile),
    seed: writeSeed(
      cloudInit(machine, {
        username: given.config.username,
        accelerators,
        is_network_tuned: given.config.is_network_tuned,
      }),
    ),
    paths: vmPaths(profile, machine.name),
  };
};

/** The emulator runs as its own user, who can traverse the directory and gets the files from libvirt. */
const put = async (file: string, content: string | Buffer): Promise<void> => {
  await rm(file, { force: true });
  await writeFile(file, content, { mode: 0o600, flag: 'wx' });
};

const define = async (given: Given, machine: VmPlan, xml: string): Promise<string> => {
  const uuid = vmUuid(machine.allocation_id);
  const file = join(given.config.folder, machine.name, 'domain.xml');
  await put(file, xml);
  await given.virsh.define(file);
  const defined = await given.virsh.find(uuid);
  if (defined === null) throw new HostError('host_error', `libvirt accepted ${machine.name} but does not list it.`);
  refuseOther(given, machine, defined);
  return uuid;
};

const removeFiles = async ({ config }: GivenHypervisor, name: string): Promise<void> => {
  const { report, keys, serial } = vmPaths({ folders: foldersOf(config, name) }, name);
  await rm(join(config.folder, vmName(name)), { recursive: true, force: true });
  for (const socket of [report, keys, serial]) await rm(socket, { force: true });
  for (const suffix of ['', '.0', '.1', '.2', '.3'])
    await rm(join(config.libvirt_log_folder, `${name}.log${suffix}`), { force: true });
};

const start = async (given: Given, machine: VmPlan): Promise<void> => {
  const { virsh, config } = given;
  const all = await virsh.all();
  const there = all.find((one) => one.parsed.name === machine.name);
  if (there !== undefined) refuseOther(given, machine, there, isOff(there) ? assertSameButFabric : assertSame);
  if (there?.state === 'running') return;
  if (there?.state === 'paused') return void (await virsh.request('resume', there.uuid));
  if (there?.state === 'crashed') await virsh.request('destroy', there.uuid);
  const { xml, seed, paths } = await compile(given, machine, all);
  try {
    for (const folder of [config.folder, join(config.folder, machine.name), config.report_folder]) {
      await mkdir(folder, { recursive: true });
      await chmod(folder, 0o711);
    }
    await put(paths.seed, seed);
    const uuid = await define(given, machine, xml);
    await virsh.request('start', uuid);
    const state = await virsh.state(uuid);
    if (state !== 'running') throw new HostError('host_error', `${machine.name} was started and is ${state}.`);
  } catch (error) {
    // Files created by this start are removed with it; an existing VM keeps its definition.
    if (there === undefined) await undo(given, machine).catch(() => undefined);
    throw error;
  }
};

const undo = async (given: Given, machine: VmPlan): Promise<void> => {
  const domain = await findManaged(given, machine.name);
  if (domain !== undefined) {
    await given.virsh.request('destroy', domain.uuid);
    await given.virsh.undefine(domain.uuid);
  }
  await removeFiles(given, machine.name);
};

const reboot = async (given: Given, name: string, isHard: boolean): Promise<void> => {
  const domain = await findManaged(given, name);
  if (domain === undefined || domain.state === 'shut_off') throw new HostError('drift', `${name} is not running.`);
  if (isHard) {
    if (!(await given.virsh.request('reset', domain.uuid))) throw new HostError('drift', `${name} is not running.`);
    // A paused guest stays paused through a reset.
    if (domain.state !== 'running') await given.virsh.request('resume', domain.uuid);
    return;
  }
  const { reboot_grace_s } = given.config;
  if (!(await given.virsh.reboot(domain.uuid, reboot_grace_s)))
    throw new HostError('timeout', `${name} did not shut down for a reboot within ${reboot_grace_s} s.`);
};

const stop = async (
  given: Given,
  name: string,
  graceS: number,
  signal: AbortSignal | undefined,
): Promise<'absent' | 'graceful' | 'hard'> => {
  const domain = await findManaged(given, name);
  if (domain === undefined || domain.state === 'shut_off') return 'absent';
  const { virsh } = given;
  // Only a running guest OS can receive the power button.
  if (domain.state === 'running' && (await requestShutdown({ virsh, signal }, domain.uuid, graceS))) return 'graceful';
  const wasOn = await virsh.request('destroy', domain.uuid);
  const state = await virsh.state(domain.uuid);
  if (!isDown(state)) throw new HostError('host_error', `${name} was destroyed and is ${state}.`);
  return wasOn ? 'hard' : 'graceful';
};

const remove = async (given: Given, name: string): Promise<void> => {
  const domain = await findManaged(given, name);
  if (domain !== undefined) {
    if (domain.state !== 'shut_off')
      throw new HostError('conflict', `${name} is ${domain.state}; stop it before it is removed.`);
    await given.virsh.undefine(domain.uuid);
  }
  await removeFiles(given, name);
};

export const createHypervisor = (options: GivenHypervisor): Hypervisor => {
  const given: Given = { ...options, virsh: createVirsh(options.run, options.config.connect) };
  const all = async (): Promise<readonly KnownDomain[]> => {
    try {
      return await given.virsh.all();
    } catch (error) {
      if (!(error instanceof HostError) || error.code !== 'unsupported') throw error;
      // A host without libvirt has no VMs, unless it had some: they keep running while libvirt is unreachable.
      const [left] = await managedIn(options.config.folder);
      if (left === undefined) return [];
      const cause = `${error.message} ${options.config.folder} holds ${left}, which may be running.`;
      throw new HostError('host_error', `Failed to list the VMs of this host: ${cause}`, { cause: error });
    }
  };
  const reportOf = (name: string): string => vmPaths({ folders: foldersOf(options.config, name) }, name).report;
  return {
    facts: () => readHypervisor(given),
    bootKinds: () => findBootKinds(options.files, options.config),
    list: async () => (await all()).map(domainOf),
    inspect: async () => inspectVms(await all(), options.config.folder),
    judge: async (userData) => checkUserData(userData, options.config.username),
    start: (machine) => start(given, machine),
    reboot: (name, isHard) => reboot(given, name, isHard),
    stop: (name, graceS, signal) => stop(given, name, graceS, signal),
    remove: (name) => remove(given, name),
    guest: (name) => listenToGuest(reportOf(name)),
  };
};
