import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TRACE_SOURCES, type TraceEntry } from '@gpuaas/sdk';
import { offsetOf, rowsOf, sourcesOf } from './rows.ts';

const entry = (key: string, source: TraceEntry['source'], given: Partial<TraceEntry> = {}): TraceEntry => ({
  key,
  at: '2026-11-15T12:00:00Z',
  since: null,
  host_role: 'platform_control',
  host_name: null,
  service: null,
  node_id: null,
  source,
  level: 'info',
  is_failure: false,
  title: key,
  detail: null,
  subject_id: null,
  correlation_id: 'c-12345678',
  data: {},
  ...given,
});
const shape = (entries: readonly TraceEntry[], sources: readonly TraceEntry['source'][] = TRACE_SOURCES) =>
  rowsOf(entries, sources).map((row) => (row.kind === 'lines' ? row.lines.map(({ key }) => key) : row.entry.key));

test('consecutive log lines of one source are folded into one row, and nothing else is', () => {
  const entries = [
    entry('a', 'request'),
    entry('b', 'log'),
    entry('c', 'log'),
    entry('d', 'log', { host_role: 'worker_compute', host_name: 'j22u15' }),
    entry('e', 'workflow'),
    entry('f', 'log'),
  ];
  assert.deepEqual(shape(entries), ['a', ['b', 'c'], 'd', 'e', 'f']);
});

test('a log line about a failure is never folded', () => {
  const entries = [entry('a', 'log'), entry('b', 'log', { is_failure: true, level: 'error' }), entry('c', 'log')];
  assert.deepEqual(shape(entries), ['a', 'b', 'c']);
});

test('only the selected sources are shown, and a URL without sources shows all', () => {
  const entries = [entry('a', 'audit'), entry('b', 'task'), entry('c', 'log')];
  assert.deepEqual(shape(entries, sourcesOf('task,log')), ['b', 'c']);
  assert.deepEqual(sourcesOf('nonsense'), TRACE_SOURCES);
  assert.deepEqual(sourcesOf(undefined), TRACE_SOURCES);
});

test('offsets are shown in the most readable unit', () => {
  const first = '2026-11-15T12:00:00Z';
  assert.deepEqual(
    ['2026-11-15T12:00:01.250Z', '2026-11-15T12:00:30Z', '2026-11-15T12:02:05Z', '2026-11-15T23:00:00Z'].map((at) =>
      offsetOf(at, first),
    ),
    ['+1.25 s', '+30.0 s', '+2 min 5 s', '+11 h'],
  );
});
