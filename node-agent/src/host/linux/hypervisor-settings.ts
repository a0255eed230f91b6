/** Operator settings for slice VMs. */
import type { ConfigReader } from '@gpuaas/kit';
import { cpusIn } from '../../vm/cpu-plan.ts';
import { path, username } from '../../vm/grammar.ts';
import { HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';

const ACCELERATORS = ['kvm', 'tcg', 'probe'] as const;

const readBoot = (read: ConfigReader): HypervisorConfig['boot'] => {
  const kernel = read.optional('GPUAAS_NODE_BOOT_KERNEL');
  const profiles = read.optional('GPUAAS_NODE_SECURE_BOOT_PROFILES')?.split(',') ?? [];
  return {
    uefi: {
      ...HYPERVISOR_DEFAULTS.boot.uefi,
      secure_profiles: profiles.map((one) => one.trim()).filter((one) => one !== ''),
    },
    kernel:
      kernel === undefined
        ? null
        : {
            kind: 'kernel',
            kernel,
            initrd: read.optional('GPUAAS_NODE_BOOT_INITRD') ?? null,
            command_line: read.text('GPUAAS_NODE_BOOT_COMMAND_LINE', 'root=/dev/vda2 ro console=ttyS0'),
          },
  };
};

export const readHypervisorConfig = (read: ConfigReader): HypervisorConfig => {
  const config: HypervisorConfig = {
    ...HYPERVISOR_DEFAULTS,
    connect: read.text('GPUAAS_NODE_LIBVIRT_URI', HYPERVISOR_DEFAULTS.connect),
    accelerator: read.oneOf('GPUAAS_NODE_ACCELERATOR', ACCELERATORS, 'kvm'),
    boot: readBoot(read),
    folder: read.text('GPUAAS_NODE_SLICE_DIR', HYPERVISOR_DEFAULTS.folder),
    nic: {
      driver: read.oneOf('GPUAAS_NODE_NIC_DRIVER', ['vhost', 'qemu'] as const, 'vhost'),
      has_offloads: read.oneOf('GPUAAS_NODE_NIC_OFFLOADS', ['on', 'off'] as const, 'on') === 'on',
    },
    is_network_tuned: read.oneOf('GPUAAS_NODE_NETWORK_TUNING', ['on', 'off'] as const, 'off') === 'on',
    host_cpus: read.optional('GPUAAS_NODE_HOST_CPUS') ?? null,
    username: read.text('GPUAAS_NODE_GUEST_USER', HYPERVISOR_DEFAULTS.username),
  };
  const check = (name: string, work: () => unknown): void => {
    try {
      work();
    } catch (error) {
      read.problem(name, error instanceof Error ? error.message : String(error));
    }
  };
  check('GPUAAS_NODE_SLICE_DIR', () => path(config.folder));
  check('GPUAAS_NODE_HOST_CPUS', () => cpusIn(config.host_cpus ?? ''));
  check('GPUAAS_NODE_GUEST_USER', () => username(config.username));
  return config;
};
