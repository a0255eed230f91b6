/** All facts about the allocation. Hosts and devices are hidden from tenants; operators get links to them. */

import type { Allocation } from '@gpuaas/sdk';
import { Badge, Group, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { refusalOf, useMe } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { bytes } from '../../format/size.ts';
import { span } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { Exact } from '../../ui/time.tsx';
import { pricePerHour } from './cost.ts';
import { usePeople } from './hooks.ts';
import { shapeWords } from './list.ts';

const NONE = '–';
const at = (time: string | null): ReactNode => (time === null ? NONE : <Exact at={time} />);
const copied = (text: string | null, label: string): ReactNode =>
  text === null ? NONE : <Copyable text={text} label={label} />;

const Tags = ({ tags }: Readonly<{ tags: Allocation['tags'] }>) => {
  const pairs = Object.entries(tags);
  if (pairs.length === 0) return NONE;
  return (
    <Group gap={6}>
      {pairs.map(([key, value]) => (
        <Badge key={key} variant="default" tt="none" fw={500} title={`${key}=${value}`} maw="100%">
          {key}={value}
        </Badge>
      ))}
    </Group>
  );
};

const OperatorView = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const seen = useRead('adminAllocationGet', { params: { allocation_id: allocation.id } });
  return (
    <Section title="For operators">
      <Async of={seen} rows={1}>
        {({ node_id, organization_id, claims }) => (
          <Facts
            facts={[
              ['Organization', <Copyable key="org" text={organization_id} label="organization ID" />],
              [
                'Node',
                node_id === null ? (
                  NONE
                ) : (
                  <Link key="node" className="link" to="/platform/nodes/$nodeId" params={{ nodeId: node_id }}>
                    {node_id}
                  </Link>
                ),
              ],
              ['Claims', `${claims.length}, ${claims.filter(({ released_at }) => released_at === null).length} live`],
            ]}
          />
        )}
      </Async>
    </Section>
  );
};

const NODE_SYSTEM = 'operating system of the node';

export const DetailsTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const nameOf = usePeople(allocation.project_id, [allocation.requested_by]);
  const isOperator = refusalOf(useMe(), 'admin.allocation.read') === null;
  const { placement, power, ssh } = allocation;
  return (
    <Stack gap="md">
      <div className="al-two-columns">
        <Section title="Configuration">
          <Facts
            facts={[
              ['Shape', shapeWords(allocation)],
              ['SKU', allocation.sku_name],
              ['Region', allocation.region_name],
              ['VM profile', placement.vm_profile ?? NONE],
              ['vCPUs', placement.vcpu_count ?? NONE],
              ['Memory', placement.memory_mib === null ? NONE : bytes(placement.memory_mib * 1024 ** 2)],
              ['Image', allocation.image_name ?? (allocation.capacity_shape === 'baremetal' ? NODE_SYSTEM : NONE)],
              ['Image digest', copied(allocation.image_digest, 'image digest')],
              ['Storage', allocation.storage],
              ['Network', allocation.network ?? NONE],
              ['Reinstalled', power === null ? NONE : `${power.install_number} times`],
              ['User', ssh?.username ?? 'available while active'],
              ['Price per hour', money(pricePerHour(allocation))],
              ['Tags', <Tags key="tags" tags={allocation.tags} />],
              ['Protected', allocation.is_protected ? 'Yes: release is blocked until unprotected' : 'No'],
            ]}
          />
        </Section>
        <Section title="History">
          <Facts
            facts={[
              ['Launched by', nameOf(allocation.requested_by)],
              ['Requested', at(allocation.created_at)],
              ['Activated', at(allocation.activated_at)],
              [
                'Maximum duration',
                allocation.max_duration_s === null ? 'no limit' : span(allocation.max_duration_s * 1000),
              ],
              ['Automatic release', at(allocation.release_at)],
              ['Release requested', at(allocation.release_requested_at)],
              ['Wipe verified', at(allocation.released_at)],
              ['State since', at(allocation.state_since)],
              ['Reason', allocation.state_reason ?? NONE],
              ['State deadline', at(allocation.state_deadline_at)],
            ]}
          />
        </Section>
      </div>
      <Section title="IDs">
        <Facts
          facts={[
            ['Allocation', copied(allocation.id, 'allocation ID')],
            ['Project', copied(allocation.project_id, 'project ID')],
            ['Correlation ID', copied(allocation.correlation_id, 'correlation ID')],
            ['Launched by', copied(allocation.requested_by, 'principal ID')],
            ['SSH keys', allocation.ssh_key_ids.length === 0 ? NONE : allocation.ssh_key_ids.join(', ')],
            ['Version', allocation.version],
          ]}
        />
      </Section>
      {isOperator && <OperatorView allocation={allocation} />}
    </Stack>
  );
};
