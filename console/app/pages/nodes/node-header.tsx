/** The summary of a node: state and reason, use, health and agent. */
import type { Node, Operations } from '@gpuaas/sdk';
import type { ReactNode } from 'react';
import { count } from '../../format/size.ts';
import { duration } from '../../format/time.ts';
import { Copyable } from '../../ui/copy.tsx';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Ago, Elapsed } from '../../ui/time.tsx';

type Agent = Operations['adminNodeAgentGet']['response'];

const MODES: Readonly<Record<Node['capacity_mode'], string>> = {
  slice: 'slice mode',
  baremetal: 'bare-metal mode',
  flexible: 'flexible mode',
};

const SKEW_MS = 500;

const Stat = ({ label, children, note }: Readonly<{ label: string; children: ReactNode; note?: ReactNode }>) => (
  <div className="stat">
    <dt>{label}</dt>
    <dd>
      {children}
      {note !== undefined && <div className="muted stat-note">{note}</div>}
    </dd>
  </div>
);

const skewText = (skewMs: number | null): string => {
  if (skewMs === null) return 'clock unknown';
  return Math.abs(skewMs) < SKEW_MS
    ? 'clock in sync'
    : `clock ${duration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
};

const AgentStat = ({ node, agent }: Readonly<{ node: Node; agent: Agent | undefined }>) => (
  <Stat
    label="Agent"
    note={
      <>
        {node.last_seen_at === null ? (
          'never seen'
        ) : (
          <>
            seen <Ago at={node.last_seen_at} />
          </>
        )}
        {agent !== undefined && (
          <>
            , version {agent.agent_version ?? 'unknown'}, {skewText(agent.clock_skew_ms)}
          </>
        )}
      </>
    }
  >
    <ToneBadge tone={node.is_connected ? 'good' : 'bad'}>{node.is_connected ? 'Connected' : 'Not connected'}</ToneBadge>
  </Stat>
);

export const NodeHeader = ({ node, agent }: Readonly<{ node: Node; agent: Agent | undefined }>) => (
  <dl className="card stats">
    <Stat
      label="State"
      note={
        <>
          for <Elapsed since={node.state_since} />
          {node.state_reason !== null && <>: {node.state_reason}</>}
        </>
      }
    >
      <StateBadge kind="node" state={node.state} />
    </Stat>
    <Stat label="Occupancy" note={`${MODES[node.capacity_mode]}${node.is_held ? ', held for bare metal' : ''}`}>
      <StateBadge kind="occupancy" state={node.occupancy} title={node.held_reason ?? undefined} />
    </Stat>
    <Stat label="Free" note={`largest set ${node.largest_set}`}>
      <span className="tabular">
        {node.free_gpus} of {count(node.gpu_count, 'GPU')}
      </span>
    </Stat>
    <Stat label="Health" note={node.is_runtime_validated ? 'runtime check passed' : 'runtime check pending'}>
      <StateBadge kind="health" state={node.health} />
    </Stat>
    <AgentStat node={node} agent={agent} />
    <Stat label="ID" note={`${node.region_name}, pool ${node.pool_name}`}>
      <Copyable text={node.id} label="node ID" />
    </Stat>
  </dl>
);

const diskWords = ({ unapproved_disks: disks }: Node): string =>
  `${disks.length === 1 ? 'disk' : 'disks'} ${disks.map(({ name, serial }) => serial ?? name).join(', ')}`;

/** Required operator actions, each with a link. */
export const nodeNotices = (
  node: Node,
): readonly Readonly<{ text: string; tab: 'candidates' | 'inventory' | 'health' }>[] => [
  ...(node.health === 'unhealthy' ? [{ text: 'An alert blocks placement on this node.', tab: 'health' as const }] : []),
  ...(node.launch_failures > 0
    ? [
        {
          text: `${count(node.launch_failures, 'launch', 'launches')} in a row failed on the host.`,
          tab: 'health' as const,
        },
      ]
    : []),
  ...(node.gpu_model_conflict === null ? [] : [{ text: node.gpu_model_conflict, tab: 'candidates' as const }]),
  ...(node.unapproved_disks.length === 0
    ? []
    : [
        {
          text: `The node is not allocated as bare metal: a release would not wipe ${diskWords(node)}. Approve or exclude each disk.`,
          tab: 'candidates' as const,
        },
      ]),
  ...(node.has_hardware_change
    ? [{ text: 'The latest discovery differs from the approved slots.', tab: 'candidates' as const }]
    : []),
  ...(node.reboot_required
    ? [{ text: `The host needs a reboot. ${node.reboot_reason ?? ''}`.trim(), tab: 'candidates' as const }]
    : []),
  ...(node.finding_count > 0
    ? [
        {
          text: `The host differs from its claims: ${count(node.finding_count, 'finding')}.`,
          tab: 'inventory' as const,
        },
      ]
    : []),
];
