/**
 * The node of the node tier runs its VMs by hardware virtualization (SVM) that QEMU emulates. QEMU 7.2 changes the
 * pending interrupts of such a CPU without its lock (`helper_vmrun`, `do_vmexit`), so one may be lost or delivered
 * twice: occasionally the node hangs or its kernel panics, more often on a busy host. The product is not at fault, so
 * the runner runs the file once more; a second fault counts.
 */
import type { Failure } from './verdict.ts';

/** How a test reports that the node stopped responding. */
export const NODE_HANGS = 'The emulated node hangs';

const SIGNS = [NODE_HANGS, 'Kernel panic - not syncing'];

export const isEmulatorFault = (failures: readonly Failure[]): boolean => {
  const text = JSON.stringify(failures);
  return SIGNS.some((sign) => text.includes(sign));
};
