import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, type GpuaasError, verifyWipeCertificate } from '@gpuaas/sdk';
import { pathOf, type WorkflowDeclaration } from '../../server/src/domain/workflow-declaration.ts';
import { PROVISION_SLICE, RELEASE_ALLOCATION } from '../../server/src/domain/workflow-steps.ts';
import type { MockOptions } from './index.ts';
import { testApi } from './test/request.ts';
import { named } from './test/scenarios-allocation.ts';
import { LAUNCH } from './test/scenarios-tenant.ts';

const labelsOf = (declaration: WorkflowDeclaration): string[] => pathOf(declaration).map(([, { label }]) => label);

const start = (options: Omit<MockOptions, 'now'> = {}) => {
  const api = testApi(options);
  const client = createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch, retry: { retriesMax: 0 } });
  return { api, client, params: { project_id: api.seedIds.project_id } };
};
type Started = ReturnType<typeof start>;

const launch = async ({ client, params }: Started, over: object = {}) => {
  const { id } = await client.allocationCreate({ params, body: { ...LAUNCH, name: 'fresh', ...over } });
  return { ...params, allocation_id: id };
};

/** The states it passes through, polled four times a second until it stays in one of `ends`. */
const follow = async ({ api, client }: Started, at: Awaited<ReturnType<typeof launch>>, ends: readonly string[]) => {
  const seen: string[] = [];
  const labels = new Set<string>();
  for (let looks = 0; looks < 400; looks++) {
    const { state, progress } = await client.allocationGet({ params: at });
    if (seen.at(-1) !== state) seen.push(state);
    if (progress !== null) labels.add(progress.label);
    if (ends.includes(state)) return { seen, labels: [...labels] };
    api.advance(250);
  }
  throw new Error(`it is ${seen.at(-1)} still`);
};

const refusal = async (work: Promise<unknown>): Promise<GpuaasError> =>
  work.then(
    () => assert.fail('it was not refused'),
    (err: GpuaasError) => err,
  );

test('a launch passes its named steps and is active, and charged, after about 12 seconds', async () => {
  const started = start();
  const before = started.api.world.now();
  const at = await launch(started);
  const { seen, labels } = await follow(started, at, ['active']);
  assert.deepEqual(seen, ['requested', 'provisioning', 'active']);
  assert.deepEqual(labels, labelsOf(PROVISION_SLICE));
  assert.ok(started.api.world.now() - before < 13_000);
  started.api.advance(3_600_000);
  const { cost_so_far, ssh, power } = await started.client.allocationGet({ params: at });
  assert.equal(cost_so_far.amount_minor, 450);
  assert.equal(power?.state, 'on');
  assert.equal(ssh?.username, 'ubuntu');
});

test('an alert of its host is a notice on the allocation, and an event of its project, until it ends', async () => {
  const started = start();
  const at = await launch(started);
  await follow(started, at, ['active']);
  const { world } = started.api;
  const node_id = world.allocations.get(at.allocation_id)?.node_id ?? '';
  const source = { params: { node_id, source: 'agent' } };
  const since = new Date(world.now()).toISOString();
  const alert = { id: 'work', target: 'node', since, message: 'Planned', classifications: [] };
  const body = { mode: 'merge' as const, muted_alert_ids: [], expires_at: null, reason: 'Planned work' };
  const alerts = [{ ...alert, tenant_message: 'Repairs begin at 18:00.' }];
  await started.client.adminNodeHealthOverridePut({ ...source, body: { ...body, alerts } });
  const read = async () => (await started.client.allocationGet({ params: at })).notices;
  assert.deepEqual(await read(), [{ message: 'Repairs begin at 18:00.', since }]);
  await started.client.adminNodeHealthOverrideDelete(source);
  assert.deepEqual(await read(), []);
  const told = world.events.filter(
    ({ type, subject }) => type === 'allocation.notices_changed' && subject === at.allocation_id,
  );
  assert.equal(told.length, 2);
});

