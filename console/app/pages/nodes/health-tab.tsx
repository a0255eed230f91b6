/** What counts of a node's health, who says so, and where people say otherwise. */
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
import { DirectAction, ReasonAction } from './act.tsx';
import { OverrideDialog } from './override-dialog.tsx';

type NodeHealth = Operations['adminNodeHealthGet']['response'];
type Alert = NodeHealth['alerts'][number];
type Override = NodeHealth['overrides'][number];
type Of = Readonly<{ node: Node; health: NodeHealth }>;
type Probing = Readonly<{ isProbing: boolean; onProbe: () => void }>;

/** How often it is asked for: while a probe is under way, and otherwise. */
const BUSY_MS = 1_000;
const FLOOR_MS = 10_000;

const PREVENTS = {
  prevent_allocations: 'keeps launches away',
  prevent_host_changes: 'keeps changes of the host away',
  suppress_alert: 'told to nobody',
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
    header: 'Says',
    cell: ({ mode, muted_alert_ids, alerts }) =>
      [
        mode === 'replace' ? 'what the source says does not count' : null,
        muted_alert_ids.length > 0 ? `mutes ${muted_alert_ids.join(', ')}` : null,
        alerts.length > 0 ? `adds ${alerts.map(({ id }) => id).join(', ')}` : null,
      ]
        .filter((one) => one !== null)
        .join('; '),
  },
  { header: 'Why', cell: ({ reason, created_by }) => `${reason} (${created_by})`, isSecondary: true },
  {
    header: 'Ends',
    cell: ({ expires_at }) => (expires_at === null ? 'when it is removed' : <Until at={expires_at} />),
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ source }) => (
      <ReasonAction
        label="Remove"
        size="xs"
        title={`Believe ${source} again`}
        disabledReason={refusal}
        asksReason={false}
        operation="adminNodeHealthOverrideDelete"
        request={() => ({ params: { node_id: node.id, source } })}
        command={() => command(['admin', 'health', 'override-remove', node.name, source])}
      >
        What {source} says about {node.name} counts again, at once.
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
      title="What counts"
      actions={
        <DirectAction
          label="Probe now"
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
              The agent is looking.
            </span>
          )}
          {health.prevents.map((one) => (
            <ToneBadge key={one} tone="warn">
              {PREVENTS[one]}
            </ToneBadge>
          ))}
        </Group>
        {alerts.length === 0 ? (
          <Text className="muted">No alert counts now.</Text>
        ) : (
          <DataTable
            label="Alerts that count"
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
        title="Where people say otherwise"
        actions={
          <ActionButton size="xs" variant="default" disabledReason={refusal} onClick={() => setAdding(true)}>
            Say otherwise
          </ActionButton>
        }
      >
        {health.overrides.length === 0 ? (
          <Text className="muted">
            Nothing is overridden. Mute an alert here while its cause is known and harmless, or add one that no source
            sees.
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
        <Section key={source} title={`Report of ${source}`}>
          <Stack gap="sm">
            <span className="muted">
              Looked <Ago at={observed_at} />. Passed: {successes.length === 0 ? 'nothing' : successes.join(', ')}.
            </span>
            {alerts.length === 0 ? (
              <Text className="muted">It raises no alert.</Text>
            ) : (
              <DataTable
                label={`Alerts of ${source}`}
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

/** When the newest report was made; a probe is answered by one that is newer. */
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
    <Async of={health} rows={8} label="Loading the health">
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
