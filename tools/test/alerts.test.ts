import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram, requires } from './requires.ts';

const OBSERVABILITY = join(import.meta.dirname, '../../infra/observability');
const promtool = (...args: string[]) =>
  promisify(execFile)(findProgram('promtool') ?? 'promtool', args, { cwd: OBSERVABILITY });

test('the alert rules are what Prometheus understands', { skip: requires('promtool') }, async () => {
  assert.match((await promtool('check', 'rules', 'alerts.yaml')).stdout, /SUCCESS/);
});

test('each alert is raised by the series it is about and by no other', { skip: requires('promtool') }, async () => {
  assert.match((await promtool('test', 'rules', 'alerts.test.yaml')).stdout, /SUCCESS/);
});

test('every alert has a case, and asks only for metrics that the server tells', async () => {
  const telemetry = join(import.meta.dirname, '../../server/src/telemetry');
  const [rules, cases, ...metrics] = await Promise.all(
    [
      join(OBSERVABILITY, 'alerts.yaml'),
      join(OBSERVABILITY, 'alerts.test.yaml'),
      join(telemetry, 'gauges.ts'),
      join(telemetry, 'gateway-metrics.ts'),
    ].map((file) => readFile(file, 'utf8')),
  );
  const named = (text: string | undefined, pattern: RegExp) =>
    [...new Set([...(text ?? '').matchAll(pattern)].map(([, name]) => String(name)))].sort((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(named(cases, /alertname: (\w+)/g), named(rules, /- alert: (\w+)/g));
  const told = named(metrics.join(), /'(gpuaas_\w+)'/g);
  const asked = named(rules, /(?:\(|\s)(gpuaas_\w+)(?:\{[^}]*\})?(?:\[\w+\]\))?\) ?(?:>|\n)/g);
  assert.ok(asked.length > 0);
  for (const metric of asked) assert.ok(told.includes(metric), metric);
});
