/** One slot: its bundle, its holder, its wipe, its differences and its actions. */
import type { Node, Slot } from '@gpuaas/sdk';
import { Group, Stack, Text, Title } from '@mantine/core';
import { Copyable, Id } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { fieldLabel, valueText } from './diff.ts';
import { DiffTable } from './diff-table.tsx';
import { AllocationLink } from './links.tsx';
import { SlotActions } from './slot-actions.tsx';
import { SlotProofs } from './slot-proofs.tsx';

const Bound = ({ value, label }: Readonly<{ value: string | null; label: string }>) =>
  value === null ? <span className="muted">none</span> : <Copyable text={value} label={label} />;

const Bindings = ({ slot }: Readonly<{ slot: Slot }>) => (
  <Facts
    facts={[
      ['GPU', <Bound key="gpu" value={slot.gpu_pci_address} label="GPU address" />],
      ['NVMe serial', <Bound key="nvme" value={slot.nvme_serial} label="NVMe serial" />],
      ['Fabric function', <Bound key="vf" value={slot.fabric_vf_pci_address} label="fabric function" />],
      ['MAC address', <Bound key="mac" value={slot.mac_address} label="MAC address" />],
      ['Private IP', <Bound key="ip" value={slot.private_ip} label="private IP" />],
      ['Module', slot.module_id ?? 'unknown'],
      ['NUMA node', slot.numa_node ?? 'unknown'],
      ['Slot ID', <Id key="id" id={slot.id} label="slot ID" />],
    ]}
  />
);

const Status = ({ slot }: Readonly<{ slot: Slot }>) => (
  <Facts
    facts={[
      [
        'Status',
        <span key="status">
          <StateBadge kind="slot" state={slot.status} /> <Ago at={slot.status_since} />
          {slot.status_reason !== null && <div>{slot.status_reason}</div>}
        </span>,
      ],
      [
        'Approval',
        <span key="approval">
          <StateBadge kind="approval" state={slot.approval} />
          {slot.approved_at !== null && (
            <span className="muted">
              {' '}
              <Ago at={slot.approved_at} /> by {slot.approved_by ?? 'unknown'}
            </span>
          )}
        </span>,
      ],
      ['Health', <StateBadge key="health" kind="health" state={slot.health} />],
      ['Allocation', <AllocationLink key="allocation" id={slot.allocation_id} />],
      ['Last claimed', slot.last_claimed_at === null ? 'never' : <Ago key="claimed" at={slot.last_claimed_at} />],
      [
        'Generation',
        slot.host_generation === null ? (
          slot.generation
        ) : (
          <span key="generation">
            {slot.generation} in the database,{' '}
            <ToneBadge tone="warn">{`${slot.host_generation} on the host`}</ToneBadge>
            <div className="muted">
              The host has a newer generation than the database, which was restored from a backup. Adopt the host
              generation when you retry cleanup.
            </div>
          </span>
        ),
      ],
    ]}
  />
);

const HealthDetail = ({ detail }: Readonly<{ detail: Slot['health_detail'] }>) => {
  const entries = Object.entries(detail);
  if (entries.length === 0) return null;
  return (
    <div>
      <Title order={3} className="part-title">
        Health details
      </Title>
      <Facts facts={entries.map(([name, value]) => [fieldLabel(name), valueText(value)])} />
    </div>
  );
};

export const SlotPanel = ({ node, slot, slots }: Readonly<{ node: Node; slot: Slot; slots: readonly Slot[] }>) => (
  <Section title={`Slot ${slot.slot_index}`}>
    <Stack gap="md">
      <Group gap="xs">
        <SlotActions node={node} slot={slot} slots={slots} />
      </Group>
      <div className="two-columns">
        <div>
          <Title order={3} className="part-title">
            Status
          </Title>
          <Status slot={slot} />
        </div>
        <div>
          <Title order={3} className="part-title">
            Bundle
          </Title>
          <Bindings slot={slot} />
        </div>
      </div>
      <HealthDetail detail={slot.health_detail} />
      {slot.drift !== null && (
        <div>
          <Title order={3} className="part-title">
            Hardware change
          </Title>
          <Text className="muted">Differences between the latest discovery and the approval.</Text>
          <DiffTable diff={slot.drift} label={`Hardware change of slot ${slot.slot_index}`} />
        </div>
      )}
      <SlotProofs node={node} slot={slot} />
    </Stack>
  </Section>
);
