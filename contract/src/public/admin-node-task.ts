import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { node } from './admin-node.ts';
import { operatorReads } from './operator.ts';

/** `expired`: it ended before it had an effect. `unknown`: the agent started it and reported no result in time. */
export const TASK_STATES = [
  'queued',
  'dispatched',
  'running',
  'completed',
  'failed',
  'expired',
  'unknown',
  'cancelled',
] as const;
/** A result of the host may still arrive. */
export const OPEN_TASK_STATES = [
  'queued',
  'dispatched',
  'running',
] as const satisfies readonly (typeof TASK_STATES)[number][];

/** A task as operators see it. Its parameters name hardware, never secrets. */
export const NodeTask = Closed({
  id: Id('node_task'),
  node_id: Id('node'),
  allocation_id: Nullable(Type.String()),
  kind: Type.String(),
  label: Type.String({ description: 'What the task does.', examples: ['Copy image'] }),
  attempt: Type.Integer(),
  state: StringEnum(TASK_STATES),
  state_reason: Nullable(Type.String()),
  error_code: Nullable(Type.String()),
  percent: Nullable(Type.Integer()),
  progress_note: Nullable(Type.String({ description: 'The last note of the agent on its progress.' })),
  correlation_id: Type.String(),
  created_at: Time('When it was requested.'),
  dispatched_at: Nullable(Time('When the agent received it.')),
  started_at: Nullable(Time('When the agent started it.')),
  finished_at: Nullable(Time('When it ended.')),
  expires_at: Time('When it expires.'),
});

/** A task with what the host returned. A result names hardware and counts, never secrets. */
export const NodeTaskDetail = Closed({
  ...NodeTask.properties,
  output: Nullable(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'What the host returned, in the shape of its kind; null until it reports a result.',
    }),
  ),
});

const operatorRead = operatorReads('Nodes');

export const adminNodeTaskApi = define({
  adminNodeTaskList: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/tasks',
    summary: 'List tasks of a node, newest first',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery, state: Type.Optional(StringEnum(TASK_STATES)) }),
    response: Page(NodeTask),
  },
  adminNodeTaskGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/tasks/{task_id}',
    summary: 'Get a task of a node with the result of the host',
    permission: 'admin.node.read',
    params: Closed({ ...node.properties, task_id: Id('node_task') }),
    response: NodeTaskDetail,
  },
});
