/** Actions on a whole node. An unavailable action stays visible and shows why. */
import { type Node, OVER_NODE_STATES } from '@gpuaas/sdk';
import { Group, Modal, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { usePoolChoices } from '../../resource/choices.ts';
import { type Form, fieldsOf, sends } from '../../resource/form.ts';
import { adminNodeUpdate } from '../../resource/inputs.gen.ts';
import { type Asked, ResourceDialog } from '../../resource/resource-form.tsx';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { DirectAction, ReasonAction } from './action-controls.tsx';
import { type Enrollment, EnrollmentCommand } from './enrollment.tsx';
import type { NodeTab } from './tabs.ts';

const cli = (words: readonly string[], flags: Parameters<typeof command>[1] = []) =>
  command(['admin', 'node', ...words], flags);

const why = ({ actions }: Node, name: string): string | null => whyNot(actions, name);

const Draining = ({ node }: Readonly<{ node: Node }>) => {
  const isDraining = node.state === 'draining';
  return (
    <ReasonAction
      label={isDraining ? 'Resume' : 'Drain'}
      title={isDraining ? `Resume ${node.name}` : `Drain ${node.name}`}
      disabledReason={why(node, isDraining ? 'resume' : 'drain')}
      operation="adminNodeDrain"
      request={(reason) => ({ params: { node_id: node.id }, body: { is_draining: !isDraining, reason } })}
      command={(reason) => cli([isDraining ? 'resume' : 'drain', node.name], [['reason', reason]])}
    >
      {isDraining
        ? 'New allocations can be placed on this node again.'
        : 'No new placements. Existing allocations continue.'}
    </ReasonAction>
  );
};

const Holding = ({ node }: Readonly<{ node: Node }>) => (
  <ReasonAction
    label={node.is_held ? 'Unhold' : 'Hold'}
    title={node.is_held ? `Unhold ${node.name}` : `Hold ${node.name} for bare metal`}
    disabledReason={why(node, node.is_held ? 'unhold' : 'hold')}
    operation="adminNodeHold"
    request={(reason) => ({ params: { node_id: node.id }, body: { is_held: !node.is_held, reason } })}
    command={(reason) => cli([node.is_held ? 'unhold' : 'hold', node.name], [['reason', reason]])}
  >
    {node.is_held
      ? 'New slices can be placed on this node again.'
      : 'No new slices. Once empty, the node is available for bare metal.'}
  </ReasonAction>
);

const Failures = ({ node }: Readonly<{ node: Node }>) => (
  <ReasonAction
    label="Clear failures"
    title={`Clear failed launches of ${node.name}`}
    disabledReason={why(node, 'clear_launch_failures')}
    operation="adminNodeLaunchFailuresClear"
    request={(reason) => ({ params: { node_id: node.id }, body: { reason } })}
    command={(reason) => cli(['clear-failures', node.name], [['reason', reason]])}
  >
    New launches can be placed on this node again. Check the host first: see Health for the last failure.
  </ReasonAction>
);

const MOVE: Form<Node> = {
  label: 'Move to pool',
  submit: 'Move',
  title: ({ name }) => `Move ${name} to another pool`,
  permission: 'admin.node.update',
  note: ({ pool_name }) =>
    `It is in pool ${pool_name}. Running allocations are untouched. A dedicated pool takes no node with allocations of other organizations.`,
  fields: fieldsOf(adminNodeUpdate, {
    pool_name: { label: 'Pool', description: null, useChoices: usePoolChoices, flag: 'pool' },
    reason: { label: 'Reason', description: 'Recorded in the audit log.', isLong: true },
  }),
  check: ({ pool_name }, node) => (pool_name === node.pool_name ? 'The node is in this pool already.' : null),
  send: sends('adminNodeUpdate', (body, { id }: Node) => ({ params: { node_id: id }, body }), {
    version: ({ version }) => version,
  }),
  words: ({ name }) => ['admin', 'node', 'update', name],
};

const Moving = ({ node }: Readonly<{ node: Node }>) => {
  const refusal = useMay()(MOVE.permission);
  const [asked, setAsked] = useState<Asked<Node> | null>(null);
  const isOver = OVER_NODE_STATES.some((state) => state === node.state);
  return (
    <>
      <ActionButton
        variant="default"
        disabledReason={refusal ?? (isOver ? 'A retired node is in no pool.' : null)}
        onClick={() => setAsked({ form: MOVE, row: node })}
      >
        {MOVE.label}
      </ActionButton>
      <ResourceDialog asked={asked} onClose={() => setAsked(null)} />
    </>
  );
};

const Ending = ({ node }: Readonly<{ node: Node }>) => {
  const navigate = useNavigate();
  const params = { node_id: node.id };
  return (
    <>
      <ReasonAction
        label="Retire"
        title={`Retire ${node.name}`}
        disabledReason={why(node, 'retire')}
        isDestructive
        typeToConfirm={node.name}
        operation="adminNodeRetire"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['retire', node.name], [['reason', reason]])}
      >
        Removes the node permanently: certificates are revoked, open tasks cancelled and slots disabled. This cannot be
        undone. The host can be added again as a new node.
      </ReasonAction>
      <ReasonAction
        label="Delete"
        title={`Delete ${node.name}`}
        disabledReason={why(node, 'delete')}
        isDestructive
        asksReason={false}
        typeToConfirm={node.name}
        operation="adminNodeDelete"
        request={() => ({ params })}
        command={() => cli(['delete', node.name])}
        onDone={() => void navigate({ to: '/platform/nodes' })}
      >
        The name and the disks become free for other nodes. The history is kept.
      </ReasonAction>
    </>
  );
};

