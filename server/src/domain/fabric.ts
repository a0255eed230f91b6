/** What a launch gets of the fabric: the provider of its region decides, and its entry in the contract has the sentence. */
import { FABRIC_PROVIDERS, type FabricIsolation } from '@gpuaas/contract';

export type FabricOffer = Readonly<{ available: boolean; detail: string }>;

/** A whole node has its own cards, whatever the region isolates. */
export const fabricOf = (
  of: Readonly<{ capacity_shape: 'baremetal' | 'gpu_slice'; fabric_isolation: FabricIsolation }>,
): FabricOffer => {
  const { isolates, slice, bare_metal } = FABRIC_PROVIDERS[of.fabric_isolation];
  return of.capacity_shape === 'baremetal'
    ? { available: true, detail: bare_metal }
    : { available: isolates, detail: slice };
};
