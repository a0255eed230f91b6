/**
 * The devices of a VM. Disks are whole block devices under persistent names, in slot order with the boot disk first;
 * GPUs, and fabric functions where the task says so, are passed through as they are bound (`managed='no'`: binding is a
 * separate task, and devices stay on vfio-pci between tenants). There is no display: the console is a serial port with a socket that the host
 * connects to, and its output also goes to a file that the log daemon rotates.
 */
import { HostError, type VmPlan } from '../host/host.ts';
import { type DiskSlot, drivesOf } from './drives.ts';
import { diskSerial, interfaceName, macAddress, path, pciAddress } from './grammar.ts';
import { KEYS_CHANNEL } from './guest-keys.ts';
import { REPORT_CHANNEL } from './guest-report.ts';
import { type HostProfile, vmPaths } from './host-profile.ts';
import type { GuestComplex, GuestPort, PciPlan } from './pci-plan.ts';
import { element, type XmlElement } from './xml.ts';

const hex = (value: number, digits: number): string => `0x${value.toString(16).padStart(digits, '0')}`;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** vda to vdz, then vdaa. */
export const driveName = (index: number): string =>
  `vd${index < LETTERS.length ? '' : LETTERS[Math.floor(index / LETTERS.length) - 1]}${LETTERS[index % LETTERS.length]}`;

const drive = (slot: DiskSlot, index: number, profile: HostProfile): XmlElement => {
  const device = path(slot.nvme_device);
  if (!profile.disk_folders.some((folder) => device.startsWith(`${folder}/`)))
    throw new HostError('blocked', `${device} is not a persistent disk name (${profile.disk_folders.join(', ')})`);
  return element(
    'disk',
    { type: 'block', device: 'disk' },
    element('driver', {
      name: 'qemu',
      type: 'raw',
      cache: 'none',
      io: 'native',
      discard: 'unmap',
      iothread: index + 1,
    }),
    element('source', { dev: device }),
    element('target', { dev: driveName(index), bus: 'virtio' }),
    element('serial', {}, diskSerial(slot.nvme_serial)),
    ...(index === 0 && profile.boot.kind === 'uefi' ? [element('boot', { order: 1 })] : []),
  );
};

/** On SCSI, which the small kernels of cloud images support; many of them have no SATA. */
const seed = (file: string): readonly XmlElement[] => [
  element('controller', { type: 'scsi', index: 0, model: 'virtio-scsi' }),
  element(
    'disk',
    { type: 'file', device: 'cdrom' },
    element('driver', { name: 'qemu', type: 'raw' }),
    element('source', { file }),
    element('target', { dev: 'sda', bus: 'scsi' }),
    element('readonly'),
  ),
];

/** The maximum of virtio, so that a burst is not dropped before the guest OS reads it. */
const TUNED_RING = 1024;

const OFF = { csum: 'off', tso4: 'off', tso6: 'off', ecn: 'off', ufo: 'off' };

/**
 * The port exists in the switch, with its security, before the VM; the VM creates the device of that name and removes
 * it. If libvirt attached it, libvirt would remove the port first, and with it the isolation between VMs.
 */
const nic = ({ plan }: VmPlan, { nic: card }: HostProfile): XmlElement =>
  element(
    'interface',
    { type: 'ethernet' },
    element('mac', { address: macAddress(plan.mac_address) }),
    element('target', { dev: interfaceName(plan.ovs_port) }),
    element('model', { type: 'virtio' }),
    element(
      'driver',
      {
        name: card.driver,
        queues: card.queues > 1 ? card.queues : null,
        rx_queue_size: card.is_tuned === true ? TUNED_RING : null,
      },
      // A switch in user space does not complete checksums that the guest OS offloaded to the card.
      ...(card.has_offloads ? [] : [element('host', { ...OFF, gso: 'off' }), element('guest', OFF)]),
    ),
    element('rom', { enabled: 'no' }),
  );

const hostAddress = (address: string): XmlElement => {
  const [domain = '', bus = '', rest = ''] = pciAddress(address).split(':');
  const [slot, fn] = rest.split('.');
  return element('address', { domain: `0x${domain}`, bus: `0x${bus}`, slot: `0x${slot}`, function: `0x${fn}` });
};
const guestAddress = (bus: number, slot: number): XmlElement =>
  element('address', { type: 'pci', domain: '0x0000', bus: hex(bus, 2), slot: hex(slot, 2), function: '0x0' });

const hostdev = (port: GuestPort): XmlElement =>
  element(
    'hostdev',
    { mode: 'subsystem', type: 'pci', managed: 'no' },
    element('driver', { name: 'vfio' }),
    element('source', {}, hostAddress(port.address)),
    // Boot code that a tenant may have written to a card is not run for the next one.
    element('rom', { bar: 'off' }),
    guestAddress(port.index, 0),
  );

const complex = ({ expander, ports }: GuestComplex): readonly XmlElement[] => [
  ...(expander === null
    ? []
    : [
        element(
          'controller',
          { type: 'pci', index: expander.index, model: 'pcie-expander-bus' },
          element('model', { name: 'pxb-pcie' }),
          element(
            'target',
            { busNr: expander.bus_number },
            ...(expander.numa_node === null ? [] : [element('node', {}, expander.numa_node)]),
          ),
        ),
      ]),
  ...ports.map((port) =>
    element(
      'controller',
      { type: 'pci', index: port.index, model: 'pcie-root-port' },
      ...(expander === null ? [] : [guestAddress(expander.index, port.slot)]),
    ),
  ),
  ...ports.map(hostdev),
];

const channel = (name: string, socket: string): XmlElement =>
  element(
    'channel',
    { type: 'unix' },
    element('source', { mode: 'bind', path: socket }),
    element('target', { type: 'virtio', name }),
  );

export const devices = (machine: VmPlan, profile: HostProfile, pci: PciPlan): XmlElement => {
  const paths = vmPaths(profile, machine.name);
  return element(
    'devices',
    {},
    element('emulator', {}, path(profile.emulator)),
    ...drivesOf(machine.plan).map((slot, index) => drive(slot, index, profile)),
    ...seed(paths.seed),
    element('controller', { type: 'usb', model: 'none' }),
    element(
      'controller',
      { type: 'pci', index: 0, model: 'pcie-root' },
      element('pcihole64', { unit: 'KiB' }, pci.mmio64_mib * 1024),
    ),
    ...(profile.passthrough === 'vfio' ? pci.complexes.flatMap(complex) : []),
    nic(machine, profile),
    element(
      'serial',
      { type: 'unix' },
      element('source', { mode: 'bind', path: paths.serial }),
      element('log', { file: paths.console, append: 'on' }),
      element('target', { port: 0 }),
    ),
    channel(REPORT_CHANNEL, paths.report),
    channel(KEYS_CHANNEL, paths.keys),
    element('rng', { model: 'virtio' }, element('backend', { model: 'random' }, '/dev/urandom')),
    element('video', {}, element('model', { type: 'none' })),
    element('memballoon', { model: 'none' }),
  );
};
