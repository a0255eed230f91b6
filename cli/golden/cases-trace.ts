/** Command lines that trace one ID. */
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { placementIds } from './fixtures-allocation.ts';
import { CORRELATION, operatorTrace } from './fixtures-trace.ts';

const T = '--no-json';
const { allocation, node } = placementIds;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

export const traceCases: readonly Case[] = [
  line('admin-trace-list', `admin trace ${CORRELATION} ${T}`),
  line('admin-trace-json', `admin trace ${CORRELATION}`),
  line('admin-trace-quiet', `admin trace ${node} ${T}`, {
    answers: {
      adminTraceGet: {
        ...operatorTrace,
        id: node,
        kind: 'node',
        correlation_ids: [],
        subjects: operatorTrace.subjects.slice(1, 2),
        first_failure_key: null,
        entries: [],
        is_truncated: false,
        clock_skews: [],
        gaps: [],
      },
    },
  }),
  line('trace-list', `trace ${allocation} ${T}`),
  line('trace-unknown', `trace c-never-heard-of ${T}`, {
    answers: { traceGet: new Refusal(404, 'not_found', REFUSALS.no_records) },
  }),
];
