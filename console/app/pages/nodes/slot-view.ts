/** A slot on a node's page looks like its tile in the map. */
import type { Node, Slot } from '@gpuaas/sdk';
import { type TileLook, tileLook } from './tile.ts';

export const slotLook = (slot: Slot, node: Node): TileLook =>
  tileLook({ ...slot, has_hardware_change: slot.drift !== null }, node.free_gpus > 0);
