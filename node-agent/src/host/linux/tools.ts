/** The installed tools and their versions. A recording keeps them in `commands/tools.json`. */
import type { Tool } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import { TOOL_NAMES, type ToolName } from '../tools.ts';
import type { Files } from './files.ts';
import { GPU_VENDORS } from './gpu/vendors.ts';
import { jsonOf, type Run } from './run.ts';

const RECORDED = '/commands/tools.json';
const FIRMWARE = [
  '/usr/share/OVMF/OVMF_CODE_4M.fd',
  '/usr/share/OVMF/OVMF_CODE.fd',
  '/usr/share/edk2/ovmf/OVMF_CODE.fd',
  '/usr/share/qemu/OVMF.fd',
];

const VERSION_COMMANDS = {
  libvirt: ['libvirtd', '--version'],
  qemu: ['qemu-system-x86_64', '--version'],
  'qemu-img': ['qemu-img', '--version'],
  'cloud-localds': ['cloud-localds', '--help'],
  'ovs-vsctl': ['ovs-vsctl', '--version'],
  dnsmasq: ['dnsmasq', '--version'],
  nft: ['nft', '--version'],
  conntrack: ['conntrack', '--version'],
  nvme: ['nvme', 'version'],
  blkdiscard: ['blkdiscard', '--version'],
  rdma: ['rdma', '-Version'],
  'nv-fabricmanager': ['nv-fabricmanager', '--version'],
} as const satisfies Partial<Record<ToolName, readonly [string, ...string[]]>>;

const versionCommandOf = (name: ToolName): readonly [string, ...string[]] => {
  const commands: Partial<Record<ToolName, readonly [string, ...string[]]>> = VERSION_COMMANDS;
  return commands[name] ?? GPU_VENDORS.find((vendor) => vendor.tool.name === name)?.tool.version ?? [name, '--version'];
};

/** A busy host responds late. */
const VERSION_MS = 60_000;

/** A program that exists but reports no version counts as installed. */
const readVersion = async (run: Run, argv: readonly [string, ...string[]]): Promise<string | null> => {
  try {
    const { stdout, stderr } = await run({ argv, recorded: 'tools.json', timeout_ms: VERSION_MS });
    return /\d+(?:\.\d+)+(?:[-\w.]*)?/.exec(`${stdout}\n${stderr}`)?.[0] ?? 'unknown';
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return null;
    throw error;
  }
};

const findFirmware = async (files: Files): Promise<string | null> => {
  for (const path of FIRMWARE) if (await files.exists(path)) return path.split('/').at(-1) ?? null;
  return null;
};

/**
 * Loaded or built in. A module that is only loadable holds no device: the agent loads no modules, so the operator has
 * to.
 */
export const findVfio = async (files: Files): Promise<string | null> => {
  const kernel = await files.text('/proc/sys/kernel/osrelease');
  if (await files.exists('/sys/bus/pci/drivers/vfio-pci')) return kernel;
  const builtin = (await files.find(`/lib/modules/${kernel}/modules.builtin`)) ?? '';
  return /\/vfio-pci\.ko/.test(builtin) ? kernel : null;
};

export const listTools = async (files: Files, run: Run): Promise<readonly Tool[]> => {
  if (files.root !== '/') return jsonOf(await files.text(RECORDED), RECORDED) as Tool[];
  const versionOf = (name: ToolName): Promise<string | null> => {
    if (name === 'uefi-firmware') return findFirmware(files);
    return name === 'vfio-pci' ? findVfio(files) : readVersion(run, versionCommandOf(name));
  };
  const tools: Tool[] = [];
  // One after another: concurrent calls would delay each other.
  for (const name of TOOL_NAMES) tools.push({ name, version: await versionOf(name) });
  return tools;
};
