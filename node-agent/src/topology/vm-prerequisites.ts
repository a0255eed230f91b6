/**
 * What running VMs requires of the host. A test by libvirt and a guest counts if there was one; installed tools are
 * second best, and all that a recording has.
 */
import type { HostFacts } from '@gpuaas/contract/node';
import { all, type Finding, met, of, tool, unmet } from './finding.ts';
import type { Place } from './places.ts';
import { factOf } from './read.ts';

const asked = (facts: HostFacts) => (facts.hypervisor === undefined ? null : factOf(facts.hypervisor));

/** An existing /dev/kvm may still run no guest: the result of a test guest counts, if there was one. */
export const kvm = (facts: HostFacts): Finding => {
  const tried = asked(facts);
  if (tried?.accelerator === 'tcg')
    return met(`Not used: VMs are emulated (${tried.kvm.reason ?? 'by configuration'}), which is slow.`);
  return of(facts.system, ({ has_kvm }) => {
    if (!has_kvm) return unmet('/dev/kvm is not there. Enable virtualization in firmware.', true);
    if (tried === null) return met('/dev/kvm is there');
    return tried.kvm.is_usable
      ? met('a test VM ran on it')
      : unmet(
          `/dev/kvm is there, and no test VM runs on it: ${tried.kvm.reason ?? 'no reason given'}. Enable virtualization in firmware, or nested virtualization where this host is a guest itself.`,
          true,
        );
  });
};

export const libvirt = (facts: HostFacts): Finding =>
  all([
    tool(facts, 'libvirt', 'Install libvirt-daemon-system.'),
    ...(facts.hypervisor === undefined
      ? []
      : [
          of(facts.hypervisor, ({ libvirt_version }) =>
            libvirt_version === null
              ? unmet('libvirt does not respond. Start it, or set its address in GPUAAS_NODE_LIBVIRT_URI.')
              : met(`libvirt ${libvirt_version}`),
          ),
        ]),
  ]);

export const firmware = (facts: HostFacts): Finding => {
  const seen = asked(facts);
  if (seen === null) return tool(facts, 'uefi-firmware', 'Install ovmf.');
  return seen.missing_files.length === 0
    ? met('All configured files exist.')
    : unmet(`${seen.missing_files.join(', ')}: missing. Install ovmf and qemu-system-x86, or configure other files.`);
};

/** The agent binds the devices of slots; a host driver that holds a GPU from boot on may be slow to release it. */
export const vfio = (facts: HostFacts, places: readonly Place[]): Finding => {
  const held = places.flatMap(({ gpu }) => (gpu?.driver != null && gpu.driver !== 'vfio-pci' ? [gpu] : []));
  const found = tool(
    facts,
    'vfio-pci',
    'Load it with modprobe vfio-pci, and at every boot with a line vfio-pci in /etc/modules-load.d/gpuaas.conf.',
  );
  if (!found.is_met || held.length === 0) return found;
  const ids = [...new Set(held.map((gpu) => `${gpu.vendor_id}:${gpu.device_id}`))].join(',');
  const drivers = [...new Set(held.map((gpu) => gpu.driver))].join(', ');
  return met(
    `${found.message}. ${held.length} GPUs are bound to ${drivers} until allocated; vfio-pci.ids=${ids} on the kernel command line binds them at boot.`,
  );
};

export const ovs = (facts: HostFacts): Finding =>
  all([
    tool(facts, 'ovs-vsctl', 'Install openvswitch-switch.'),
    of(facts.network, ({ ovs_version, bridges }) => {
      if (ovs_version === null) return unmet('Open vSwitch does not respond. Start it.');
      return bridges.length > 0
        ? met(`bridges ${bridges.map((one) => one.name).join(', ')}`)
        : unmet('There is no bridge. Create ovsbr0 with the gateway address of the private network.');
    }),
    // A condition that would prevent the first VM fails the host.
    of(facts.network, ({ unready }) => (unready == null ? met('VMs can be attached.') : unmet(unready))),
  ]);

/** Schedulable or not, a host reboots when its operator drains it for that. */
export const pendingReboot = (facts: HostFacts): Finding =>
  of(facts.system, ({ is_reboot_pending }) =>
    met(is_reboot_pending === true ? 'Installed packages need a restart. Drain the host, then restart it.' : 'none'),
  );
