/** The newest discovery, its blockers, and its approval. */
import type { Discovery, Node } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { command } from '../../format/shell.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { DirectAction } from './action-controls.tsx';
import type { TopologyMap } from './approve.ts';
import { ApproveCandidates } from './approve-candidates.tsx';
import { Disks } from './disks.tsx';
import { isMissing, isTaskOpen, useWatched } from './hooks.ts';
import { LinkSetTable } from './link-set-table.tsx';
import { TaskLine } from './task-line.tsx';

const Checks = ({ checks }: Readonly<{ checks: TopologyMap['prerequisites'] }>) => (
  <ul className="check-list">
    {checks.map(({ name, is_met, needs_reboot, message }) => (
      <li key={name}>
        <ToneBadge tone={is_met ? 'good' : 'bad'}>{is_met ? 'Met' : 'Not met'}</ToneBadge>
        <span>
          <strong>{name.replaceAll('_', ' ')}</strong>: {message}
          {!is_met && needs_reboot && ' Requires a host reboot.'}
        </span>
      </li>
    ))}
  </ul>
);

const Prerequisites = ({ map }: Readonly<{ map: TopologyMap }>) => (
  <Section title="Prerequisites">
    {map.reboot_required && (
      <p className="panel" data-tone="warn" role="status" style={{ marginTop: 0 }}>
        <span className="panel-body">
          The host needs a reboot. Drain the node, reboot the host, then run discovery again.
        </span>
      </p>
    )}
    <Checks checks={map.prerequisites.filter(({ is_met }) => !is_met)} />
    <details className="met" open={map.prerequisites.every(({ is_met }) => !is_met)}>
      <summary>{map.prerequisites.filter(({ is_met }) => is_met).length} are met</summary>
      <Checks checks={map.prerequisites.filter(({ is_met }) => is_met)} />
    </details>
  </Section>
);

const Partitions = ({ map }: Readonly<{ map: TopologyMap }>) => (
  <Section title="Available NVLink sets" flush>
    <LinkSetTable
      sets={map.partitions.map(({ partition_id, module_ids, is_active }) => ({
        id: partition_id,
        modules: module_ids,
        isActive: is_active,
      }))}
    />
  </Section>
);

const Found = ({ node, discovery }: Readonly<{ node: Node; discovery: Discovery }>) => (
  <Stack gap="md">
    <Section
      title="Latest discovery"
      actions={
        <DirectAction
          label="Run discovery"
          size="xs"
          disabledReason={whyNot(node.actions, 'discover')}
          operation="adminNodeDiscoveryCreate"
          request={{ params: { node_id: node.id }, body: {} }}
        />
      }
    >
      <TaskLine task={discovery.task} />
      {discovery.map !== null && (
        <p className="muted">
          Discovered <Ago at={discovery.map.created_at} />.
        </p>
      )}
      <CliCommand command={command(['admin', 'node', 'discover', node.name], [['wait', true]])} />
    </Section>
    {discovery.map === null ? (
      <EmptyState title={isTaskOpen(discovery.task) ? 'Discovery in progress' : 'Discovery failed'}>
        {isTaskOpen(discovery.task)
          ? 'The agent is scanning the host. Results appear here automatically.'
          : 'Discovery failed. Fix the reported error, then run discovery again.'}
      </EmptyState>
    ) : (
      <>
        <Prerequisites map={discovery.map} />
        <ApproveCandidates node={node} map={discovery.map} />
        <Disks node={node} map={discovery.map} />
        {discovery.map.partitions.length > 0 && <Partitions map={discovery.map} />}
      </>
    )}
  </Stack>
);

export const CandidatesTab = ({ node }: Readonly<{ node: Node }>) => {
  const discovery = useWatched('adminNodeDiscoveryGet', { params: { node_id: node.id } }, ({ task }) =>
    isTaskOpen(task),
  );
  return isMissing(discovery.error) ? (
    <Stack gap="md">
      <EmptyState
        title="No discovery yet"
        action={
          <DirectAction
            label="Run discovery"
            disabledReason={whyNot(node.actions, 'discover')}
            operation="adminNodeDiscoveryCreate"
            request={{ params: { node_id: node.id }, body: {} }}
          />
        }
      >
        The agent scans the host and proposes slots. Slots become schedulable after you approve them.
      </EmptyState>
      <Disks node={node} map={null} />
    </Stack>
  ) : (
    <Async of={discovery} rows={10} label="Loading discovery">
      {(found) => <Found node={node} discovery={found} />}
    </Async>
  );
};
