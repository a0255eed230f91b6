/**
 * The host of the host tier. Disks, images, VMs, network and the system are real, on loop devices, libvirt, QEMU and
 * Open vSwitch in namespaces of the test; PCI functions, GPUs and fabric are simulated, with the same serials and
 * addresses. So slots are complete and no rule is relaxed: in place of a GPU a VM gets an emulated device.
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requires } from '../../tools/test/requires.ts';
import type { Host } from '../src/host/host.ts';
import { HYPERVISOR_DEFAULTS, type HypervisorConfig } from '../src/host/linux/hypervisor-config.ts';
import { type ComposedSpec, openComposedHost } from './composed-open.ts';
import { putFile } from './image-folder.ts';
import { type LibvirtLab, startLibvirtLab } from './libvirt-lab.ts';
import { makeLoopHost } from './loop-host.ts';
import { labLacks, type NetworkLab, startNetworkLab } from './network-lab.ts';
import { tinyGuest } from './tiny-guest.ts';

/** Why it cannot be created here; false if it can. */
export const composedHostLacks = (): string | false =>
  labLacks() ||
  requires(
    'root',
    'loop',
    'qemu-img',
    'qemu',
    'libvirtd',
    'dropbear',
    'mtools',
    'sgdisk',
    'ssh',
    'sftp-server',
    'rsync',
  );

export const TINY_IMAGE = 'tiny';
const MIB = 1024 ** 2;

type LoopHost = Awaited<ReturnType<typeof makeLoopHost>>;

export type ComposedHost = Readonly<{
  host: Host;
  /** As a restarted agent opens it. */
  reopen(): Host;
  /** For a separate process. */
  spec: ComposedSpec;
  loop: LoopHost;
  network: NetworkLab;
  libvirt: LibvirtLab;
  config: HypervisorConfig;
  close(): Promise<void>;
}>;

export const makeComposedHost = async (
  given: Readonly<{
    slots?: number;
    disk_bytes?: number;
    /** Images besides the tiny one. */
    images?: readonly Readonly<{ name: string; file: string; format: 'raw' | 'qcow2' }>[];
    hypervisor?: Partial<HypervisorConfig>;
  }> = {},
): Promise<ComposedHost> => {
  const guest = tinyGuest();
  /** Undone in reverse. */
  const undo: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const loop = await makeLoopHost({ slots: given.slots ?? 2, disk_bytes: given.disk_bytes ?? 64 * MIB });
    undo.push(loop.close);
    await putFile(loop.source, guest.image, { name: TINY_IMAGE });
    for (const { file, ...said } of given.images ?? []) await putFile(loop.source, file, said);
    const network = await startNetworkLab();
    undo.push(network.close);
    const libvirt = await startLibvirtLab({
      network_prefix: network.config.command_prefix,
      drives: join(loop.disks.root, 'dev'),
    });
    undo.push(libvirt.close);
    // A test may remove it.
    const kernel = join(libvirt.folder, 'vmlinuz');
    await copyFile(guest.kernel, kernel);
    const config: HypervisorConfig = {
      ...HYPERVISOR_DEFAULTS,
      connect: libvirt.connect,
      accelerator: 'probe',
      boot: {
        ...HYPERVISOR_DEFAULTS.boot,
        kernel: { kind: 'kernel', kernel, initrd: guest.initrd, command_line: guest.command_line },
      },
      folder: join(libvirt.folder, 'slices'),
      report_folder: join(libvirt.folder, 'report'),
      libvirt_log_folder: join(libvirt.folder, 'log/qemu'),
      passthrough: 'emulated',
      nic: { driver: 'qemu', has_offloads: false },
      has_guest_numa: false,
      ...given.hypervisor,
    };
    const spec: ComposedSpec = { ...loop.spec, network: network.config, hypervisor: config };
    const reopen = (): Host => openComposedHost(spec, loop.host);
    return { host: reopen(), reopen, spec, loop, network, libvirt, config, close };
  } catch (error) {
    await close();
    throw error;
  }
};
