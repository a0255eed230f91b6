/**
 * GPUs that a driver of the host holds, by what the driver says of them. A GPU that VFIO holds is the guest's to
 * describe and is left out. If a driver holds one and cannot be asked, nothing is known of any, and that is an error.
 */
import type { GpuFacts, PciFunction } from '@gpuaas/contract/node';
import { XMLParser } from 'fast-xml-parser';
import { isAccelerator } from '../../topology/kinds.ts';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { outputOf, type Run } from './run.ts';

type Node = Readonly<Record<string, unknown>>;
const parser = new XMLParser({ ignoreAttributes: true, parseTagValue: false, isArray: (name) => name === 'gpu' });

const at = (node: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (one, name) => (typeof one === 'object' && one !== null ? (one as Node)[name] : undefined),
    node,
  );

/** The driver writes N/A, and words in brackets, for what it does not have. */
const textOf = (value: unknown): string | null => {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || text === 'N/A' || text.startsWith('[') ? null : text;
};
const numberOf = (value: unknown): number | null => {
  const digits = /^-?\d+/.exec(textOf(value) ?? '')?.[0];
  return digits === undefined ? null : Number(digits);
};
const modeOf = (value: unknown): 'enabled' | 'disabled' | null => {
  const text = textOf(value)?.toLowerCase();
  return text === 'enabled' || text === 'disabled' ? text : null;
};

/** The driver writes domains with eight digits, the kernel with four unless it needs more. */
export const kernelAddressOf = (busId: string): string => {
  const [domain = '', ...rest] = busId.toLowerCase().split(':');
  return [Number.parseInt(domain, 16).toString(16).padStart(4, '0'), ...rest].join(':');
};

/** Errors since the counters began: any that could not be corrected, in any memory. */
const uncorrectedOf = (gpu: unknown): number | null => {
  const counts = at(gpu, 'ecc_errors', 'aggregate');
  if (typeof counts !== 'object' || counts === null) return null;
  const numbers = Object.entries(counts)
    .filter(([name]) => name.includes('uncorrectable'))
    .map(([, value]) => numberOf(value))
    .filter((value) => value !== null);
  return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0);
};

export const parseNvidiaSmi = (xml: string): GpuFacts[] => {
  let log: unknown;
  try {
    log = at(parser.parse(xml), 'nvidia_smi_log');
  } catch (error) {
    throw new HostError('host_error', 'nvidia-smi did not print XML.', { cause: error });
  }
  const gpus = at(log, 'gpu');
  if (!Array.isArray(gpus)) throw new HostError('host_error', 'nvidia-smi listed no GPU.');
  return gpus.map((gpu: unknown): GpuFacts => {
    const busId = textOf(at(gpu, 'pci', 'pci_bus_id'));
    if (busId === null) throw new HostError('host_error', 'nvidia-smi listed a GPU without its PCI address.');
    const fabric = at(gpu, 'fabric', 'state');
    return {
      pci_address: kernelAddressOf(busId),
      model: textOf(at(gpu, 'product_name')),
      uuid: textOf(at(gpu, 'uuid')),
      memory_mib: numberOf(at(gpu, 'fb_memory_usage', 'total')),
      module_id: numberOf(
        at(gpu, 'platformInfo', 'module_id') ?? at(gpu, 'platform_info', 'module_id') ?? at(gpu, 'gpu_module_id'),
      ),
      // N/A is an answer here: a GPU alone is in no fabric.
      fabric_state: typeof fabric === 'string' ? fabric.trim() : null,
      driver_version: textOf(at(log, 'driver_version')),
      mig_mode: modeOf(at(gpu, 'mig_mode', 'current_mig')),
      ecc_mode: modeOf(at(gpu, 'ecc_mode', 'current_ecc')),
      ecc_uncorrected: uncorrectedOf(gpu),
      temperature_c: numberOf(at(gpu, 'temperature', 'gpu_temp')),
    };
  });
};

const BYTES_PER_MIB = 1024 * 1024;

/** AMD's driver tells in sysfs what its tools print. */
const readAmd = async (files: Files, fn: PciFunction): Promise<GpuFacts> => {
  const folder = `/sys/bus/pci/devices/${fn.address}`;
  const [model, unique, memory, version, sensors] = await Promise.all([
    files.find(`${folder}/product_name`),
    files.find(`${folder}/unique_id`),
    files.find(`${folder}/mem_info_vram_total`),
    files.find('/sys/module/amdgpu/version'),
    files.findNames(`${folder}/hwmon`),
  ]);
  const temperature = sensors?.[0] === undefined ? null : await files.find(`${folder}/hwmon/${sensors[0]}/temp1_input`);
  return {
    pci_address: fn.address,
    model: model || null,
    uuid: unique || null,
    memory_mib: memory === null ? null : Math.floor(Number(memory) / BYTES_PER_MIB),
    module_id: null,
    fabric_state: null,
    driver_version: version,
    mig_mode: null,
    ecc_mode: null,
    ecc_uncorrected: null,
    temperature_c: temperature === null ? null : Math.round(Number(temperature) / 1000),
  };
};

export const listGpus = async (
  files: Files,
  run: Run,
  functions: readonly PciFunction[],
): Promise<readonly GpuFacts[]> => {
  const gpus = functions.filter((fn) => isAccelerator(fn, []));
  const nvidia = gpus.some((fn) => fn.driver === 'nvidia')
    ? parseNvidiaSmi(await outputOf(run, { argv: ['nvidia-smi', '-q', '-x'], recorded: 'nvidia-smi-q.xml' }))
    : [];
  const amd = await Promise.all(gpus.filter((fn) => fn.driver === 'amdgpu').map((fn) => readAmd(files, fn)));
  return [...nvidia, ...amd];
};
