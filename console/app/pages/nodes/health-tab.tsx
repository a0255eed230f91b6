/** Health of a node, its sources and its health overrides. */
import type { Node, Operations } from '@gpuaas/sdk';
import { Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Ago, Until } from '../../ui/time.tsx';
import { DirectAction, ReasonAction } from './action-controls.tsx';
import { OverrideDialog } from './override-dialog.tsx';

type NodeHealth = Operations['adminNodeHealthGet']['response'];
type Alert = NodeHealth['alerts'][number];
type Override = NodeHealth['overrides'][number];
type Of = Readonly<{ node: Node; health: NodeHealth }>;
type Probing = Readonly<{ isProbing: boolean; onProbe: () => void }>;

/** The polling interval: while a probe is in progress, and otherwise. */
const BUSY_MS = 1_000;
const FLOOR_MS = 10_000;

const PREVENTS = {
  prevent_allocations: 'blocks launches',
  prevent_host_changes: 'blocks host changes',
  suppress_alert: 'alert suppressed',
} as const satisfies Record<NodeHealth['prevents'][number], string>;

const alertColumns: readonly Column<Alert & { where?: string }>[] = [
  { header: 'Alert', cell: ({ id }) => <span className="mono">{id}</span> },
  { header: 'Target', cell: ({ target, where }) => where ?? target },
  { header: 'Message', cell: ({ message }) => <span className="long-text">{message}</span> },
  {
    header: 'Effect',
    cell: ({ classifications }) => classifications.map((one) => PREVENTS[one]).join(', ') || 'none',
    isSecondary: true,
  },
  { header: 'Since', cell: ({ since }) => <Ago at={since} /> },
];

const overrideColumns = (node: Node, refusal: string | null): readonly Column<Override>[] => [
  { header: 'Source', cell: ({ source }) => <span className="mono">{source}</span> },
  {
    header: 'Override',
    cell: ({ mode, muted_alert_ids, alerts }) =>
      [
        mode === 'replace' ? 'ignores all alerts of the source' : null,
        muted_alert_ids.length > 0 ? `mutes ${muted_alert_ids.join(', ')}` : null,
        alerts.length > 0 ? `adds ${alerts.map(({ id }) => id).join(', ')}` : null,
      ]
        .filter((one) => one !== null)
        .join('; '),
  },
  { header: 'Reason', cell: ({ reason, created_by }) => `${reason} (${created_by})`, isSecondary: true },
  {
    header: 'Expires',
    cell: ({ expires_at }) => (expires_at === null ? 'until removed' : <Until at={expires_at} />),
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ source }) => (
      <ReasonAction
        label="Remove"
        size="xs"
        title={`Remove override for ${source}`}
        disabledReason={refusal}
        asksReason={false}
        operation="adminNodeHealthOverrideDelete"
        request={() => ({ params: { node_id: node.id, source } })}
        command={() => command(['admin', 'health', 'override', 'remove', node.name, source])}
      >
        Reports from {source} about {node.name} apply again immediately.
      </ReasonAction>
    ),
  },
];

const Counts = ({ node, health, isProbing, onProbe }: Of & Probing) => {
  const ofSlots = health.slots.flatMap(({ slot_index, alerts }) =>
    alerts.map((alert) => ({ ...alert, where: `slot ${slot_index}` })),
  );
  const alerts = [...health.alerts, ...ofSlots];
  return (
    <Section
      title="Health"
      actions={
        <DirectAction
          label="Probe"
          size="xs"
          disabledReason={whyNot(node.actions, 'probe')}
          operation="adminNodeHealthProbe"
          request={{ params: { node_id: node.id }, body: {} }}
          onDone={onProbe}
        />
      }
    >
      <Stack gap="sm">
        <Group gap="sm">
          <StateBadge kind="health" state={health.health} />
          {isProbing && (
            <span className="muted" role="status">
              The agent is checking.
            </span>
          )}
          {health.prevents.map((one) => (
            <ToneBadge key={one} tone="warn">
              {PREVENTS[one]}
            </ToneBadge>
          ))}
        </Group>
        {alerts.length === 0 ? (
          <Text className="muted">No active alerts.</Text>
        ) : (
          <DataTable
            label="Active alerts"
            columns={alertColumns}
            rows={alerts}
            rowKey={(alert) => `${alert.id} ${alert.target} ${'where' in alert ? alert.where : ''}`}
          />
        )}
        <CliCommand command={command(['admin', 'health', 'probe', node.name])} />
      </Stack>
    </Section>
  );
};

const Body = ({ node, health, ...probing }: Of & Probing) => {
  const refusal = useMay()('admin.node.update');
  const [isAdding, setAdding] = useState(false);
  return (
    <Stack gap="md">
      <Counts node={node} health={health} {...probing} />
      <Section
        title="Health overrides"
        actions={
          <ActionButton size="xs" variant="default" disabledReason={refusal} onClick={() => setAdding(true)}>
            Add override
          </ActionButton>
        }
      >
        {health.overrides.length === 0 ? (
          <Text className="muted">
            No overrides. Mute a known harmless alert, or add an alert that no source reports.
          </Text>
        ) : (
          <DataTable
            label="Overrides"
            columns={overrideColumns(node, refusal)}
            rows={health.overrides}
            rowKey={({ source }) => source}
          />
        )}
      </Section>
      {health.reports.map(({ source, observed_at, successes, alerts }) => (
        <Section key={source} title={`Report from ${source}`}>
          <Stack gap="sm">
            <span className="muted">
              Reported <Ago at={observed_at} />. Passed: {successes.length === 0 ? 'none' : successes.join(', ')}.
            </span>
            {alerts.length === 0 ? (
              <Text className="muted">No alerts.</Text>
            ) : (
              <DataTable
                label={`Alerts from ${source}`}
                columns={alertColumns}
                rows={alerts}
                rowKey={({ id, target }) => `${id} ${target}`}
              />
            )}
          </Stack>
        </Section>
      ))}
      <OverrideDialog node={node} health={health} isOpen={isAdding} onClose={() => setAdding(false)} />
    </Stack>
  );
};

/** The time of the newest report; a newer one is the response to a probe. */
const newestOf = ({ reports }: NodeHealth): string =>
  reports
    .map(({ observed_at }) => observed_at)
    .sort()
    .at(-1) ?? '';

export const HealthTab = ({ node }: Readonly<{ node: Node }>) => {
  const [probedAfter, setProbedAfter] = useState<string | null>(null);
  const health = useRead(
    'adminNodeHealthGet',
    { params: { node_id: node.id } },
    { everyMs: probedAfter === null ? FLOOR_MS : BUSY_MS },
  );
  if (probedAfter !== null && health.data !== undefined && newestOf(health.data) !== probedAfter) setProbedAfter(null);
  return (
    <Async of={health} rows={8} label="Loading health">
      {(found) => (
        <Body
          node={node}
          health={found}
          isProbing={probedAfter !== null}
          onProbe={() => setProbedAfter(newestOf(found))}
        />
      )}
    </Async>
  );
};
