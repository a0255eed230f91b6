/** The slot map of one node, large, with the same facts as a table beside it. The selected slot is part of the URL. */
import type { Node, Slot } from '@gpuaas/sdk';
import { Button, Stack } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useAll, useRead } from '../../api/read.ts';
import { stateWord } from '../../format/state.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Ago, Elapsed } from '../../ui/time.tsx';
import { AllocationLink } from './links.tsx';
import { groupSlots, portsOf } from './slot-groups.ts';
import { SlotPanel } from './slot-panel.tsx';
import { slotLook } from './slot-view.ts';
import { readTopology } from './topology.ts';

const FLOOR_MS = 10_000;

const BigTile = ({
  node,
  slot,
  isChosen,
  onChoose,
}: Readonly<{ node: Node; slot: Slot; isChosen: boolean; onChoose: () => void }>) => {
  const { word, glyph, tone } = slotLook(slot, node);
  return (
    <button type="button" className="big-tile" data-tone={tone} aria-pressed={isChosen} onClick={onChoose}>
      <span className="big-tile-head">
        <span>GPU {slot.slot_index}</span>
        <span aria-hidden>{glyph}</span>
      </span>
      <span className="big-tile-word">{word}</span>
      <span>
        for <Elapsed since={slot.status_since} />
      </span>
      <span className="mono" title={slot.allocation_id ?? undefined}>
        {slot.allocation_id === null ? 'no claim' : `…${slot.allocation_id.slice(-8)}`}
      </span>
      <span>
        {slot.wiped_at === null ? (
          'no wipe proof'
        ) : (
          <>
            {slot.wipe_outcome === 'overridden' ? 'wipe overridden' : 'wiped'} <Ago at={slot.wiped_at} />
          </>
        )}
      </span>
      <span>
        {stateWord('health', slot.health).word}
        {slot.drift !== null && ', hardware change'}
      </span>
    </button>
  );
};

const columns = (onChoose: (index: number) => void): readonly Column<Slot>[] => [
  {
    header: 'Slot',
    cell: ({ slot_index }) => (
      <button type="button" className="link plain-button" onClick={() => onChoose(slot_index)}>
        GPU {slot_index}
      </button>
    ),
  },
  {
    header: 'Status',
    cell: (slot) => (
      <Stack gap={2} align="flex-start">
        <StateBadge kind="slot" state={slot.status} title={slot.status_reason ?? undefined} />
        <span className="muted">
          <Ago at={slot.status_since} />
        </span>
      </Stack>
    ),
  },
  {
    header: 'Approval',
    cell: ({ approval }) => <StateBadge kind="approval" state={approval} />,
    isSecondary: true,
  },
  { header: 'Health', cell: ({ health }) => <StateBadge kind="health" state={health} /> },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} /> },
  {
    header: 'Last wipe',
    cell: ({ wiped_at }) => (wiped_at === null ? <span className="muted">none verified</span> : <Ago at={wiped_at} />),
  },
  {
    header: 'Changed',
    cell: ({ drift }) => (drift === null ? 'none' : <ToneBadge tone="warn">differs</ToneBadge>),
    isSecondary: true,
  },
  { header: 'NUMA', cell: ({ numa_node }) => numa_node ?? 'unknown', align: 'right', isSecondary: true },
  {
    header: 'GPU address',
    cell: ({ gpu_pci_address }) => <span className="mono">{gpu_pci_address ?? 'none'}</span>,
    isSecondary: true,
  },
];

const SlotMap = ({ node, slots }: Readonly<{ node: Node; slots: readonly Slot[] }>) => {
  const search = useSearch({ from: '/console/platform/nodes/$nodeId' });
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const facts = useRead('adminNodeDiscoveryFactsGet', { params: { node_id: node.id } });
  const groups = useMemo(() => groupSlots(slots, portsOf(readTopology(facts.data))), [slots, facts.data]);
  const choose = (index: number | null) =>
    void navigate({
      search: (before) => ({ ...before, slot: index === null ? undefined : String(index) }),
      replace: true,
      resetScroll: false,
    });
  const chosen = slots.find(({ slot_index }) => String(slot_index) === search.slot);
  return (
    <Stack gap="md">
      <Section title="Slot map">
        <div className="numa-rows">
          {groups.map(({ numa, switches }) => (
            <div key={numa} className="numa">
              <h3>{numa === null ? 'NUMA node unknown' : `NUMA node ${numa}`}</h3>
              <div className="pcie-row">
                {switches.map(({ port, slots: under }) => (
                  <div key={port} className="pcie" style={{ gridColumn: `span ${under.length}` }}>
                    <span className="pcie-name mono" title={port ?? undefined}>
                      {port === null ? 'switch unknown' : `switch ${port.replace(/^0000:/, '')}`}
                    </span>
                    <div className="pcie-tiles">
                      {under.map((slot) => (
                        <BigTile
                          key={slot.id}
                          node={node}
                          slot={slot}
                          isChosen={slot === chosen}
                          onChoose={() => choose(slot === chosen ? null : slot.slot_index)}
                        />
                      ))}
                    </div>
                  </div>
                ))}
              </div>
            </div>
          ))}
        </div>
      </Section>
      {chosen !== undefined && <SlotPanel key={chosen.id} node={node} slot={chosen} slots={slots} />}
      <Section title="Slots as a table" flush>
        <DataTable label="Slots" columns={columns(choose)} rows={slots} rowKey={({ id }) => id} />
      </Section>
    </Stack>
  );
};

export const SlotsTab = ({ node }: Readonly<{ node: Node }>) => {
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const isWhole = node.capacity_mode === 'baremetal';
  const slots = useAll('adminNodeSlotList', { params: { node_id: node.id } }, { everyMs: FLOOR_MS });
  return (
    <Async of={slots} rows={8} label="Loading slots">
      {(found) =>
        found.length === 0 ? (
          <EmptyState
            title="No slots"
            action={
              <Button
                variant="default"
                onClick={() => void navigate({ search: { tab: isWhole ? 'convert' : 'candidates' } })}
              >
                {isWhole ? 'Show conversion plan' : 'Show candidates'}
              </Button>
            }
          >
            {isWhole
              ? 'A bare-metal node has no slots. Convert it to run slices.'
              : 'Run discovery, then review and approve slots under Candidates. A node without approved slots is not schedulable for slices.'}
          </EmptyState>
        ) : (
          <SlotMap node={node} slots={found} />
        )
      }
    </Async>
  );
};
