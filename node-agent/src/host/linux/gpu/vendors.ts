/** The GPU vendors that the agent supports, and what the rest of the agent asks about them. */
import type { GpuFacts, PciFunction } from '@gpuaas/contract/node';
import type { Files } from '../files.ts';
import type { Run } from '../run.ts';
import { amd } from './amd.ts';
import { nvidia } from './nvidia.ts';
import type { GpuLogEvent, GpuVendor } from './vendor.ts';

export const GPU_VENDORS: readonly GpuVendor[] = [nvidia, amd];

/** Resets of functions of other vendors: a secondary bus reset clears more state than a function-level reset. */
const RESET_METHODS = ['bus', 'flr'];

const vendorOf = (vendorId: string): GpuVendor | undefined => GPU_VENDORS.find((one) => one.vendor_id === vendorId);

export const isGpuVendor = (vendorId: string): boolean => vendorOf(vendorId) !== undefined;

/** Whether this driver reports the GPUs that it holds. */
export const isReportingDriver = (driver: string | null): boolean => GPU_VENDORS.some((one) => one.driver === driver);

/** Whether this driver releases a GPU for vfio-pci. */
export const releasesGpu = (driver: string): boolean => GPU_VENDORS.some((one) => one.drivers.includes(driver));

export const isSwitchOfVendor = (fn: Readonly<{ vendor_id: string; class_code: string }>): boolean => {
  const code = vendorOf(fn.vendor_id)?.switch_class ?? null;
  return code !== null && fn.class_code.startsWith(code);
};

export const resetMethodsOf = (vendorId: string): readonly string[] =>
  vendorOf(vendorId)?.reset_methods ?? RESET_METHODS;

export const partitioningOffOf = (vendorId: string): string =>
  vendorOf(vendorId)?.partitioning_off ?? 'Turn partitioning off with the tool of the vendor.';

/**
 * GPUs bound to a driver of the host. A GPU bound to vfio-pci is left out: only its guest OS can describe it. If a
 * driver holds a GPU and cannot be queried, the list is unknown, which is an error.
 */
export const listGpus = async (
  files: Files,
  run: Run,
  accelerators: readonly PciFunction[],
): Promise<readonly GpuFacts[]> => {
  const lists = await Promise.all(
    GPU_VENDORS.map(async (vendor): Promise<readonly GpuFacts[]> => {
      const held = accelerators.filter((fn) => fn.driver === vendor.driver);
      return held.length === 0 ? [] : vendor.list({ files, run }, held);
    }),
  );
  return lists.flat();
};

export const logEventOf = (lines: readonly string[], index: number): GpuLogEvent | null => {
  for (const vendor of GPU_VENDORS) {
    const event = vendor.logEvent(lines, index);
    if (event !== null) return event;
  }
  return null;
};
