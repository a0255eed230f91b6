import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode, Problem } from '@gpuaas/contract';
import { createClient } from '@gpuaas/sdk';
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { errorsOf } from './core/validate.ts';
import { ask, testApi } from './test/request.ts';
import { named } from './test/scenarios-allocation.ts';
import { LAUNCH } from './test/scenarios-tenant.ts';

const refusedAs = async (response: Response, code: ErrorCode): Promise<void> => {
  const problem = (await response.json()) as { code: string; correlation_id: string; retryable: boolean };
  assert.deepEqual(errorsOf(Problem, problem), []);
  assert.equal(problem.code, code);
  assert.equal(response.status, ERRORS[code].status);
  assert.equal(problem.retryable, ERRORS[code].retryable);
  assert.equal(problem.correlation_id, response.headers.get('x-correlation-id'));
};

test('two concurrent requests with one idempotency key create one allocation', async () => {
  const api = testApi();
  const params = { project_id: api.seedIds.project_id };
  const wire = { params, body: { ...LAUNCH, name: 'double' }, key: 'double-click' };
  await Promise.all([ask(api, 'allocationCreate', wire), ask(api, 'allocationCreate', wire)]);
  assert.equal([...api.world.allocations.values()].filter((row) => row.name === 'double').length, 1);
});

test('paths and methods that are not in the contract are refused', async () => {
  const api = testApi();
  await refusedAs(await api.fetch('https://mock.invalid/api/v1/nothing'), 'not_found');
  await refusedAs(await api.fetch('https://mock.invalid/api/v1/me', { method: 'DELETE' }), 'method_not_allowed');
  await refusedAs(await ask(api, 'projectGet', { params: { project_id: 'prj_nonsense' } }), 'invalid_request');
});

test('an operation fails as injected', async () => {
  const api = testApi({ faults: { operations: { regionList: 'unavailable', skuList: 'network' } } });
  await refusedAs(await ask(api, 'regionList'), 'unavailable');
  await assert.rejects(ask(api, 'skuList'), TypeError);
});

test('a stream emits new events, resumes after the last seen event and ends when closed', async () => {
  const api = testApi();
  const client = createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch });
  const params = { project_id: api.seedIds.project_id };
  const leave = new AbortController();
  const states: string[] = [];
  let lastEventId = '';
  const stream = client.eventStream({ params, query: { type: 'allocation.changed' } }, { signal: leave.signal });
  const reading = (async () => {
    for await (const event of stream) {
      if ((event.data as { name?: string }).name !== 'watched') continue;
      lastEventId = event.id;
      states.push(String((event.data as { state?: string }).state));
      if (states.at(-1) === 'active') leave.abort();
    }
  })().catch(() => undefined);
  // The stream is open before the first event.
  while (api.world.listeners.size === 0) await new Promise((resolve) => setImmediate(resolve));
  await client.allocationCreate({ params, body: { ...LAUNCH, name: 'watched' } });
  const row = named(api, 'watched');
  while (row.state !== 'active') api.advance(500);
  await reading;
  assert.deepEqual(states, ['requested', 'provisioning', 'active']);
  assert.equal(api.world.listeners.size, 0);
  await client.allocationRelease({ params: { ...params, allocation_id: row.id }, body: {} });
  for await (const event of client.eventStream({ params, query: { type: 'allocation.changed' } }, { lastEventId })) {
    if (event.subject !== row.id) continue;
    assert.equal((event.data as { state?: string }).state, 'releasing');
    break;
  }
});

test('a stream after an event that is not kept, or of another project, is refused', async () => {
  const api = testApi();
  const client = createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch });
  const params = { project_id: api.seedIds.project_id };
  const [dropped] = (await client.eventList({ params })).items;
  const other = api.world.events.find(({ projectid }) => projectid !== params.project_id);
  api.world.events.splice(0, api.world.events.findIndex(({ id }) => id === dropped?.id) + 1);
  assert.ok(dropped !== undefined && other !== undefined);
  for (const { id } of [dropped, other]) {
    const stream = client.eventStream({ params }, { lastEventId: id })[Symbol.asyncIterator]();
    await assert.rejects(stream.next(), { code: 'gone', status: 410, detail: REFUSALS.events_gone });
  }
});

test('audit rows are exported as lines, oldest first', async () => {
  const api = testApi();
  const client = createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch });
  const times: string[] = [];
  const params = { organization_id: api.seedIds.organization_id };
  for await (const row of client.auditLogExport({ params })) times.push(row.created_at);
  assert.ok(times.length > 30);
  assert.deepEqual(times, times.toSorted());
});
