/** NVSwitches and Fabric Manager. A host without NVSwitch needs no Fabric Manager. */
import type { FabricFacts, FabricPartition, PciFunction } from '@gpuaas/contract/node';
import { isNvSwitch } from '../../topology/kinds.ts';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { jsonOf, outputOf, type Run } from './run.ts';

const CONFIG = '/usr/share/nvidia/nvswitch/fabricmanager.cfg';
/** The driver that holds the NVSwitches; it may hold no GPU. */
const DRIVER = '/sys/module/nvidia/version';
const MODES = ['bare_metal', 'shared_nvswitch', 'vgpu'] as const;

export const modeOf = (config: string | null): FabricFacts['manager']['mode'] => {
  const number = /^\s*FABRIC_MODE\s*=\s*(\d+)/m.exec(config ?? '')?.[1];
  return number === undefined ? null : (MODES[Number(number)] ?? null);
};

/** Whether it waits at its start for the partitions in use, instead of recreating all of them under running VMs. */
export const isRestartMode = (config: string | null): boolean =>
  /^\s*FABRIC_MODE_RESTART\s*=\s*1\s*$/m.test(config ?? '');

/** `fmpm -l`: GPUs by physical ID, which is the module ID that the GPU's driver reports. */
export const partitionsOf = (text: string): FabricPartition[] => {
  const list = jsonOf(text, 'fmpm') as { partitionInfo?: unknown };
  if (!Array.isArray(list.partitionInfo)) throw new HostError('host_error', 'fmpm listed no partitions.');
  return list.partitionInfo.map((one: Readonly<Record<string, unknown>>) => {
    const gpus = one['gpuInfo'];
    if (!Array.isArray(gpus)) throw new HostError('host_error', 'fmpm listed a partition without its GPUs.');
    return {
      partition_id: Number(one['partitionId']),
      module_ids: gpus.map((gpu: Readonly<Record<string, unknown>>) => Number(gpu['physicalId'])).sort((a, b) => a - b),
      is_active: Number(one['isActive']) === 1 || one['isActive'] === true,
    };
  });
};

const NOT_ACTIVE = 3;

/** `is-active` returns its status; a missing unit is not active either. */
const isRunning = async (run: Run): Promise<boolean> => {
  const { status, stdout } = await run({
    argv: ['systemctl', 'is-active', 'nvidia-fabricmanager'],
    recorded: 'systemctl-is-active-fabricmanager.txt',
  });
  if (status !== 0 && status !== NOT_ACTIVE && stdout.trim() === '')
    throw new HostError(
      'host_error',
      `systemctl could not determine whether nvidia-fabricmanager runs (status ${status}).`,
    );
  return stdout.trim() === 'active';
};

export const listPartitions = async (run: Run): Promise<FabricPartition[]> =>
  partitionsOf(await outputOf(run, { argv: ['fmpm', '-l'], recorded: 'fmpm-list.json' }));

const versionOf = async (run: Run): Promise<string | null> => {
  try {
    const text = await outputOf(run, {
      argv: ['nv-fabricmanager', '--version'],
      recorded: 'nv-fabricmanager-version.txt',
    });
    return /(\d+\.\d+(?:\.\d+)*)/.exec(text)?.[1] ?? null;
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return null;
    throw error;
  }
};

export const readFabric = async (files: Files, run: Run, functions: readonly PciFunction[]): Promise<FabricFacts> => {
  const nvswitches = functions.filter(isNvSwitch).map((fn) => fn.address);
  if (nvswitches.length === 0)
    return { nvswitches, manager: { is_running: false, version: null, mode: null }, partitions: [] };
  const [is_running, version, driver, config] = await Promise.all([
    isRunning(run),
    versionOf(run),
    files.find(DRIVER),
    files.find(CONFIG),
  ]);
  const mode = modeOf(config);
  const partitions = is_running && mode === 'shared_nvswitch' ? await listPartitions(run) : [];
  const manager = {
    is_running,
    version,
    driver_version: driver?.trim() ?? null,
    mode,
    is_restart_mode: isRestartMode(config),
  };
  return { nvswitches, manager, partitions };
};
