/**
 * No row of the slot map is added or removed while the pointer or focus is in it, so that a click hits the intended
 * row. Values stay current. A new filter applies immediately.
 */
import type { SlotMapRow } from '@gpuaas/sdk';
import { useRef } from 'react';

type Held = Readonly<{ filter: unknown; ids: ReadonlySet<string> }>;

/** The rows to show: the held ones with current values, or else the matching ones. */
export const heldRows = (
  nodes: readonly SlotMapRow[],
  shown: readonly SlotMapRow[],
  ids: ReadonlySet<string> | null,
): readonly SlotMapRow[] => {
  if (ids === null) return shown;
  const isSame = shown.length === ids.size && shown.every(({ node_id }) => ids.has(node_id));
  return isSame ? shown : nodes.filter(({ node_id }) => ids.has(node_id));
};

export const useHeldNodes = (
  nodes: readonly SlotMapRow[],
  shown: readonly SlotMapRow[],
  { filter, isHeld }: Readonly<{ filter: unknown; isHeld: boolean }>,
): readonly SlotMapRow[] => {
  const held = useRef<Held | null>(null);
  if (!isHeld) held.current = null;
  else if (held.current === null || held.current.filter !== filter)
    held.current = { filter, ids: new Set(shown.map(({ node_id }) => node_id)) };
  return heldRows(nodes, shown, held.current?.ids ?? null);
};
