/** What the newest discovery found, what stands in the way, and the approval of it. */
import type { Discovery, Node } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { command } from '../../format/shell.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { DirectAction } from './act.tsx';
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
          {!is_met && needs_reboot && ' The host has to be restarted for it.'}
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
          The host has to be restarted before what was changed there counts. Drain it first; discover it again when it
          is back.
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
  <Section title="NVLink sets that the fabric offers" flush>
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
      title="Newest discovery"
      actions={
        <DirectAction
          label="Discover again"
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
          What is shown was found <Ago at={discovery.map.created_at} />.
        </p>
      )}
      <CliCommand command={command(['admin', 'node', 'discover', node.name], [['wait', true]])} />
    </Section>
    {discovery.map === null ? (
      <EmptyState title="The host has not answered yet">
        {isTaskOpen(discovery.task)
          ? 'Its agent is reading the host. This page shows what it finds as soon as it is there.'
          : 'The discovery ended without a result; its error says why. Discover it again when that is put right.'}
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
        title="Nothing discovered yet"
        action={
          <DirectAction
            label="Discover"
            disabledReason={whyNot(node.actions, 'discover')}
            operation="adminNodeDiscoveryCreate"
            request={{ params: { node_id: node.id }, body: {} }}
          />
        }
      >
        The agent reads its host and proposes slots. Nothing is sold before you have looked at them and approved them.
      </EmptyState>
      <Disks node={node} map={null} />
    </Stack>
  ) : (
    <Async of={discovery} rows={10} label="Loading the discovery">
      {(found) => <Found node={node} discovery={found} />}
    </Async>
  );
};
