/** What may be done with a node as a whole. What may not be done now stays in sight and says why. */
import type { Node } from '@gpuaas/sdk';
import { Group, Modal, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { DirectAction, ReasonAction } from './act.tsx';
import { type Enrolment, EnrolmentShown } from './enrolment.tsx';
import type { NodeTab } from './tabs.ts';

const cli = (words: readonly string[], flags: Parameters<typeof command>[1] = []) =>
  command(['admin', 'node', ...words], flags);

const why = ({ actions }: Node, name: string): string | null => whyNot(actions, name);

const Draining = ({ node }: Readonly<{ node: Node }>) => {
  const isDraining = node.state === 'draining';
  return (
    <ReasonAction
      label={isDraining ? 'Resume' : 'Drain'}
      title={isDraining ? `Take ${node.name} back into use` : `Drain ${node.name}`}
      disabledReason={why(node, isDraining ? 'resume' : 'drain')}
      operation="adminNodeDrain"
      request={(reason) => ({ params: { node_id: node.id }, body: { is_draining: !isDraining, reason } })}
      command={(reason) => cli([isDraining ? 'resume' : 'drain', node.name], [['reason', reason]])}
    >
      {isDraining
        ? 'Launches may be placed on it again.'
        : 'Nothing new is placed on it. What runs keeps running until it is released.'}
    </ReasonAction>
  );
};

const Holding = ({ node }: Readonly<{ node: Node }>) => (
  <ReasonAction
    label={node.is_held ? 'Let go' : 'Hold'}
    title={node.is_held ? `Let go of ${node.name}` : `Keep ${node.name} for bare metal`}
    disabledReason={why(node, node.is_held ? 'unhold' : 'hold')}
    operation="adminNodeHold"
    request={(reason) => ({ params: { node_id: node.id }, body: { is_held: !node.is_held, reason } })}
    command={(reason) => cli([node.is_held ? 'unhold' : 'hold', node.name], [['reason', reason]])}
  >
    {node.is_held
      ? 'Slices may be placed on it again.'
      : 'No slice is placed on it any more, so that it can be sold as a whole once it is empty.'}
  </ReasonAction>
);

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
        Takes the host out for good: its certificates are revoked, open tasks cancelled, its slots disabled. There is no
        way back; the host may come again as a new node.
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
        Its name and its disks are free for others. Its history is kept.
      </ReasonAction>
    </>
  );
};

export const AgentActions = ({ node }: Readonly<{ node: Node }>) => {
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const params = { node_id: node.id };
  return (
    <>
      <ReasonAction
        label="Enrol again"
        title={`Enrol ${node.name} again`}
        disabledReason={why(node, 'enroll')}
        operation="adminNodeEnrollmentCreate"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['enroll', node.name], [['reason', reason]])}
        onDone={({ data }) => setEnrolment(data)}
      >
        Makes another command to install the agent with. One that was not used yet stops working; using the new one
        revokes the earlier certificates.
      </ReasonAction>
      <ReasonAction
        label="Revoke agent"
        title={`Lock the agent of ${node.name} out`}
        disabledReason={why(node, 'revoke_agent')}
        isDestructive
        typeToConfirm={node.name}
        operation="adminNodeAgentRevoke"
        request={(reason) => ({ params, body: { reason } })}
        command={(reason) => cli(['revoke', node.name], [['reason', reason]])}
      >
        Every certificate of the node is revoked and its agent is let in no more until it is enrolled again. What runs
        on the host is untouched, but nothing new can be done there.
      </ReasonAction>
      <Modal
        opened={enrolment !== null}
        onClose={() => setEnrolment(null)}
        size="lg"
        closeOnClickOutside={false}
        title={<Text fw={600}>Install the agent on {node.name}</Text>}
      >
        {enrolment !== null && <EnrolmentShown enrolment={enrolment} />}
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
    <ActionButton variant="default" disabledReason={why(node, 'convert')} onClick={() => onTab('convert')}>
      Convert…
    </ActionButton>
    <AgentActions node={node} />
    <Ending node={node} />
  </Group>
);
