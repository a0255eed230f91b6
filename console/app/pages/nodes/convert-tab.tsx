/**
 * The effects of converting a node, in both directions. A plan is applied by its hash: exactly what was shown, or
 * nothing.
 */
import type { Node, Operations } from '@gpuaas/sdk';
import { List, Stack, Text, Title } from '@mantine/core';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { ReasonAction } from './action-controls.tsx';

type Plan = Operations['adminNodeConvertPlan']['response'];

const WORDS = { slice: 'slices', baremetal: 'bare metal', flexible: 'either' } as const;
const POLL_MS = 10_000;

const signed = (gpus: number): string => (gpus > 0 ? `+${gpus}` : gpus < 0 ? `−${-gpus}` : '0');

const Shown = ({ node, plan }: Readonly<{ node: Node; plan: Plan }>) => (
  <Stack gap="sm">
    <div>
      <ToneBadge tone={plan.is_possible ? 'good' : 'warn'}>{plan.is_possible ? 'Ready' : 'Blocked'}</ToneBadge>
    </div>
    {plan.blockers.length > 0 && (
      <div>
        <Title order={3} className="part-title">
          Blockers
        </Title>
        <List>
          {plan.blockers.map((blocker) => (
            <List.Item key={blocker}>{blocker}</List.Item>
          ))}
        </List>
      </div>
    )}
    <Facts
      facts={[
        ['Live claims', plan.live_claims],
        ['GPUs for slices', signed(plan.gpus_gained.slice)],
        ['GPUs for bare metal', signed(plan.gpus_gained.baremetal)],
      ]}
    />
    {plan.steps.length > 0 && (
      <div>
        <Title order={3} className="part-title">
          Steps
        </Title>
        <List type="ordered">
          {plan.steps.map((step) => (
            <List.Item key={step}>{step}</List.Item>
          ))}
        </List>
      </div>
    )}
    <div>
      <ReasonAction
        label={`Convert to ${WORDS[plan.to]}`}
        title={`Convert ${node.name} to ${WORDS[plan.to]}`}
        variant="filled"
        disabledReason={
          plan.is_possible ? whyNot(node.actions, 'convert') : plan.blockers.join(' ') || 'The plan has blockers.'
        }
        asksReason={false}
        typeToConfirm={node.name}
        operation="adminNodeConvert"
        request={() => ({ params: { node_id: node.id }, body: { to: plan.to, plan_hash: plan.plan_hash } })}
        command={() => command(['admin', 'node', 'convert', node.name], [['to', plan.to]])}
      >
        Runs exactly the steps of this plan. If the node changed since the plan was shown, nothing is done.
      </ReasonAction>
    </div>
  </Stack>
);

const OneWay = ({ node, to }: Readonly<{ node: Node; to: Plan['to'] }>) => {
  const plan = useRead('adminNodeConvertPlan', { params: { node_id: node.id }, query: { to } }, { everyMs: POLL_MS });
  return (
    <Section title={`To ${WORDS[to]}`}>
      <Async of={plan} rows={6} label="Loading plan">
        {(found) =>
          found.from === to ? (
            <Text className="muted">This is the current capacity mode.</Text>
          ) : (
            <Shown node={node} plan={found} />
          )
        }
      </Async>
    </Section>
  );
};

export const ConvertTab = ({ node }: Readonly<{ node: Node }>) => (
  <div className="two-columns">
    <OneWay node={node} to="slice" />
    <OneWay node={node} to="baremetal" />
  </div>
);
