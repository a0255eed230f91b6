/** One node: its state, its slots, and all actions. */
import type { Node } from '@gpuaas/sdk';
import { Button, Group, Stack, Tabs } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { EmptyState, Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { AgentTab } from './agent-tab.tsx';
import { CandidatesTab } from './candidates-tab.tsx';
import { ConvertTab } from './convert-tab.tsx';
import { HealthTab } from './health-tab.tsx';
import { isMissing } from './hooks.ts';
import { ImagesTab } from './images-tab.tsx';
import { InventoryTab } from './inventory-tab.tsx';
import { LogsTab } from './logs-tab.tsx';
import { NodeActions } from './node-actions.tsx';
import { NodeHeader, nodeNotices } from './node-header.tsx';
import './nodes.css';
import './node.css';
import { placeOf } from './rack.ts';
import { NodeRestoreNotice } from './restore-notice.tsx';
import { SlotsTab } from './slots-tab.tsx';
import { NODE_TABS, type NodeTab, tabFrom } from './tabs.ts';
import { TasksTab } from './tasks-tab.tsx';
import { TopologyTab } from './topology-tab.tsx';

const FLOOR_MS = 10_000;

const CONTENT: Readonly<Record<NodeTab, (node: Node) => ReactNode>> = {
  slots: (node) => <SlotsTab node={node} />,
  topology: (node) => <TopologyTab node={node} />,
  candidates: (node) => <CandidatesTab node={node} />,
  convert: (node) => <ConvertTab node={node} />,
  health: (node) => <HealthTab node={node} />,
  inventory: (node) => <InventoryTab node={node} />,
  images: (node) => <ImagesTab node={node} />,
  tasks: (node) => <TasksTab node={node} />,
  logs: (node) => <LogsTab node={node} />,
  agent: (node) => <AgentTab node={node} />,
};

const Body = ({ node }: Readonly<{ node: Node }>) => {
  const search = useSearch({ from: '/console/platform/nodes/$nodeId' });
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const agent = useRead('adminNodeAgentGet', { params: { node_id: node.id } }, { everyMs: FLOOR_MS });
  const tab = tabFrom(search.tab);
  const go = (to: NodeTab) => void navigate({ search: { tab: to } });
  return (
    <Stack gap="md">
      <NodeHeader node={node} agent={agent.data} />
      <NodeRestoreNotice nodeId={node.id} />
      {nodeNotices(node).map(({ text, tab: to }) => (
        <Group key={text} className="panel" data-tone="warn" role="status" gap={10}>
          <IconAlertTriangle size={17} aria-hidden />
          <span className="panel-body" style={{ flex: 1, minWidth: 200 }}>
            {text}
          </span>
          {to !== tab && (
            <Button size="xs" variant="default" onClick={() => go(to)}>
              Show
            </Button>
          )}
        </Group>
      ))}
      <NodeActions node={node} onTab={go} />
      <Tabs value={tab} keepMounted={false} onChange={(to) => to !== null && go(tabFrom(to))}>
        <TabList current={tab} tabs={NODE_TABS} />
        <Tabs.Panel value={tab}>{CONTENT[tab](node)}</Tabs.Panel>
      </Tabs>
    </Stack>
  );
};

export const NodePage = () => {
  const { nodeId } = useParams({ from: '/console/platform/nodes/$nodeId' });
  const node = useRead('adminNodeGet', { params: { node_id: nodeId } }, { everyMs: FLOOR_MS });
  const place = placeOf(node.data?.name ?? '');
  const back = (
    <Link to="/platform/nodes" className="link">
      All nodes
    </Link>
  );
  return (
    <Page
      title={node.data?.name ?? 'Node'}
      subtitle={
        <>
          {back}
          {node.data !== undefined && `, ${node.data.gpu_model}`}
          {place.unit !== null && `, rack ${place.rack}, unit ${place.unit}`}
        </>
      }
    >
      {isMissing(node.error) ? (
        <EmptyState title="Node not found" action={back}>
          No node has this ID. A deleted node can still be traced by its ID.
        </EmptyState>
      ) : (
        <Async of={node} rows={10} label="Loading node">
          {(found) => <Body node={found} />}
        </Async>
      )}
    </Page>
  );
};
