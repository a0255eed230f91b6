/**
 * The trace of one id: everything recorded under a correlation ID, or about an allocation, node, task or run, in one
 * order. Tenants see their project's part of it; operators also tasks, log lines and hosts.
 */
import Type from 'typebox';
import { Closed, HOST_ROLES, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const TRACE_SOURCES = ['request', 'audit', 'workflow', 'task', 'log', 'event'] as const;
export const TRACE_KINDS = ['correlation', 'allocation', 'node', 'slot', 'node_task', 'workflow_run'] as const;

export const TraceEntry = Closed({
  key: Type.String({ description: 'Key of the entry within this response.' }),
  at: Time('When the statement of the title became true, by the clock of the server where known.'),
  since: Nullable(Time('When the work began that ended at `at`; null for a single moment and for running work.')),
  host_role: StringEnum(HOST_ROLES),
  host_name: Nullable(Type.String()),
  service: Nullable(Type.String({ description: 'The process that wrote it.' })),
  node_id: Nullable(Type.String()),
  source: StringEnum(TRACE_SOURCES),
  level: StringEnum(['info', 'warn', 'error']),
  is_failure: Type.Boolean(),
  title: Type.String({ description: 'What happened, in a few words.' }),
  detail: Nullable(Type.String()),
  subject_id: Nullable(Type.String({ description: 'Subject of the entry.' })),
  correlation_id: Nullable(Type.String({ description: 'Null if the record has none, which is a defect.' })),
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
  correlation_ids: Type.Array(Type.String(), {
    description: 'Correlation IDs in the trace, oldest first, at most 50.',
  }),
  subjects: Type.Array(TraceSubject, { description: 'Resources in the trace.' }),
  first_failure_key: Nullable(Type.String({ description: 'The first entry that failed.' })),
  entries: Type.Array(TraceEntry, { description: 'Oldest first, at most 1000.' }),
  is_truncated: Type.Boolean({ description: 'Whether entries were left out.' }),
  clock_skews: Type.Array(Closed({ node_id: Id('node'), host_name: Type.String(), skew_ms: Type.Integer() }), {
    description: 'Clock offsets of the hosts in the trace.',
  }),
  gaps: Type.Array(Type.String(), {
    description: 'Missing evidence: a record without host role or correlation ID, or a task without a log line.',
  }),
});

const query = Closed({
  id: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$',
    description: 'A correlation ID, or the ID of an allocation, node, slot, task or workflow run.',
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
    summary: 'Trace one ID within a project, in one timeline',
    description: 'Names no host and no device. Returns 404 if the project has no record of the ID.',
    access: 'project',
    permission: 'allocation.read',
    params: Closed({ project_id: Id('project') }),
  },
  adminTraceGet: {
    ...read,
    path: '/api/v1/admin/trace',
    summary: 'Trace one ID across all hosts, in one timeline',
    access: 'platform',
    permission: 'admin.log.read',
  },
});
