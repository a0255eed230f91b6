/** A slot of a node's page looks like its tile in the map. */
import type { Slot } from '@gpuaas/sdk';
import { type TileLook, tileLook } from './tile.ts';

export const slotLook = (slot: Slot): TileLook => tileLook({ ...slot, has_drift: slot.drift !== null });
