/**
 * The slot map: thousands of nodes with eight tiles each, of which only the visible ones are in the page. It is one Tab
 * stop; arrow keys move inside, Enter opens. The focused row stays in the page while it is scrolled away, so that
 * keyboard focus is never lost.
 */

import type { SlotMapRow } from '@gpuaas/sdk';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { type Cell, type GridRow, moveCell, NAME_COLUMN } from './grid-rows.ts';
import { NodeRow, RackRow } from './slot-grid-row.tsx';
import { SlotTip, type TipPlace } from './slot-tip.tsx';
import type { Tile } from './tile.ts';

const NODE_HEIGHT = 48;
const RACK_HEIGHT = 32;
const HEAD_HEIGHT = 34;
const SPARE_ROWS = 8;

const cellOf = (target: EventTarget | null): Cell | null => {
  const [nodeId, column] =
    (target instanceof Element ? target.closest<HTMLElement>('[data-cell]') : null)?.dataset['cell']?.split(' ') ?? [];
  return nodeId === undefined || column === undefined ? null : { nodeId, column: Number(column) };
};

type Tip = Readonly<{ cell: Cell; at: TipPlace }>;

const firstCell = (rows: readonly GridRow[]): Cell | null => {
  const row = rows.find((one) => one.kind === 'node');
  return row === undefined ? null : { nodeId: row.node.node_id, column: row.node.slots.length > 0 ? 0 : NAME_COLUMN };
};

export const SlotGrid = ({
  rows,
  onOpen,
  onHold,
}: Readonly<{
  rows: readonly GridRow[];
  onOpen: (node: SlotMapRow, slot: Tile | null) => void;
  onHold: (isHeld: boolean) => void;
}>) => {
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<Cell | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const takesFocus = useRef(false);
  const places = useMemo(
    () => new Map(rows.flatMap((row, index) => (row.kind === 'node' ? [[row.node.node_id, index] as const] : []))),
    [rows],
  );
  const current = chosen !== null && places.has(chosen.nodeId) ? chosen : firstCell(rows);
  const currentIndex = current === null ? undefined : places.get(current.nodeId);
  const rackIndexes = useMemo(() => rows.flatMap((row, index) => (row.kind === 'rack' ? [index] : [])), [rows]);
  const stickyIndex = useRef(0);

  const rangeExtractor = useCallback(
    (range: Range) => {
      stickyIndex.current = rackIndexes.findLast((index) => index <= range.startIndex) ?? 0;
      const kept = new Set([stickyIndex.current, ...defaultRangeExtractor(range)]);
      if (currentIndex !== undefined) kept.add(currentIndex);
      return [...kept].sort((a, b) => a - b);
    },
    [rackIndexes, currentIndex],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.kind === 'rack' ? RACK_HEIGHT : NODE_HEIGHT),
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : row.kind === 'rack' ? `rack ${row.rack}` : row.node.node_id;
    },
    overscan: SPARE_ROWS,
    rangeExtractor,
    scrollPaddingStart: RACK_HEIGHT + HEAD_HEIGHT,
    scrollPaddingEnd: NODE_HEIGHT + HEAD_HEIGHT,
  });
  // Rows change height with what is filtered away; without this the map would keep the old places.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are what the places are of.
  useEffect(() => {
    virtual.measure();
  }, [rows]);

  useEffect(() => {
    if (!takesFocus.current || current === null) return;
    takesFocus.current = false;
    scroller.current
      ?.querySelector<HTMLElement>(`[data-cell="${CSS.escape(current.nodeId)} ${current.column}"]`)
      ?.focus({ preventScroll: true });
  });

  const find = (cell: Cell | null): Readonly<{ node: SlotMapRow; slot: Tile | undefined }> | null => {
    const row = cell === null ? undefined : rows[places.get(cell.nodeId) ?? -1];
    return row?.kind === 'node' && cell !== null ? { node: row.node, slot: row.node.slots[cell.column] } : null;
  };
  const open = (cell: Cell | null): boolean => {
    const found = find(cell);
    if (found === null) return false;
    onOpen(found.node, found.slot ?? null);
    return true;
  };
  /** A click that opens another tab or window is left to the browser. */
  const onClick = (event: MouseEvent) => {
    if (event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && open(cellOf(event.target)))
      event.preventDefault();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const cell = cellOf(event.target);
    if (event.key === 'Escape') setTip(null);
    if (cell === null) return;
    const next = moveCell(rows, cell, event.key, event.ctrlKey || event.metaKey);
    if (next === null) return;
    event.preventDefault();
    takesFocus.current = true;
    setChosen(next);
    virtual.scrollToIndex(places.get(next.nodeId) ?? 0, { align: 'auto' });
  };
  const point = (event: SyntheticEvent) => {
    const cell = cellOf(event.target);
    if (cell === null || cell.column === NAME_COLUMN) return setTip(null);
    const { left, right, top, bottom } = (event.target as Element).getBoundingClientRect();
    setTip({ cell, at: { left, right, top, bottom } });
  };
  const hovered = find(tip?.cell ?? null);

  const slotsMax = rows.reduce((most, row) => (row.kind === 'node' ? Math.max(most, row.node.slots.length) : most), 8);

  return (
    <>
      <div ref={scroller} className="card slot-grid" onScroll={() => setTip(null)}>
        <table
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table with keys to move in it is a grid.
          role="grid"
          aria-label="Slot map"
          aria-rowcount={rows.length + 1}
          style={{ '--slots': slotsMax } as CSSProperties}
          onKeyDown={onKeyDown}
          onClick={onClick}
          onPointerOver={point}
          onPointerEnter={() => onHold(true)}
          onPointerLeave={(event) => {
            setTip(null);
            onHold(event.currentTarget.contains(document.activeElement));
          }}
          onFocus={(event) => {
            const cell = cellOf(event.target);
            if (cell !== null) setChosen(cell);
            onHold(true);
            point(event);
          }}
          onBlur={(event) => {
            setTip(null);
            if (!event.currentTarget.contains(event.relatedTarget)) onHold(event.currentTarget.matches(':hover'));
          }}
        >
          <thead className="slot-grid-head">
            <tr aria-rowindex={1} className="slot-grid-row">
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col">Occupancy</th>
              <th scope="colgroup" colSpan={slotsMax} className="slot-grid-none">
                Slots, by NUMA node
              </th>
              <th scope="col" className="slot-grid-free" title="Free GPUs / largest set for one allocation">
                Free / set
              </th>
              <th scope="col" className="slot-grid-flags">
                Flags
              </th>
            </tr>
          </thead>
          <tbody style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => {
              const row = rows[index];
              if (row === undefined) return null;
              const isStuck = row.kind === 'rack' && index === stickyIndex.current;
              return (
                <tr
                  key={key}
                  aria-rowindex={index + 2}
                  className={row.kind === 'node' ? 'slot-grid-row slot-grid-node' : undefined}
                  style={
                    isStuck
                      ? { position: 'sticky', top: HEAD_HEIGHT, zIndex: 2 }
                      : { position: 'absolute', top: 0, left: 0, right: 0, transform: `translateY(${start}px)` }
                  }
                >
                  {row.kind === 'rack' ? (
                    <RackRow row={row} />
                  ) : (
                    <NodeRow node={row.node} focused={current?.nodeId === row.node.node_id ? current.column : null} />
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {tip !== null && hovered?.slot !== undefined && <SlotTip slot={hovered.slot} node={hovered.node} at={tip.at} />}
    </>
  );
};
