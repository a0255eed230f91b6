/** The host: product, boot, memory by NUMA node, firmware settings. */
import type { HostReport, SystemFacts } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import { type Files, integerOf } from './files.ts';
import { outputOf, type Run } from './run.ts';

const NODES = '/sys/devices/system/node';
const KIB_PER_MIB = 1024;

const kibOf = (meminfo: string, name: string): number => {
  const value = new RegExp(`${name}:\\s+(\\d+) kB`).exec(meminfo)?.[1];
  if (value === undefined) throw new HostError('host_error', `The memory information has no ${name}.`);
  return Number(value);
};

const pagesIn = async (files: Files, node: number, folder: string): Promise<SystemFacts['hugepages']> => {
  const sizes = (await files.findNames(folder, /^hugepages-\d+kB$/)) ?? [];
  return Promise.all(
    sizes.map(async (name) => ({
      node,
      size_kib: Number(/\d+/.exec(name)?.[0]),
      total: integerOf(await files.text(`${folder}/${name}/nr_hugepages`), name),
      free: integerOf(await files.text(`${folder}/${name}/free_hugepages`), name),
    })),
  );
};

type Memory = Pick<SystemFacts, 'numa' | 'hugepages'>;

/** Node numbers may have gaps, and a node may have memory or CPUs alone. Kernels without NUMA have one node. */
const readNuma = async (files: Files, memory_mib: number): Promise<Memory> => {
  const names = (await files.findNames(NODES, /^node\d+$/)) ?? [];
  if (names.length === 0)
    return {
      numa: [{ node: 0, cpus: (await files.find('/sys/devices/system/cpu/online')) ?? '', memory_mib }],
      hugepages: await pagesIn(files, 0, '/sys/kernel/mm/hugepages'),
    };
  const nodes = names
    .map((name) => ({ name, node: Number(name.slice('node'.length)) }))
    .sort((a, b) => a.node - b.node);
  const numa = await Promise.all(
    nodes.map(async ({ name, node }) => ({
      node,
      cpus: await files.text(`${NODES}/${name}/cpulist`),
      memory_mib: Math.floor(kibOf(await files.text(`${NODES}/${name}/meminfo`), 'MemTotal') / KIB_PER_MIB),
    })),
  );
  const hugepages = await Promise.all(
    nodes.map(({ name, node }) => pagesIn(files, node, `${NODES}/${name}/hugepages`)),
  );
  return { numa, hugepages: hugepages.flat() };
};

const SECURE_BOOT = '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c';

/**
 * Four bytes of attributes, then the value. Without UEFI there is no secure boot; without the variable it is unknown.
 */
const readSecureBoot = async (files: Files): Promise<boolean | null> => {
  if (!(await files.exists('/sys/firmware/efi'))) return false;
  const variable = await files.findBytes(SECURE_BOOT).catch(() => null);
  const value = variable?.[4];
  return value === undefined ? null : value === 1;
};

const bootedAt = (stat: string): string => {
  const seconds = /^btime (\d+)$/m.exec(stat)?.[1];
  if (seconds === undefined) throw new HostError('host_error', '/proc/stat does not state when the host booted.');
  return new Date(Number(seconds) * 1000).toISOString();
};

export const readSystem = async (files: Files): Promise<SystemFacts> => {
  const [
    hostname,
    product,
    kernel,
    kernel_command_line,
    boot_id,
    stat,
    meminfo,
    has_kvm,
    is_reboot_pending,
    secure_boot,
  ] = await Promise.all([
    files.text('/proc/sys/kernel/hostname'),
    files.find('/sys/class/dmi/id/product_name'),
    files.text('/proc/sys/kernel/osrelease'),
    files.text('/proc/cmdline'),
    files.text('/proc/sys/kernel/random/boot_id'),
    files.text('/proc/stat'),
    files.text('/proc/meminfo'),
    files.exists('/dev/kvm'),
    files.exists('/run/reboot-required'),
    readSecureBoot(files),
  ]);
  const memory_mib = Math.floor(kibOf(meminfo, 'MemTotal') / KIB_PER_MIB);
  return {
    hostname,
    product,
    kernel,
    kernel_command_line,
    boot_id,
    booted_at: bootedAt(stat),
    has_kvm,
    is_reboot_pending,
    secure_boot,
    memory_mib,
    ...(await readNuma(files, memory_mib)),
  };
};

const IDENTITY_FILES = {
  product_serial: '/sys/class/dmi/id/product_serial',
  product_uuid: '/sys/class/dmi/id/product_uuid',
  machine_id: '/etc/machine-id',
} as const;
const IDENTITY_LENGTH_MAX = 128;

/** The control plane decides which values identify a host: vendors leave placeholders in some. */
export const readIdentity = async (files: Files): Promise<HostReport> => {
  const read = async (path: string): Promise<string | null> => {
    const text = (await files.find(path).catch(() => null))?.trim() ?? '';
    return text === '' || text.length > IDENTITY_LENGTH_MAX ? null : text;
  };
  const [product_serial, product_uuid, machine_id] = await Promise.all([
    read(IDENTITY_FILES.product_serial),
    read(IDENTITY_FILES.product_uuid),
    read(IDENTITY_FILES.machine_id),
  ]);
  return { product_serial, product_uuid, machine_id };
};

/** The journal keeps lines that the kernel's ring buffer has already overwritten. */
export const readKernelLog = async (run: Run): Promise<readonly string[]> => {
  const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
  try {
    const journal = await outputOf(run, {
      argv: ['journalctl', '--dmesg', '--boot', '--no-pager', '--quiet', '--output=short-iso'],
      recorded: 'journalctl-dmesg.txt',
    });
    if (journal.trim() !== '') return lines(journal);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
  }
  return lines(await outputOf(run, { argv: ['dmesg', '--time-format=iso'], recorded: 'dmesg.txt' }));
};

export const readSshHostKey = (files: Files): Promise<string | null> => files.find('/etc/ssh/ssh_host_ed25519_key.pub');
