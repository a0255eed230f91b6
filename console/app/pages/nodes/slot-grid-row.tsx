/** The rows of the slot map. There may be thousands, so each is rendered again only when its own node has changed. */
import type { SlotMapRow } from '@gpuaas/sdk';
import { memo } from 'react';
import { count } from '../../format/size.ts';
import { stateWord } from '../../format/state.ts';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { flagsOf } from './attention.ts';
import { type GridRow, NAME_COLUMN } from './grid-rows.ts';
import { numaGroup, tileLook, tileSentence } from './tile.ts';

const NUMA_GAP = 8;

const MODES: Readonly<Record<SlotMapRow['capacity_mode'], string>> = {
  slice: 'slice',
  baremetal: 'bare metal',
  flexible: 'flexible',
};

export const RackRow = memo(({ row }: Readonly<{ row: Extract<GridRow, { kind: 'rack' }> }>) => (
  <th scope="rowgroup" className="slot-grid-rack">
    <strong>{row.rack === 'other' ? 'Other hosts' : `Rack ${row.rack}`}</strong>
    <span className="muted tabular">
      {count(row.nodeCount, 'node')}, {row.freeGpus} of {count(row.gpus, 'GPU')} free
    </span>
  </th>
));

const stateTitle = ({ state, state_reason }: SlotMapRow): string =>
  [stateWord('node', state).word, state_reason].filter((one) => one !== null).join(': ');

const flagsTitle = (node: SlotMapRow): string =>
  flagsOf(node)
    .map(({ why }) => why)
    .join('\n');

const noSlots = ({ capacity_mode, occupancy }: SlotMapRow): string =>
  capacity_mode === 'baremetal'
    ? `Bare metal: ${stateWord('occupancy', occupancy).word.toLowerCase()}`
    : 'No approved slots';

const Tiles = ({ node, focused }: Readonly<{ node: SlotMapRow; focused: number | null }>) => {
  const now = Date.now();
  const isPlaceable = node.free_gpus > 0;
  if (node.slots.length === 0) return <td className="slot-grid-none muted">{noSlots(node)}</td>;
  return node.slots.map((slot, index) => {
    const { short, glyph, tone, isMarked } = tileLook(slot, isPlaceable);
    return (
      <td key={slot.id} style={{ transform: `translateX(${numaGroup(node.slots, index) * NUMA_GAP}px)` }}>
        <button
          type="button"
          className="tile"
          tabIndex={focused === index ? 0 : -1}
          data-slot-tile
          data-cell={`${node.node_id} ${index}`}
          data-tone={tone}
          data-glyph={glyph}
          data-marked={isMarked}
          aria-label={tileSentence(slot, isPlaceable, now)}
        >
          {short}
        </button>
      </td>
    );
  });
};

/** `focused` is the column in the Tab order, null if that is in another row. */
export const NodeRow = memo(({ node, focused }: Readonly<{ node: SlotMapRow; focused: number | null }>) => (
  <>
    <th scope="row">
      {/* A plain link, handled by the map: a router link costs a router lookup for each row that becomes visible. */}
      <a
        href={`/platform/nodes/${encodeURIComponent(node.node_id)}`}
        className="link slot-grid-name"
        title={node.name}
        tabIndex={focused === NAME_COLUMN ? 0 : -1}
        data-cell={`${node.node_id} ${NAME_COLUMN}`}
      >
        {node.name}
      </a>
    </th>
    <td className="slot-grid-cell">
      <StateBadge kind="node" state={node.state} title={stateTitle(node)} />
    </td>
    <td className="slot-grid-cell">
      <StateBadge kind="occupancy" state={node.occupancy} />
      <span className="muted slot-grid-mode">{MODES[node.capacity_mode]}</span>
    </td>
    <Tiles node={node} focused={focused} />
    <td
      className="slot-grid-free tabular"
      title={`${count(node.free_gpus, 'GPU')} free, largest set ${node.largest_set}`}
    >
      {node.free_gpus}
      <span className="muted"> / {node.largest_set}</span>
    </td>
    <td className="slot-grid-flags" title={flagsTitle(node)}>
      {flagsOf(node).map(({ word, tone, why }) => (
        <span key={word} className="flag">
          <ToneBadge tone={tone} title={why}>
            {word}
          </ToneBadge>
        </span>
      ))}
    </td>
  </>
));
