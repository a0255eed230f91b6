/** The trace of one ID: a launch whose image copy failed, as seen by an operator and by its tenant. */
import type { Operations } from '@gpuaas/sdk';
import { placementIds } from './fixtures-allocation.ts';

type Trace = Operations['adminTraceGet']['response'];
type Entry = Trace['entries'][number];

const { allocation, node } = placementIds;
export const CORRELATION = 'c-01k9zv3m8q4t6w2x5y7r0s1n3p';
const TASK = 'tsk_01k9zv3m8q4t6w2x5y7r0s1n3p';
const RUN = 'wfr_01k9zv3m8q4t6w2x5y7r0s1n3p';

const entry = (key: string, at: string, title: string, more: Partial<Entry>): Entry => ({
  key,
  at: `2026-11-15T10:03:${at}Z`,
  since: null,
  host_role: 'platform_control',
  host_name: null,
  service: null,
  node_id: null,
  source: 'workflow',
  level: 'info',
  is_failure: false,
  title,
  detail: null,
  subject_id: allocation,
  correlation_id: CORRELATION,
  data: {},
  ...more,
});
const host = { host_role: 'worker_compute', host_name: 'j22u15', node_id: node } as const;
const failed = { level: 'error', is_failure: true } as const;
const step = (more: Partial<Entry> = {}): Entry =>
  entry(`step:${RUN}:000002`, '25.120', 'Copy image: stopped', {
    ...failed,
    detail: 'The image could not be copied.',
    ...more,
  });
const asked = entry('audit:aud_1', '21.004', 'allocation.create succeeded', { source: 'audit' });
const ended = entry('event:evt_1', '25.121', 'The allocation has failed', { source: 'event', ...failed });
const subject = { kind: 'allocation', id: allocation, name: 'train', state: 'failed', project_id: null } as const;

export const operatorTrace: Trace = {
  id: CORRELATION,
  kind: 'correlation',
  correlation_ids: [CORRELATION],
  subjects: [
    subject,
    { kind: 'node', id: node, name: 'j22u15', state: 'active', project_id: null },
    { kind: 'node_task', id: TASK, name: 'slice.image_clone', state: 'failed', project_id: null },
  ],
  first_failure_key: `task:${TASK}`,
  entries: [
    entry('log:a', '20.990', 'POST /api/v1/projects/prj_01k9zv3m8q4t6w2x5y7r0s1n3p/allocations: 202', {
      source: 'request',
      host_name: 'control-1',
    }),
    asked,
    entry('log:b', '22.310', 'task started', { ...host, source: 'log' }),
    entry(`task:${TASK}`, '25.100', 'Copy image: failed', {
      ...host,
      ...failed,
      since: '2026-11-15T10:03:22.300Z',
      source: 'task',
      detail: 'No space is left for the image. (no_space); slot 3 disk S795NC000013',
    }),
    step(),
    ended,
  ],
  is_truncated: true,
  clock_skews: [
    { node_id: node, host_name: 'j22u15', skew_ms: 61_500 },
    { node_id: node, host_name: 'j22u16', skew_ms: -4 },
  ],
  gaps: ['2 log lines of gpuaas-node-agent on j22u15 have no correlation ID.'],
};

export const traceAnswers: { [K in 'traceGet' | 'adminTraceGet']: Trace } = {
  adminTraceGet: operatorTrace,
  traceGet: {
    ...operatorTrace,
    id: allocation,
    kind: 'allocation',
    subjects: [subject],
    first_failure_key: step().key,
    entries: [asked, step({ host_role: 'worker_compute' }), ended],
    is_truncated: false,
    clock_skews: [],
    gaps: [],
  },
};
