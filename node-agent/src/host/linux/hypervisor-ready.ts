/**
 * Checks before a VM starts. All of them run before anything is changed, so that a refusal names its reason and leaves
 * the host unchanged, instead of a start that fails half-way with a hypervisor error.
 */
import type { BootKind, DiskFacts, PciFunction, SystemFacts } from '@gpuaas/contract/node';
import type { Boot } from '../../vm/host-profile.ts';
import { devicesOf, slotDevicesOf } from '../../vm/pci-plan.ts';
import { HostError, type VmPlan } from '../host.ts';
import type { Files } from './files.ts';
import type { HypervisorConfig } from './hypervisor-config.ts';
import type { KnownDomain } from './hypervisor-virsh.ts';
import { type NetworkConfig, networkRun } from './network-config.ts';
import type { Run } from './run.ts';

const blocked = (message: string): HostError => new HostError('blocked', message);
const drift = (message: string): HostError => new HostError('drift', message);

/** No resource of the plan may be used by a running VM. */
export const refuseShared = ({ plan, name }: VmPlan, others: readonly KnownDomain[]): void => {
  const wanted = new Set([
    ...slotDevicesOf(plan),
    ...plan.slots.flatMap((slot) => [slot.nvme_device, slot.nvme_serial]),
    plan.mac_address,
    plan.ovs_port,
  ]);
  for (const { parsed, state } of others) {
    if (parsed.name === name || state === 'shut_off') continue;
    const shared = [
      ...parsed.hostdevs.map((one) => one.address),
      ...parsed.stand_ins,
      ...parsed.drives.flatMap((one) => [one.device, one.serial ?? '']),
      ...parsed.nics.flatMap((one) => [one.mac, one.port]),
    ].filter((one) => wanted.has(one));
    if (shared.length > 0)
      throw new HostError('conflict', `${[...new Set(shared)].join(', ')} is in use by VM ${parsed.name}.`);
  }
};

const isBridge = (fn: PciFunction): boolean => fn.class_code.startsWith('0604');

/** On vfio-pci, alone in its group or with others that are, and with the device file of the group available. */
export const refuseUnbound = async (
  machine: VmPlan,
  functions: readonly PciFunction[],
  hasGroup: (group: number) => Promise<boolean>,
): Promise<void> => {
  for (const address of devicesOf(machine)) {
    const fn = functions.find((one) => one.address === address);
    if (fn === undefined) throw drift(`There is no PCI function at ${address}.`);
    if (fn.driver !== 'vfio-pci') throw drift(`${address} is bound to ${fn.driver ?? 'no driver'}, not to vfio-pci.`);
    const group = fn.iommu_group;
    if (group === null) throw blocked(`${address} is in no IOMMU group. Enable the IOMMU.`);
    const others = functions.filter(
      (one) => one.iommu_group === group && !isBridge(one) && one.driver !== 'vfio-pci' && one.driver !== null,
    );
    if (others.length > 0)
      throw blocked(
        `The IOMMU group of ${address} also holds ${others.map((one) => `${one.address} (${one.driver})`).join(', ')}.`,
      );
    if (!(await hasGroup(group)))
      throw new HostError('vfio_group_unavailable', `/dev/vfio/${group} of ${address} is not there.`);
  }
};

export const refuseDisks = ({ plan }: VmPlan, disks: readonly DiskFacts[]): void => {
  for (const { nvme_device: device, nvme_serial: serial } of plan.slots) {
    const disk = disks.find((one) => one.device === device);
    if (disk?.serial !== serial)
      throw drift(
        `${device} is ${disk === undefined ? 'missing' : `disk ${disk.serial}`}; disk ${serial} was expected.`,
      );
    const use = [...disk.mounts, ...disk.holders, ...(disk.is_swap ? ['swap'] : []), ...(disk.is_boot ? ['/'] : [])];
    if (use.length > 0) throw blocked(`Disk ${serial} is in use by the host: ${[...new Set(use)].join(', ')}.`);
  }
};

export const refuseWithoutPages = ({ plan }: VmPlan, pages: SystemFacts['hugepages']): void => {
  if (plan.hugepages === null) return;
  const { size_kib: size, count } = plan.hugepages;
  if ((plan.numa_policy ?? 'strict') !== 'strict') {
    const free = pages.filter((one) => one.size_kib === size).reduce((sum, one) => sum + one.free, 0);
    if (free < count)
      throw new HostError('no_space', `The host has ${free} free pages of ${size} KiB, ${count} are needed.`);
    return;
  }
  const each = Math.ceil(count / Math.max(1, plan.numa_nodes.length));
  for (const node of plan.numa_nodes) {
    const free = pages.find((one) => one.node === node && one.size_kib === size)?.free ?? 0;
    if (free < each)
      throw new HostError('no_space', `NUMA node ${node} has ${free} free pages of ${size} KiB, ${each} are needed.`);
  }
};

/** The port was created for this VM and is on the bridge of the site. */
export const refuseUnplugged = async (run: Run, network: NetworkConfig, { plan }: VmPlan): Promise<void> => {
  const { status, stdout, stderr } = await networkRun(
    run,
    network,
  )({ argv: ['ovs-vsctl', '--timeout=10', 'port-to-br', plan.ovs_port], recorded: 'ovs-vsctl-port-to-br.txt' });
  if (status !== 0 || stdout.trim() !== network.bridge)
    throw blocked(
      `Port ${plan.ovs_port} is not on bridge ${network.bridge} but ${stdout.trim() || `nowhere (${stderr.trim().slice(0, 200)})`}.`,
    );
};

const filesOf = (boot: Boot, profile: string): readonly string[] => {
  if (boot.kind === 'kernel') return [boot.kernel, ...(boot.initrd === null ? [] : [boot.initrd])];
  const firmware = boot.secure_profiles.includes(profile) ? boot.secure : boot.plain;
  return firmware === null ? [] : [firmware.code, firmware.vars_template];
};

/** What VMs of every profile need to boot. A host with a kernel for them needs no firmware. */
export const firmwareFiles = ({ uefi, kernel }: HypervisorConfig['boot']): readonly string[] => [
  ...new Set(
    kernel === null ? ['', ...uefi.secure_profiles].flatMap((profile) => filesOf(uefi, profile)) : filesOf(kernel, ''),
  ),
];

/** The boot kinds whose files are there. */
export const findBootKinds = async (
  files: Pick<Files, 'exists'>,
  { boot: { uefi, kernel } }: HypervisorConfig,
): Promise<BootKind[]> => {
  const ways = [uefi, ...(kernel === null ? [] : [kernel])];
  const missing = await Promise.all(
    ways.map(async (way) => (await Promise.all(filesOf(way, '').map((path) => files.exists(path)))).includes(false)),
  );
  return ways.filter((_, index) => missing[index] === false).map(({ kind }) => kind);
};

/** How the VM starts: as its image needs it. */
export const bootOf = ({ boot }: HypervisorConfig, { boot_kind = 'uefi' }: VmPlan): Boot => {
  const way = boot[boot_kind];
  if (way === null)
    throw new HostError(
      'unsupported',
      'The image needs a kernel of the host, and this host has none for VMs. Set GPUAAS_NODE_BOOT_KERNEL.',
    );
  return way;
};

export const refuseMissingFiles = async (files: Files, config: HypervisorConfig, machine: VmPlan): Promise<void> => {
  for (const path of [config.emulator, ...filesOf(bootOf(config, machine), machine.plan.profile)])
    if (!(await files.exists(path))) throw new HostError('unsupported', `${path} is not there.`);
};
