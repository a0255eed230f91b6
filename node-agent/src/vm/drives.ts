/** The disks of a VM in the order in which it gets them. */
import { HostError, type VmPlan } from '../host/host.ts';

export type DiskSlot = VmPlan['plan']['slots'][number];

/** The boot slot's first, the others in the order of the plan. */
export const drivesOf = (plan: VmPlan['plan']): readonly DiskSlot[] => {
  const boot = plan.slots.filter((slot) => slot.slot_id === plan.boot_slot_id);
  const serials = plan.slots.map((slot) => slot.nvme_serial);
  const paths = plan.slots.map((slot) => slot.nvme_device);
  if (boot.length !== 1)
    throw new HostError('conflict', `slot ${plan.boot_slot_id} is to boot and is not in the plan once`);
  if (new Set(serials).size !== serials.length || new Set(paths).size !== paths.length)
    throw new HostError('conflict', 'a disk is in the plan twice');
  return [...boot, ...plan.slots.filter((slot) => slot.slot_id !== plan.boot_slot_id)];
};
