/** The tooltip of a tile: one element for the whole map, moved to the hovered or focused tile. */
import type { SlotMapRow } from '@gpuaas/sdk';
import { Portal } from '@mantine/core';
import { stateWord } from '../../format/state.ts';
import { ago, span } from '../../format/time.ts';
import { Facts } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { type Tile, tileLook } from './tile.ts';

const WIDTH = 290;
const ROOM_BELOW = 220;
const MARGIN = 8;

export type TipPlace = Readonly<{ left: number; right: number; top: number; bottom: number }>;

export const SlotTip = ({ slot, node, at }: Readonly<{ slot: Tile; node: SlotMapRow; at: TipPlace }>) => {
  const now = useNow();
  const isAbove = at.bottom + ROOM_BELOW > globalThis.innerHeight;
  const left = Math.max(MARGIN, Math.min(at.left, globalThis.innerWidth - WIDTH - MARGIN));
  return (
    <Portal>
      <div
        className="card slot-tip"
        role="tooltip"
        style={isAbove ? { left, bottom: globalThis.innerHeight - at.top + 6 } : { left, top: at.bottom + 6 }}
      >
        <strong>
          {node.name}, GPU {slot.slot_index}: {tileLook(slot, node.free_gpus > 0).word}
        </strong>
        {slot.status_reason !== null && <div className="muted">{slot.status_reason}</div>}
        <Facts
          facts={[
            ['Status', `${stateWord('slot', slot.status).word}, for ${span(now - Date.parse(slot.status_since))}`],
            ['Approval', stateWord('approval', slot.approval).word],
            ['Allocation', slot.allocation_id ?? 'none'],
            ['Last wipe', slot.wiped_at === null ? 'never verified' : ago(slot.wiped_at, now)],
            ['Health', stateWord('health', slot.health).word],
            ['NUMA node', slot.numa_node ?? 'unknown'],
            ['Hardware change', slot.has_hardware_change ? 'differs from approval' : 'none'],
          ]}
        />
      </div>
    </Portal>
  );
};
