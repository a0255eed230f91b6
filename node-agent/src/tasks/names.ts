/** The names under which the resources of an allocation are found on a host. */
import { createHash } from 'node:crypto';
import type { TaskSlot } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';

export const domainName = (allocationId: string): string => `gpuaas-${allocationId.replaceAll('_', '-')}`;

/** Interface names have at most 15 characters, so the allocation is in it as a hash. */
export const portName = (allocationId: string): string =>
  `gp${createHash('sha256').update(allocationId).digest('hex').slice(0, 12)}`;

/** The slot with the lowest index boots: its disk gets the image, its MAC and address are the VM's. */
export const bootSlot = (slots: readonly TaskSlot[]): TaskSlot => {
  const [first] = slots.toSorted((a, b) => a.slot_index - b.slot_index);
  if (first === undefined) throw new HostError('conflict', 'a bundle has at least one slot');
  return first;
};