export const AgentActions = ({ node }: Readonly<{ node: Node }>) => {
  const [enrollment, setEnrollment] = useState<Enrollment | null>(null);
  const params = { node_id: node.id };
  return (
    <>
      <ReasonAction
        label="Re-enroll"
        title={`Re-enroll ${node.name}`}
        disabledReason={why(node, 'enroll')}
        operation="adminNodeEnrollmentCreate"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['enroll', node.name], [['reason', reason]])}
        onDone={({ data }) => setEnrollment(data)}
      >
        Creates a new install command and token. An unused earlier token stops working. Using the new one revokes
        earlier certificates.
      </ReasonAction>
      <ReasonAction
        label="Rebind"
        title={`Rebind ${node.name} to another host`}
        disabledReason={why(node, 'rebind')}
        isDestructive
        typeToConfirm={node.name}
        operation="adminNodeRebind"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['rebind', node.name], [['reason', reason]])}
        onDone={({ data }) => setEnrollment(data)}
      >
        For a replaced host or mainboard. Ends slot approvals, wipe proofs and disk approvals of the node. The new host
        must be discovered, approved and wiped. The first host that uses the new token is bound to the node.
      </ReasonAction>
      <ReasonAction
        label="Revoke agent"
        title={`Revoke agent of ${node.name}`}
        disabledReason={why(node, 'revoke_agent')}
        isDestructive
        typeToConfirm={node.name}
        operation="adminNodeAgentRevoke"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['revoke', node.name], [['reason', reason]])}
      >
        Revokes all certificates of the node. The agent stays disconnected until re-enrolled. VMs keep running, but no
        tasks can run on the host.
      </ReasonAction>
      <Modal
        opened={enrollment !== null}
        onClose={() => setEnrollment(null)}
        size="lg"
        closeOnClickOutside={false}
        title={<Text fw={600}>Install the agent on {node.name}</Text>}
      >
        {enrollment !== null && <EnrollmentCommand enrollment={enrollment} />}
      </Modal>
    </>
  );
};

export const NodeActions = ({ node, onTab }: Readonly<{ node: Node; onTab: (tab: NodeTab) => void }>) => (
  <Group gap="xs">
    <DirectAction
      label="Discover"
      disabledReason={why(node, 'discover')}
      operation="adminNodeDiscoveryCreate"
      request={{ params: { node_id: node.id }, body: {} }}
      onDone={() => onTab('candidates')}
    />
    <Draining node={node} />
    <Holding node={node} />
    {node.launch_failures > 0 && <Failures node={node} />}
    <ActionButton variant="default" disabledReason={why(node, 'convert')} onClick={() => onTab('convert')}>
      Convert
    </ActionButton>
    <Moving node={node} />
    <AgentActions node={node} />
    <Ending node={node} />
  </Group>
);
