/** The site's settings for slice VMs, and how to reach libvirt. */
import type { FirmwareBoot, HostProfile, KernelBoot } from '../../vm/host-profile.ts';

export type HypervisorConfig = Readonly<{
  /** As virsh takes it. */
  connect: string;
  /** `probe`: KVM if a test guest runs on it, else emulation. */
  accelerator: 'kvm' | 'tcg' | 'probe';
  emulator: string;
  machine_type: string;
  /** For each boot kind of images; a kernel only where one is configured. */
  boot: Readonly<{ uefi: FirmwareBoot; kernel: KernelBoot | null }>;
  /** Contains a directory per VM: definition, seed, firmware variables, console. */
  folder: string;
  /** Sockets for guest reports, key installation and serial consoles. A socket's path must be short. */
  report_folder: string;
  /** Where libvirt logs how it started a VM. */
  libvirt_log_folder: string;
  /** Where disks may be named. */
  disk_folders: readonly string[];
  passthrough: HostProfile['passthrough'];
  /** Without offloads if the switch runs in user space. */
  nic: Readonly<{ driver: 'vhost' | 'qemu'; has_offloads: boolean }>;
  /** Longer rings of the network card, and a guest kernel tuned for a fast network. */
  is_network_tuned: boolean;
  /**
   * CPUs reserved for the host, as a list: each vCPU then has a dedicated one of the others. Null: the vCPUs of all VMs
   * share the CPUs of their NUMA node.
   */
  host_cpus: string | null;
  /** Whether the guest sees the NUMA nodes of the host. */
  has_guest_numa: boolean;
  /** The account in the guest OS that the keys of a launch open. */
  username: string;
  /** How long a guest OS may take to shut down for a requested reboot. */
  reboot_grace_s: number;
}>;

const OVMF = '/usr/share/OVMF';

export const HYPERVISOR_DEFAULTS: HypervisorConfig = {
  connect: 'qemu:///system',
  accelerator: 'kvm',
  emulator: '/usr/bin/qemu-system-x86_64',
  machine_type: 'q35',
  boot: {
    uefi: {
      kind: 'uefi',
      plain: { code: `${OVMF}/OVMF_CODE_4M.fd`, vars_template: `${OVMF}/OVMF_VARS_4M.fd` },
      secure: { code: `${OVMF}/OVMF_CODE_4M.secboot.fd`, vars_template: `${OVMF}/OVMF_VARS_4M.ms.fd` },
      secure_profiles: [],
    },
    kernel: null,
  },
  folder: '/var/lib/gpuaas/slices',
  report_folder: '/run/gpuaas/report',
  libvirt_log_folder: '/var/log/libvirt/qemu',
  disk_folders: ['/dev/disk/by-id'],
  passthrough: 'vfio',
  nic: { driver: 'vhost', has_offloads: true },
  is_network_tuned: false,
  host_cpus: null,
  has_guest_numa: true,
  username: 'ubuntu',
  reboot_grace_s: 120,
};

/** A VM's directory, and the files of it as the compiler names them. */
export const foldersOf = (config: HypervisorConfig, name: string): HostProfile['folders'] => {
  const own = `${config.folder}/${name}`;
  return { nvram: own, seed: own, console: own, report: config.report_folder };
};
