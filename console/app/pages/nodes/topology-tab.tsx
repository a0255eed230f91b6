/**
 * The topology of a host as a diagram and as a table. Devices below one switch are close together, and slots are built
 * from close devices.
 */

import type { Node } from '@gpuaas/sdk';
import { NativeSelect, Stack } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useId, useMemo } from 'react';
import { useAll, useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { TableScroll } from '../../ui/table-scroll.tsx';
import { DEVICE_LABELS } from './device-labels.ts';
import { isMissing } from './hooks.ts';
import { LinkSetTable } from './link-set-table.tsx';
import { type Device, readTopology, type Topology } from './topology.ts';
import { TopologyPicture } from './topology-picture.tsx';

type Line = Readonly<{ numa: number | null; port: string | null; device: Device }>;

const linesOf = ({ numaNodes }: Topology): readonly Line[] =>
  numaNodes.flatMap(({ numa, switches }) =>
    switches.flatMap(({ port, devices }) => devices.map((device) => ({ numa, port, device }))),
  );

const DeviceTable = ({ topology, id, chosen }: Readonly<{ topology: Topology; id: string; chosen: number | null }>) => (
  <TableScroll label="Devices">
    <table className="table" id={id}>
      <thead>
        <tr>
          <th scope="col">NUMA</th>
          <th scope="col">Switch</th>
          <th scope="col">Device</th>
          <th scope="col">Address</th>
          <th scope="col">What</th>
          <th scope="col">Slot</th>
        </tr>
      </thead>
      <tbody>
        {linesOf(topology)
          .filter(({ device }) => chosen === null || device.slot === chosen)
          .map(({ numa, port, device }) => (
            <tr key={`${device.kind} ${device.address} ${device.name}`}>
              <td>{numa ?? 'unknown'}</td>
              <td className="mono">{port ?? 'none'}</td>
              <td>{DEVICE_LABELS[device.kind]}</td>
              <td className="mono">{device.address}</td>
              <td className="long-text-cell">
                {device.name}
                {device.detail !== '' && <span className="muted">, {device.detail}</span>}
              </td>
              <td>{device.slot ?? 'none'}</td>
            </tr>
          ))}
      </tbody>
    </table>
  </TableScroll>
);

const Board = ({ node, facts }: Readonly<{ node: Node; facts: unknown }>) => {
  const search = useSearch({ from: '/console/platform/nodes/$nodeId' });
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const slots = useAll('adminNodeSlotList', { params: { node_id: node.id } });
  const topology = useMemo(() => readTopology(facts, slots.data ?? []), [facts, slots.data]);
  const [titleId, tableId] = [useId(), useId()];
  const chosen = slots.data?.find(({ slot_index }) => String(slot_index) === search.slot)?.slot_index ?? null;
  return (
    <Stack gap="md">
      {topology.unreadable.length > 0 && (
        <div className="panel" data-tone="warn" role="status">
          <div className="panel-body">
            Some host data could not be read. The topology may be incomplete:
            <ul style={{ margin: '4px 0' }}>
              {topology.unreadable.map((why) => (
                <li key={why}>{why}</li>
              ))}
            </ul>
          </div>
        </div>
      )}
      <Section
        title="Picture"
        actions={
          <NativeSelect
            aria-label="Highlight slot"
            value={search.slot ?? ''}
            onChange={(event) =>
              void navigate({
                search: (before) => ({ ...before, slot: event.currentTarget.value || undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          >
            <option value="">All slots</option>
            {slots.data?.map(({ slot_index }) => (
              <option key={slot_index} value={String(slot_index)}>
                Slot {slot_index}
              </option>
            ))}
          </NativeSelect>
        }
      >
        <section
          className="topology-scroll"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by key.
          tabIndex={0}
          aria-label="Topology picture"
        >
          <TopologyPicture topology={topology} chosen={chosen} titleId={titleId} tableId={tableId} />
        </section>
      </Section>
      <Section title={chosen === null ? 'Devices' : `Devices of slot ${chosen}`} flush>
        <DeviceTable topology={topology} id={tableId} chosen={chosen} />
      </Section>
      {topology.linkSets.length > 0 && (
        <Section title="NVLink sets" flush>
          <LinkSetTable sets={topology.linkSets} />
        </Section>
      )}
    </Stack>
  );
};

export const TopologyTab = ({ node }: Readonly<{ node: Node }>) => {
  const facts = useRead('adminNodeDiscoveryFactsGet', { params: { node_id: node.id } });
  return isMissing(facts.error) ? (
    <EmptyState title="No discovery yet">Run discovery to see the topology of the host.</EmptyState>
  ) : (
    <Async of={facts} rows={10} label="Loading topology">
      {(found) => <Board node={node} facts={found} />}
    </Async>
  );
};
