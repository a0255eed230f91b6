/**
 * The reset of a GPU between two tenants. It may affect only the functions of its own slot; the host refuses any other.
 * A GPU that does not come back from the reset is never reported as ok.
 */
import type { TaskOutput, TaskSlot } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';
import { isOffTheBus } from './bundle-slot.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

export type GpuReset = TaskOutput<'slice.cleanup'>['gpu_resets'][number];

export const resetGpu = async (ctx: TaskContext, act: Act, slot: TaskSlot): Promise<GpuReset> => {
  const address = slot.gpu_pci_address;
  const failed = (reason: string): GpuReset => {
    ctx.log.error({ gpu_pci_address: address, reason }, 'a GPU was not reset');
    return { gpu_pci_address: address, method: 'none', scope: [], is_ok: false, reason };
  };
  try {
    const before = await act('listing PCI functions', ctx.host.pci.list());
    if (!before.some((pci) => pci.address === address)) return failed(`GPU ${address} is not on the host`);
    const own = before.map((pci) => pci.address).filter((each) => deviceOf(each) === deviceOf(address));
    const reset = await act(`the reset of GPU ${address}`, ctx.host.pci.reset(address, own));
    const after = await act('listing PCI functions', ctx.host.pci.list());
    const gpu = after.find((pci) => pci.address === address);
    const isBack = gpu !== undefined && !isOffTheBus(gpu);
    const attempt = { gpu_pci_address: address, method: reset.method, scope: [...reset.scope] };
    if (reset.is_ok && isBack) return { ...attempt, is_ok: true };
    const reason = isBack ? 'the reset failed' : 'the GPU did not come back from its reset; power-cycle the host';
    ctx.log.error({ ...attempt, reason }, 'a GPU was not reset');
    return { ...attempt, is_ok: false, reason };
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    return failed(err.message);
  }
};

const deviceOf = (address: string): string => address.slice(0, address.lastIndexOf('.'));
