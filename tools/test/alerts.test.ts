import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram, requires } from './requires.ts';

const ROOT = join(import.meta.dirname, '../..');
const OBSERVABILITY = join(ROOT, 'infra/observability');
const promtool = (...args: string[]) =>
  promisify(execFile)(findProgram('promtool') ?? 'promtool', args, { cwd: OBSERVABILITY });

test('the alert rules are valid for Prometheus', { skip: requires('promtool') }, async () => {
  assert.match((await promtool('check', 'rules', 'alerts.yaml')).stdout, /SUCCESS/);
});

test('each alert is raised by its own series and by no other', { skip: requires('promtool') }, async () => {
  assert.match((await promtool('test', 'rules', 'alerts.test.yaml')).stdout, /SUCCESS/);
});

test('every alert has a case, and uses only metrics that the server exports', async () => {
  const folders = ['server/src/telemetry', 'server/src/roles'].map((folder) => join(ROOT, folder));
  const sources = (
    await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))))
  ).flat();
  const [rules, cases, ...metrics] = await Promise.all(
    [join(OBSERVABILITY, 'alerts.yaml'), join(OBSERVABILITY, 'alerts.test.yaml'), ...sources].map((file) =>
      readFile(file, 'utf8'),
    ),
  );
  const named = (text: string | undefined, pattern: RegExp) =>
    [...new Set([...(text ?? '').matchAll(pattern)].map(([, name]) => String(name)))].sort((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(named(cases, /alertname: (\w+)/g), named(rules, /- alert: (\w+)/g));
  const exported = named(metrics.join(), /'(gpuaas_\w+)'/g);
  const asked = named(rules, /\b(gpuaas_\w+)/g);
  assert.ok(asked.length > 0);
  for (const metric of asked) assert.ok(exported.includes(metric), metric);
});

/** As GitHub and GitLab name the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');

/** The section of a runbook: from its heading to the next of the same level; without an anchor the part before the first. */
const sectionOf = (runbook: string, anchor: string | undefined): string | undefined =>
  runbook.split(/^## /m).find((part, index) => {
    const [heading = ''] = part.split('\n');
    return anchor === undefined ? index === 0 : index > 0 && anchorOf(heading) === anchor;
  });

test('every alert names a section of a runbook, and that section names the alert', async () => {
  const rules = await readFile(join(OBSERVABILITY, 'alerts.yaml'), 'utf8');
  const alerts = rules.split('- alert: ').slice(1);
  assert.ok(alerts.length > 0);
  for (const alert of alerts) {
    const [name = ''] = alert.split('\n');
    const [, path = '', anchor] = /runbook_url: ([^#\s]+)(?:#(\S+))?$/m.exec(alert) ?? [];
    assert.match(path, /^doc\/operations\/runbooks\/[a-z-]+\.md$/, name);
    const section = sectionOf(await readFile(join(ROOT, path), 'utf8'), anchor);
    assert.ok(section?.includes(`\`${name}\``), `${name} is not in ${path}${anchor === undefined ? '' : `#${anchor}`}`);
  }
});