test('a release wipes with proof, ends charging immediately and returns a valid certificate', async () => {
  const started = start();
  const at = await launch(started, { gpu_count: 2 });
  await follow(started, at, ['active']);
  await started.client.allocationRelease({ params: at, body: {} });
  const early = await refusal(started.client.allocationWipeCertificateGet({ params: at }));
  assert.equal(early.code, 'conflict');
  const { seen, labels } = await follow(started, at, ['released']);
  assert.deepEqual(seen, ['releasing', 'released']);
  assert.deepEqual(labels, labelsOf(RELEASE_ALLOCATION));
  const signed = await started.client.allocationWipeCertificateGet({ params: at });
  const keys = (await started.client.wipeCertificateKeyList()).items;
  assert.equal(signed.certificate.disks.length, 2);
  assert.ok((await verifyWipeCertificate(signed, keys)).is_valid);
  const forged = { ...signed, certificate: { ...signed.certificate, issuer: 'https://other.example' } };
  assert.equal((await verifyWipeCertificate(forged, keys)).is_valid, false);
  assert.equal((await started.client.adminInvariantCheck()).is_clean, true);
});

test('the correlation ID of a release, also of a repeated one, leads to its run and tasks', async () => {
  const started = start();
  const { api, client } = started;
  const at = await launch(started);
  await follow(started, at, ['active']);
  for (const id of ['c-the-release', 'c-once-more'])
    await client.allocationRelease({ params: at, body: {} }, { correlationId: id });
  await follow(started, at, ['released']);
  for (const id of ['c-the-release', 'c-once-more']) {
    const trace = await client.adminTraceGet({ query: { id } });
    const titles = trace.entries.map(({ title }) => title);
    for (const title of ['allocation.release succeeded', 'Wipe disks: completed', 'The allocation is released'])
      assert.ok(titles.includes(title), `${title} in ${titles}`);
    assert.ok(!titles.includes('Copy image: completed'));
    const wiped = trace.entries.find(({ title }) => title === 'Wipe disks: completed');
    assert.match(wiped?.detail ?? '', /^slot \d disk S795NC/);
    assert.ok((wiped?.since ?? '') < (wiped?.at ?? ''));
  }
  assert.ok(api.world.proofs.some(({ correlation_id }) => correlation_id === 'c-the-release'));
});

test('a failed launch has a reason, costs nothing and releases its GPUs', async () => {
  const started = start({ faults: { launches: true } });
  const free = async () => (await started.client.adminCapacityList()).items[0]?.free_gpus;
  started.api.advance(60_000);
  const before = await free();
  const at = await launch(started);
  await follow(started, at, ['failed']);
  started.api.advance(30_000);
  const row = await started.client.allocationGet({ params: at });
  assert.equal(row.state_reason, PROVISION_SLICE.steps.awaitSsh.failed);
  assert.equal(row.cost_so_far.amount_minor, 0);
  assert.equal(await free(), before);
  const trace = await started.client.traceGet({ params: started.params, query: { id: row.correlation_id } });
  const first = trace.entries.find((entry) => entry.key === trace.first_failure_key);
  assert.equal(first?.detail, PROVISION_SLICE.steps.awaitSsh.failed);
});

test('a wipe without proof blocks the slots until an operator repeats it', async () => {
  const started = start();
  const row = named(started.api, 'old-sweep');
  const slots = row.slot_ids.map((id) => started.api.world.slots.get(id));
  assert.ok(slots.every((slot) => slot?.status === 'cleanup_blocked'));
  const body = { reason: 'The drive was replaced', runtime_verified_absent: true };
  await started.client.adminAllocationForceCleanup({ params: { allocation_id: row.id }, body });
  await follow(started, { ...started.params, allocation_id: row.id }, ['released']);
  assert.ok(slots.every((slot) => slot?.status === 'available' && slot.allocation_id === null));
});

test('an allocation with a maximum duration is released automatically', async () => {
  const started = start();
  const row = named(started.api, 'notebook-anna');
  started.api.advance(3 * 3_600_000);
  assert.equal(row.state, 'released');
});
