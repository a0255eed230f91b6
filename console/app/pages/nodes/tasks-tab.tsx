/** All tasks of a host, newest first, updated live. */
import { type Node, type NodeTask, TASK_STATES } from '@gpuaas/sdk';
import { NativeSelect, Stack } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { usePages } from '../../api/read.ts';
import { stateWord } from '../../format/state.ts';
import type { Column } from '../../ui/data-table.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { isTaskOpen } from './hooks.ts';
import { AllocationLink, TraceLink } from './links.tsx';
import { TaskPercent, TaskTime } from './task-line.tsx';

const BUSY_MS = 1_000;
const FLOOR_MS = 10_000;

const columns: readonly Column<NodeTask>[] = [
  {
    header: 'Task',
    cell: ({ kind, label, attempt }) => (
      <span title={kind}>
        {label}
        {attempt > 1 && <span className="muted">, attempt {attempt}</span>}
      </span>
    ),
  },
  {
    header: 'State',
    cell: (task) => (
      <Stack gap={2} align="flex-start">
        <StateBadge kind="task" state={task.state} />
        <TaskPercent task={task} />
      </Stack>
    ),
  },
  { header: 'Requested', cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: 'Duration', cell: (task) => <TaskTime task={task} />, isSecondary: true },
  {
    header: 'Error',
    cell: ({ error_code, state_reason }) =>
      error_code === null && state_reason === null ? (
        ''
      ) : (
        <span className="long-text">
          {error_code !== null && <span className="mono">{error_code} </span>}
          {state_reason}
        </span>
      ),
  },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} />, isSecondary: true },
  { header: 'Trace', cell: ({ correlation_id }) => <TraceLink id={correlation_id} label="correlation ID" /> },
];

export const TasksTab = ({ node }: Readonly<{ node: Node }>) => {
  const search = useSearch({ from: '/console/platform/nodes/$nodeId' });
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const state = TASK_STATES.find((one) => one === search.state);
  const [isBusy, setBusy] = useState(false);
  const tasks = usePages(
    'adminNodeTaskList',
    { params: { node_id: node.id }, query: { limit: 50, ...(state === undefined ? {} : { state }) } },
    { everyMs: isBusy ? BUSY_MS : FLOOR_MS },
  );
  const hasOpen = tasks.items.some(isTaskOpen);
  if (hasOpen !== isBusy) setBusy(hasOpen);
  return (
    <Section
      title="Tasks"
      flush
      actions={
        <NativeSelect
          aria-label="State"
          value={state ?? ''}
          onChange={(event) =>
            void navigate({
              search: (before) => ({ ...before, state: event.currentTarget.value || undefined }),
              replace: true,
            })
          }
        >
          <option value="">Any state</option>
          {TASK_STATES.map((one) => (
            <option key={one} value={one}>
              {stateWord('task', one).word}
            </option>
          ))}
        </NativeSelect>
      }
    >
      <PagedTable
        pages={tasks}
        label="Tasks"
        columns={columns}
        list={state ?? ''}
        rows={6}
        empty={
          <EmptyState title={state === undefined ? 'No tasks' : 'No tasks in this state'}>
            Tasks are signed work for the host, for example discovery, VM start or disk wipe.
          </EmptyState>
        }
      />
    </Section>
  );
};
