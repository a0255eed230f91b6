/** NVIDIA GPUs: `nvidia-smi` reports them, the driver writes Xids to the kernel log. */
import type { GpuFacts } from '@gpuaas/contract/node';
import { XMLParser } from 'fast-xml-parser';
import { HostError } from '../../host.ts';
import { outputOf } from '../run.ts';
import { xidKind, xidName } from './nvidia-xid.ts';
import type { GpuLogEvent, GpuVendor } from './vendor.ts';

type Node = Readonly<Record<string, unknown>>;
const parser = new XMLParser({ ignoreAttributes: true, parseTagValue: false, isArray: (name) => name === 'gpu' });

const at = (node: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (one, name) => (typeof one === 'object' && one !== null ? (one as Node)[name] : undefined),
    node,
  );

/** The driver writes N/A, or text in brackets, for a missing value. */
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

/** Uncorrectable errors of any memory since the counters were reset. */
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
      // N/A is a value here: a GPU without NVLink is in no fabric.
      fabric_state: typeof fabric === 'string' ? fabric.trim() : null,
      driver_version: textOf(at(log, 'driver_version')),
      mig_mode: modeOf(at(gpu, 'mig_mode', 'current_mig')),
      ecc_mode: modeOf(at(gpu, 'ecc_mode', 'current_ecc')),
      ecc_uncorrected: uncorrectedOf(gpu),
      temperature_c: numberOf(at(gpu, 'temperature', 'gpu_temp')),
    };
  });
};

const XID = /NVRM: Xid \((?:PCI:)?([0-9a-f:.]+)\)[^:]*: (\d+),?\s*(.*)$/i;
const OFF_THE_BUS =
  /NVRM: (?:GPU at |The NVIDIA )?(?:GPU )?(?:PCI:)?([0-9a-f]{4,8}:[0-9a-f:.]+?):? .*fallen off the bus/i;
const OFF_THE_BUS_BEGINS = /NVRM: The NVIDIA GPU ([0-9a-f]{4,8}:[0-9a-f:.]+)/i;
const OFF_THE_BUS_ENDS = /NVRM: .*fallen off the bus/i;
const LINES_OF_ONE_MESSAGE = 5;
const LOST_XID = 79;

/** The address in a message that starts some lines above and ends on this one. */
const begunBefore = (lines: readonly string[], index: number): string | undefined => {
  if (!OFF_THE_BUS_ENDS.test(lines[index] ?? '')) return undefined;
  return lines
    .slice(Math.max(0, index - LINES_OF_ONE_MESSAGE), index)
    .toReversed()
    .map((line) => OFF_THE_BUS_BEGINS.exec(line)?.[1])
    .find((address) => address !== undefined);
};

/** A GPU that fell off the bus is logged with Xid 79, without an Xid, on one line or over four. */
const logEvent = (lines: readonly string[], index: number): GpuLogEvent | null => {
  const line = lines[index] ?? '';
  const [, address = begunBefore(lines, index), digits, text = ''] = XID.exec(line) ?? OFF_THE_BUS.exec(line) ?? [];
  if (address === undefined) return null;
  const code = digits === undefined ? null : Number(digits);
  return code === null
    ? { code, name: xidName(LOST_XID), kind: 'broken', address, text: 'fallen off the bus' }
    : { code, name: xidName(code), kind: xidKind(code), address, text };
};

export const nvidia: GpuVendor = {
  name: 'NVIDIA',
  vendor_id: '10de',
  driver: 'nvidia',
  drivers: ['nvidia', 'nouveau'],
  switch_class: '0680',
  tool: { name: 'nvidia-smi', version: ['nvidia-smi', '--version'] },
  guest_count: { program: 'nvidia-smi', flag: '-L', line: 'GPU ' },
  // A function-level reset leaves state behind on these GPUs.
  reset_methods: ['bus', 'flr'],
  partitioning_off: 'Destroy its instances, run nvidia-smi -mig 0 and reset the GPU.',
  list: async ({ run }) =>
    parseNvidiaSmi(await outputOf(run, { argv: ['nvidia-smi', '-q', '-x'], recorded: 'nvidia-smi-q.xml' })),
  logEvent,
};
