/**
 * One id, followed: everything that was written down under a correlation id, or about an allocation, node, task or run,
 * in one order. Tenants see their project's part of it; operators also tasks, log lines and hosts.
 */
import Type from 'typebox';
import { Closed, HOST_ROLES, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const TRACE_SOURCES = ['request', 'audit', 'workflow', 'task', 'log', 'event'] as const;
export const TRACE_KINDS = ['correlation', 'allocation', 'node', 'slot', 'node_task', 'workflow_run'] as const;

export const TraceEntry = Closed({
  key: Type.String({ description: 'Names the entry within this answer.' }),
  at: Time('When it began, or happened, by the clock of the platform where it is known.'),
  until: Nullable(Time('When it ended; null for a moment and for what still runs.')),
  host_role: StringEnum(HOST_ROLES),
  host_name: Nullable(Type.String()),
  service: Nullable(Type.String({ description: 'The process that wrote it.' })),
  node_id: Nullable(Type.String()),
  source: StringEnum(TRACE_SOURCES),
  level: StringEnum(['info', 'warn', 'error']),
  is_failure: Type.Boolean(),
  title: Type.String({ description: 'What happened, in a few words.' }),
  detail: Nullable(Type.String()),
  subject_id: Nullable(Type.String({ description: 'What it is about.' })),
  correlation_id: Nullable(Type.String({ description: 'Null where the hop did not carry one, which is a defect.' })),
  data: Type.Object({}, { additionalProperties: true }),
});

const TraceSubject = Closed({
  kind: StringEnum(['allocation', 'node', 'slot', 'node_task', 'workflow_run']),
  id: Type.String(),
  name: Nullable(Type.String()),
  state: Nullable(Type.String()),
  project_id: Nullable(Type.String()),
});

export const Trace = Closed({
  id: Type.String({ description: 'As requested.' }),
  kind: StringEnum(TRACE_KINDS),
  correlation_ids: Type.Array(Type.String(), { description: 'What was followed, oldest first, at most 50.' }),
  subjects: Type.Array(TraceSubject, { description: 'What it touched.' }),
  first_failure_key: Nullable(Type.String({ description: 'The entry where it first went wrong.' })),
  entries: Type.Array(TraceEntry, { description: 'In order of time, at most 1000.' }),
  is_truncated: Type.Boolean({ description: 'There is more than is shown.' }),
  clock_skews: Type.Array(Closed({ node_id: Id('node'), host_name: Type.String(), skew_ms: Type.Integer() }), {
    description: 'How far the clocks of the hosts in it are off.',
  }),
  gaps: Type.Array(Type.String(), {
    description: 'Where evidence is missing: a hop without host role or correlation id, or a task without a log line.',
  }),
});

const query = Closed({
  id: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$',
    description: 'A correlation id, or the id of an allocation, node, slot, task or workflow run.',
    examples: ['c-01k9zv3m8q4t6w2x5y7r0s1n3p'],
  }),
});
const read = {
  method: 'GET',
  tag: 'Trace',
  audit: null,
  idempotency: 'none',
  status: 200,
  query,
  response: Trace,
} as const;

export const traceApi = define({
  traceGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/trace',
    summary: 'Everything of the project under one id, in one timeline',
    description: 'Names no host and no device. 404 where nothing of the project is known under the id.',
    access: 'project',
    permission: 'allocation.read',
    params: Closed({ project_id: Id('project') }),
  },
  adminTraceGet: {
    ...read,
    path: '/api/v1/admin/trace',
    summary: 'Everything under one id across all hosts, in one timeline',
    access: 'platform',
    permission: 'admin.log.read',
  },
});
