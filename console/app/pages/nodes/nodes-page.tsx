/** Every node with its slots: where capacity is, its use, and what needs attention. */

import type { SlotMapRow } from '@gpuaas/sdk';
import { Button, Group } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { count } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { EmptyState, Page } from '../../ui/page.tsx';
import { AddNode } from './add-node.tsx';
import { countFacets, type Facet, filterNodes, isFiltered, type NodeFilter } from './filter.ts';
import { FleetControls } from './fleet-controls.tsx';
import { FragmentationLines } from './fragmentation-line.tsx';
import { gridRows } from './grid-rows.ts';
import './nodes.css';
import { byRack } from './rack.ts';
import { RestoreNotice } from './restore-notice.tsx';
import { SlotGrid } from './slot-grid.tsx';
import { TILE_KEY, type Tile } from './tile.ts';
import { useHeldNodes } from './use-stable-nodes.ts';

const POLL_MS = 10_000;

const TileKey = () => (
  <details className="tile-key-box">
    <summary>Legend</summary>
    <ul className="tile-key">
      {TILE_KEY.map(({ short, word, glyph, tone }) => (
        <li key={short}>
          <span className="tile" data-tone={tone} data-glyph={glyph} aria-hidden />
          <span>{`${short}: ${word.toLowerCase()}`}</span>
        </li>
      ))}
      <li>
        <strong className="tile-mark">!</strong> marked: hardware change, unhealthy or not approved
      </li>
    </ul>
  </details>
);

const Fleet = ({ nodes, onAdd }: Readonly<{ nodes: readonly SlotMapRow[]; onAdd: () => void }>) => {
  const filter: NodeFilter = useSearch({ from: '/console/platform/nodes' });
  const navigate = useNavigate({ from: '/platform/nodes' });
  const applied = useDeferredValue(filter);
  const shown = useMemo(() => filterNodes(nodes, applied), [nodes, applied]);
  const counts = useMemo(() => countFacets(nodes, applied), [nodes, applied]);
  const [isHeld, setHeld] = useState(false);
  const kept = useHeldNodes(nodes, shown, { filter: applied, isHeld });
  const rows = useMemo(() => gridRows(byRack(kept)), [kept]);
  const change = useCallback(
    (name: Facet | 'q' | 'attention', value: string | undefined) =>
      void navigate({ search: (before) => ({ ...before, [name]: value }), replace: true }),
    [navigate],
  );
  const open = useCallback(
    (node: SlotMapRow, slot: Tile | null) =>
      void navigate({
        to: '/platform/nodes/$nodeId',
        params: { nodeId: node.node_id },
        search: slot === null ? {} : { tab: 'slots', slot: String(slot.slot_index) },
      }),
    [navigate],
  );
  if (nodes.length === 0)
    return (
      <EmptyState title="No nodes" action={<Button onClick={onAdd}>Add node</Button>}>
        A node is a GPU host. Add a node, run the install command on the host, run discovery and approve slots.
      </EmptyState>
    );
  return (
    <>
      <FleetControls filter={filter} counts={counts} onChange={change} />
      <Group justify="space-between" gap={8}>
        <span className="muted tabular" role="status">
          {shown.length === nodes.length
            ? count(nodes.length, 'node')
            : `${shown.length} of ${count(nodes.length, 'node')}`}
        </span>
        <TileKey />
      </Group>
      {rows.length === 0 ? (
        <EmptyState
          title="No matching nodes"
          action={
            <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
              Clear filters
            </Button>
          }
        >
          {isFiltered(filter) ? 'No node matches all filters.' : 'No nodes to show.'}
        </EmptyState>
      ) : (
        <SlotGrid rows={rows} onOpen={open} onHold={setHeld} />
      )}
    </>
  );
};

export const NodesPage = () => {
  const nodes = useAll('adminSlotMapList', {}, { everyMs: POLL_MS });
  const isAdding = useSearch({ from: '/console/platform/nodes' }).add !== undefined;
  const navigate = useNavigate({ from: '/platform/nodes' });
  const setAdding = (isOpen: boolean) =>
    void navigate({ search: (before) => ({ ...before, add: isOpen ? 'node' : undefined }), replace: true });
  const whyNot = useMay();
  return (
    <div className="fleet">
      <Page
        title="Nodes"
        subtitle={<FragmentationLines nodes={nodes.data ?? []} />}
        actions={
          <ActionButton
            leftSection={<IconPlus size={16} aria-hidden />}
            disabledReason={whyNot('admin.node.create')}
            onClick={() => setAdding(true)}
          >
            Add node
          </ActionButton>
        }
      >
        <RestoreNotice />
      </Page>
      <Async of={nodes} rows={12} label="Loading nodes">
        {(found) => <Fleet nodes={found} onAdd={() => setAdding(true)} />}
      </Async>
      <AddNode isOpen={isAdding} onClose={() => setAdding(false)} />
    </div>
  );
};
