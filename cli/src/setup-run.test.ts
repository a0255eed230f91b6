import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Overrides, startApi } from '../golden/api.ts';
import { answers } from '../golden/fixtures.ts';
import { half } from '../golden/fixtures-setup.ts';
import { runSetupDialog } from '../golden/setup-dialog.ts';
import type { StepKey } from './setup-run.ts';

type Setup = typeof half;
const ORDER: readonly StepKey[] = ['catalog', 'node_created', 'node_enrolled', 'node_discovered', 'node_approved'];

/** A site whose steps before this one are done. */
const siteAt = (next: StepKey): Setup => ({
  ...half,
  next,
  steps: ORDER.map((key, index) => {
    const at = ORDER.indexOf(next);
    const state = index < at ? 'done' : index === at ? 'next' : 'blocked';
    return { key, label: key, state, detail: key, command: state === 'done' ? null : `gpuaas do ${key}` };
  }),
});

const atTerminal = async (t: TestContext, overrides: Overrides, replies: readonly (string | boolean)[]) => {
  const api = await startApi(overrides);
  t.after(() => api.close());
  const dialog = await runSetupDialog({ url: api.url, token: 'gp_test' }, replies);
  return { ...dialog, changes: api.requests.filter((line) => line.startsWith('POST')) };
};

/** Each read of the site sees the next of these steps, and then the last one again. */
const advancing =
  (...steps: readonly StepKey[]) =>
  (count: number): Setup =>
    siteAt(steps[Math.min(count, steps.length - 1)] ?? 'node_approved');

test('setup registers a host, waits for its agent, discovers it and stops at the first decision', async (t) => {
  const site = advancing('node_created', 'node_enrolled', 'node_discovered', 'node_discovered', 'node_approved');
  const node = { ...answers.adminNodeGet, is_connected: true };
  const { seen, asked, changes, left } = await atTerminal(
    t,
    { adminSetupGet: site, adminNodeList: { items: [node], next_cursor: null } },
    [true, 'j22u15', 'eu-north-1', 'H200 SXM', '8', 'slice', '4J7XQR3', true],
  );
  assert.deepEqual(left, []);
  assert.match(asked[0] ?? '', /Continue with: node_created\?/);
  assert.equal(changes.length, 2, changes.join('\n'));
  assert.match(
    changes[0] ?? '',
    /^POST \/api\/v1\/admin\/nodes .*"name":"j22u15".*"gpu_count":8.*"capacity_mode":"slice".*"product_serial":"4J7XQR3"/,
  );
  assert.match(seen, /dmidecode -s system-serial-number/);
  assert.match(changes[1] ?? '', /slice-topology\/discovery/);
  assert.match(seen, /It is shown once and works once/);
  assert.match(seen, /Next: node_approved\s+gpuaas do node_approved\s+Then continue: gpuaas admin setup/);
});

test('setup offers only enabled regions for a host, and names the cure where none is', async (t) => {
  const { items } = answers.regionList;
  const [region] = items;
  assert.ok(region !== undefined);
  const disabled = { ...region, name: 'a-disabled', enabled: false, disabled_reason: 'No power.' };
  const first = { regionList: { ...answers.regionList, items: [disabled, ...items] } };
  const site = { adminSetupGet: advancing('node_created', 'node_approved') };
  const replies = [true, 'j22u15', 'a-disabled', 'H200 SXM', '8', 'slice', '4J7XQR3'];
  await assert.rejects(atTerminal(t, { ...site, ...first }, replies), /Region has no choice a-disabled/);
  const none = { regionList: { ...answers.regionList, items: [disabled] } };
  await assert.rejects(atTerminal(t, { ...site, ...none }, replies.slice(0, 2)), {
    message: 'No region is enabled.',
    help: 'Enable one: gpuaas admin region update REGION --enable',
  });
});

test('a site that requires no named host asks for the serial number, and takes none', async (t) => {
  const open = (count: number): Setup => ({
    ...siteAt(count === 0 ? 'node_created' : 'node_approved'),
    requires_named_host: false,
  });
  const { asked, changes, seen } = await atTerminal(t, { adminSetupGet: open }, [
    ...[true, 'j22u15', 'eu-north-1', 'H200 SXM', '8', 'slice', ''],
  ]);
  assert.match(asked.at(-1) ?? '', /optional/);
  assert.match(seen, /Without it, the first host that uses the token is bound to the node/);
  assert.doesNotMatch(changes[0] ?? '', /"host"/);
});

test('setup plans the site file that it is given, and applies it after a review', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-setup-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'site.yaml');
  await writeFile(file, 'version: 1\nregions:\n  - name: us-buffalo-1\n    display_name: Buffalo\n');
  const site = { adminSetupGet: advancing('catalog', 'node_approved') };
  const { seen, asked, changes } = await atTerminal(t, site, [true, file, true]);
  assert.match(asked.at(-1) ?? '', /Apply 3 changes\?/);
  assert.deepEqual(
    changes.map((line) => line.split(' ')[1]),
    ['/api/v1/admin/site/plan', '/api/v1/admin/site/apply'],
  );
  assert.match(seen, /create\s+regions\s+eu-frankfurt-1/);
});

test('setup that was interrupted while a host enrolled continues there and creates no second node', async (t) => {
  const host = { ...answers.adminNodeGet.host, state: 'named' as const, product_serial: '4J7XQR8', bound_at: null };
  const node = { ...answers.adminNodeGet, host, last_seen_at: null, is_connected: false };
  const overrides: Overrides = {
    adminSetupGet: advancing('node_enrolled', 'node_enrolled', 'node_approved'),
    adminNodeList: { items: [node], next_cursor: null },
  };
  const { changes } = await atTerminal(t, overrides, [true, false]);
  assert.deepEqual(changes, [], 'the earlier install command stays valid');
  const again = await atTerminal(t, { ...overrides, adminSetupGet: advancing('node_enrolled', 'node_approved') }, [
    true,
    true,
    '4J7XQR3',
  ]);
  assert.equal(again.changes.length, 1);
  assert.match(again.changes[0] ?? '', /enrollment.*"product_serial":"4J7XQR3"/);
});

test('setup changes nothing when the user declines, and when the step is not one it can carry out', async (t) => {
  const declined = await atTerminal(t, { adminSetupGet: siteAt('node_created') }, [false]);
  assert.deepEqual(declined.changes, []);
  assert.match(declined.seen, /Next: node_created/);
  const elsewhere = await atTerminal(t, { adminSetupGet: siteAt('node_approved') }, []);
  assert.deepEqual([elsewhere.asked, elsewhere.changes], [[], []]);
  assert.match(elsewhere.seen, /gpuaas do node_approved/);
});
