/**
 * What the host needs before slices can run on it. Each entry states what was found and, if it is not met, what to do;
 * an unreadable part is not met.
 */
import type { HostFacts, Prerequisite } from '@gpuaas/contract/node';
import { all, type Finding, met, of, tool, unmet } from './finding.ts';
import type { Place } from './places.ts';
import { factOf, reasonOf } from './read.ts';
import { firmware, kvm, libvirt, ovs, pendingReboot, vfio } from './vm-prerequisites.ts';

const ON = ['intel_iommu=on', 'amd_iommu=on', 'iommu=pt', 'iommu=on'];
const OFF = ['intel_iommu=off', 'amd_iommu=off', 'iommu=off'];
const ARGUMENTS = 'intel_iommu=on iommu=pt (AMD: iommu=pt)';

/** Kernels may enable it by default; then the groups prove it. */
const iommuArguments = (facts: HostFacts): Finding =>
  of(facts.system, ({ kernel_command_line }) => {
    const parameters = kernel_command_line.split(/\s+/);
    const off = parameters.find((word) => OFF.includes(word));
    if (off !== undefined) return unmet(`The kernel was started with ${off}. Replace it by ${ARGUMENTS}.`, true);
    const on = parameters.filter((word) => ON.some((one) => word === one || word.startsWith(`${one},`)));
    if (on.length > 0) return met(on.join(' '));
    return (factOf(facts.iommu_groups)?.length ?? 0) > 0
      ? met('Not on the command line, but enabled by kernel default.')
      : unmet(`Add ${ARGUMENTS} to the kernel command line and restart the host.`, true);
  });

const iommuGroups = (facts: HostFacts): Finding =>
  of(facts.iommu_groups, (groups) =>
    groups.length > 0
      ? met(`${groups.length} groups`)
      : unmet('There are no IOMMU groups. Enable VT-d or AMD-Vi in firmware and kernel, then restart the host.', true),
  );

const sriov = (facts: HostFacts, places: readonly Place[]): Finding =>
  of(facts.pci, () => {
    const whole = places.filter(({ card, vf }) => card !== null && vf === card.address).length;
    const split = places.flatMap(({ card, vf }) =>
      card && vf !== card.address ? [[card.address, card] as const] : [],
    );
    const cards = [...new Map(split).values()];
    if (cards.length === 0 && whole > 0) return met(`Not needed: ${whole} whole functions are assigned.`);
    if (cards.length === 0) return unmet('No fabric card shares a PCIe switch with a GPU.');
    const off = cards.filter((card) => card.virtual_functions_max === 0).map((card) => card.address);
    if (off.length > 0)
      return unmet(
        `SR-IOV is disabled in the firmware of ${off.join(', ')}. Enable it with mlxconfig and restart.`,
        true,
      );
    const bare = cards.filter((card) => card.virtual_functions.length === 0).map((card) => card.address);
    return bare.length > 0
      ? unmet(`${bare.join(', ')} has no virtual functions. Write their number to sriov_numvfs.`)
      : met(`${cards.reduce((sum, card) => sum + card.virtual_functions.length, 0)} virtual functions`);
  });

const hugepages = (facts: HostFacts): Finding =>
  of(facts.system, (system) => {
    const reserved = system.hugepages.filter((one) => one.total > 0);
    return reserved.length > 0
      ? met(reserved.map((one) => `node ${one.node}: ${one.total} x ${one.size_kib} KiB, ${one.free} free`).join('; '))
      : unmet(
          'None are reserved. Add hugepagesz=1G hugepages=N to the kernel command line and restart the host.',
          true,
        );
  });

