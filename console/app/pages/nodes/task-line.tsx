/** One task of a host in a line: progress, error, and a link to its trace. */
import type { NodeTask } from '@gpuaas/sdk';
import { Group, Progress } from '@mantine/core';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago, Elapsed, Took } from '../../ui/time.tsx';
import { isTaskOpen } from './hooks.ts';
import { TraceLink } from './links.tsx';

export const TaskPercent = ({ task }: Readonly<{ task: NodeTask }>) =>
  task.percent === null || !isTaskOpen(task) ? null : (
    <>
      <Group gap={6} wrap="nowrap">
        <Progress value={task.percent} w={90} aria-label={`Progress of ${task.label}`} />
        <span className="tabular one-line">{task.percent} %</span>
      </Group>
      {task.progress_note !== null && <span className="muted">{task.progress_note}</span>}
    </>
  );

export const TaskTime = ({ task }: Readonly<{ task: NodeTask }>) => {
  const begun = task.started_at ?? task.dispatched_at ?? task.created_at;
  return (
    <span className="one-line">
      {task.finished_at === null ? (
        <Elapsed since={begun} />
      ) : (
        <Took ms={Math.max(0, Date.parse(task.finished_at) - Date.parse(begun))} />
      )}
    </span>
  );
};

export const TaskLine = ({ task }: Readonly<{ task: NodeTask }>) => (
  <Group gap={12}>
    <StateBadge kind="task" state={task.state} />
    <TaskPercent task={task} />
    <span>
      requested <Ago at={task.created_at} />, {isTaskOpen(task) ? 'running for ' : 'took '}
      <TaskTime task={task} />
    </span>
    {task.state_reason !== null && (
      <span>
        {task.error_code !== null && <span className="mono">{task.error_code}: </span>}
        {task.state_reason}
      </span>
    )}
    <TraceLink id={task.correlation_id} label="correlation ID" />
  </Group>
);
