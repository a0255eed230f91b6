/**
 * Whether VMs can run here, tested before slots become schedulable: libvirt responds, the configured files exist, and a
 * test guest runs on KVM. An existing /dev/kvm proves nothing.
 */
import type { HypervisorFacts } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { checkKvm } from './hypervisor-accelerator.ts';
import type { HypervisorConfig } from './hypervisor-config.ts';
import { firmwareFiles } from './hypervisor-ready.ts';
import type { Run } from './run.ts';

type Given = Readonly<{ config: HypervisorConfig; files: Files; run: Run }>;

const QUERY_MS = 60_000;

/** Null: it does not respond or does not exist. */
const libvirtVersion = async ({ config, run }: Given): Promise<string | null> => {
  try {
    const { status, stdout } = await run({
      argv: ['virsh', '--connect', config.connect, '--quiet', 'version', '--daemon'],
      recorded: 'virsh-version-daemon.txt',
      timeout_ms: QUERY_MS,
    });
    if (status !== 0) return null;
    const daemon = /Running against daemon: ([\d.]+)/.exec(stdout)?.[1];
    return daemon ?? /libvirt ([\d.]+)/.exec(stdout)?.[1] ?? 'unknown';
  } catch (error) {
    if (error instanceof HostError && (error.code === 'unsupported' || error.code === 'timeout')) return null;
    throw error;
  }
};

const missingFiles = async ({ config, files }: Given): Promise<string[]> => {
  const named = [config.emulator, ...firmwareFiles(config.boot)];
  const there = await Promise.all(named.map((path) => files.exists(path)));
  return named.filter((_, index) => there[index] === false);
};

export const readHypervisor = async (given: Given): Promise<HypervisorFacts> => {
  const [libvirt_version, missing_files] = await Promise.all([libvirtVersion(given), missingFiles(given)]);
  const { accelerator } = given.config;
  if (accelerator === 'tcg')
    return {
      libvirt_version,
      missing_files,
      accelerator,
      kvm: { is_usable: false, reason: 'disabled in the settings' },
    };
  // Without the emulator KVM cannot be tested.
  const kvm = missing_files.includes(given.config.emulator)
    ? { is_usable: false, reason: `${given.config.emulator} is not there` }
    : await checkKvm(given);
  return { libvirt_version, missing_files, accelerator: kvm.is_usable || accelerator === 'kvm' ? 'kvm' : 'tcg', kvm };
};
