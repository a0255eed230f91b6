/** The slot map as one list of rows of known height, and its arrow-key navigation. */
import type { SlotMapRow } from '@gpuaas/sdk';
import type { Rack } from './rack.ts';

export type GridRow =
  | Readonly<{ kind: 'rack'; rack: string; nodeCount: number; freeGpus: number; gpus: number }>
  | Readonly<{ kind: 'node'; node: SlotMapRow }>;

export const gridRows = (racks: readonly Rack<SlotMapRow>[]): readonly GridRow[] =>
  racks.flatMap(({ rack, nodes }): GridRow[] => [
    {
      kind: 'rack',
      rack,
      nodeCount: nodes.length,
      freeGpus: nodes.reduce((sum, node) => sum + node.free_gpus, 0),
      gpus: nodes.reduce((sum, node) => sum + node.gpu_count, 0),
    },
    ...nodes.map((node): GridRow => ({ kind: 'node', node })),
  ]);

/** A position in the map: the name of a node is column -1, its tiles follow. */
export type Cell = Readonly<{ nodeId: string; column: number }>;
export const NAME_COLUMN = -1;

const PAGE_ROWS = 10;

const isNode = (row: GridRow | undefined): row is Extract<GridRow, { kind: 'node' }> => row?.kind === 'node';

const lastColumn = (node: SlotMapRow): number => node.slots.length - 1;

const nearestNode = (rows: readonly GridRow[], from: number, step: 1 | -1): number => {
  let at = Math.min(Math.max(from, 0), rows.length - 1);
  while (at >= 0 && at < rows.length && !isNode(rows[at])) at += step;
  return at;
};

/** Null if the key has no target. */
export const moveCell = (rows: readonly GridRow[], cell: Cell, key: string, isWide = false): Cell | null => {
  const at = rows.findIndex((row) => isNode(row) && row.node.node_id === cell.nodeId);
  const here = rows[at];
  if (!isNode(here)) return null;
  const inRow = (column: number): Cell => ({ nodeId: cell.nodeId, column });
  const inColumn = (wanted: number, step: 1 | -1): Cell | null => {
    const row = rows[nearestNode(rows, wanted, step)];
    return isNode(row) && row !== here
      ? { nodeId: row.node.node_id, column: Math.min(cell.column, lastColumn(row.node)) }
      : null;
  };
  switch (key) {
    case 'ArrowRight':
      return cell.column < lastColumn(here.node) ? inRow(cell.column + 1) : null;
    case 'ArrowLeft':
      return cell.column > NAME_COLUMN ? inRow(cell.column - 1) : null;
    case 'ArrowDown':
      return inColumn(at + 1, 1);
    case 'ArrowUp':
      return inColumn(at - 1, -1);
    case 'PageDown':
      return inColumn(at + PAGE_ROWS, -1);
    case 'PageUp':
      return inColumn(at - PAGE_ROWS, 1);
    case 'Home':
      return isWide ? inColumn(0, 1) : inRow(NAME_COLUMN);
    case 'End':
      return isWide ? inColumn(rows.length - 1, -1) : inRow(lastColumn(here.node));
    default:
      return null;
  }
};