const fabricManager = (facts: HostFacts): Finding =>
  of(facts.fabric, ({ nvswitches, manager, partitions }) => {
    if (nvswitches.length === 0) return met('Not needed: the host has no NVSwitch.');
    if (!manager.is_running) return unmet('The host has NVSwitches and nv-fabricmanager is not running. Start it.');
    if (manager.mode !== 'shared_nvswitch')
      return unmet(
        `nv-fabricmanager runs in ${manager.mode ?? 'unknown'} mode. Set FABRIC_MODE=1 in fabricmanager.cfg and restart it.`,
      );
    if (manager.driver_version != null && manager.version !== manager.driver_version)
      return unmet(
        `nv-fabricmanager is ${manager.version ?? 'of an unknown version'} and the driver ${manager.driver_version}. Install the same version of both.`,
      );
    if (manager.is_restart_mode === false)
      return unmet(
        'A restart of nv-fabricmanager would disconnect NVLink of running VMs. Set FABRIC_MODE_RESTART=1 in fabricmanager.cfg and restart it while no VM runs.',
      );
    return partitions.length > 0
      ? met(`${manager.version ?? 'version unknown'}, shared mode, ${partitions.length} partitions`)
      : unmet('nv-fabricmanager has no partitions. Check its log.');
  });

const secureBoot = (facts: HostFacts): Finding =>
  of(facts.system, ({ secure_boot }) => {
    if (secure_boot === null) return unmet('The secure boot state could not be read from the firmware variables.');
    return secure_boot
      ? unmet('Secure boot is enabled, and profiles that tune the host need it disabled. Disable it in firmware.', true)
      : met('off');
  });

const PARTS = ['system', 'pci', 'iommu_groups', 'gpus', 'disks', 'nics', 'fabric', 'network', 'tools'] as const;

const readable = (facts: HostFacts): Finding => {
  const blind = PARTS.flatMap((part) => {
    const reason = reasonOf(facts[part]);
    return reason === null ? [] : [`${part.replace('_', ' ')}: ${reason}`];
  });
  return blind.length === 0 ? met('All facts were read.') : unmet(`Unreadable: ${blind.join('; ')}`);
};

const CHECKS: Readonly<Record<string, (facts: HostFacts, places: readonly Place[]) => Finding>> = {
  facts_readable: readable,
  accelerators: (facts, places) =>
    of(facts.pci, () =>
      places.some((place) => place.gpu !== null)
        ? met(`${places.filter((place) => place.gpu !== null).length} found`)
        : unmet('No GPU is on the PCI bus.'),
    ),
  kvm,
  iommu_kernel_args: iommuArguments,
  iommu_groups: iommuGroups,
  vfio_pci: vfio,
  sriov,
  ovs,
  libvirt,
  qemu: (facts) =>
    all([tool(facts, 'qemu', 'Install qemu-system-x86.'), tool(facts, 'qemu-img', 'Install qemu-utils.')]),
  uefi_firmware: firmware,
  cloud_init_tools: () => met('Not needed: the agent writes seeds.'),
  rdma_tools: (facts) => tool(facts, 'rdma', 'Install rdma-core and iproute2.'),
  nvme_cli: (facts) =>
    all([tool(facts, 'nvme', 'Install nvme-cli.'), tool(facts, 'blkdiscard', 'Install util-linux.')]),
  hugepages,
  fabric_manager: fabricManager,
  ip_forwarding: (facts) =>
    of(facts.network, ({ ip_forwarding }) =>
      ip_forwarding ? met('on') : unmet('IPv4 forwarding is off. Set net.ipv4.ip_forward=1.'),
    ),
  // The rule itself is created with the first VM and removed with the last.
  nat: (facts) => all([tool(facts, 'nft', 'Install nftables.'), tool(facts, 'conntrack', 'Install conntrack.')]),
  dhcp: (facts) => tool(facts, 'dnsmasq', 'Install dnsmasq-base.'),
  image_cache: (facts) =>
    of(facts.images, (images) =>
      // An empty cache does not make a host unschedulable.
      met(images.length > 0 ? `${images.length} images` : 'No image is cached; the first launch pulls one.'),
    ),
  secure_boot: secureBoot,
  pending_reboot: pendingReboot,
};

export const prerequisitesOf = (facts: HostFacts, places: readonly Place[]): Prerequisite[] =>
  Object.entries(CHECKS).map(([name, check]) => ({ name, ...check(facts, places) }));
