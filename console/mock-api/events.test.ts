import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api as contract, type OperationId } from '@gpuaas/contract';
import { events as eventTypes } from '@gpuaas/contract/events';
import { errorsOf } from './core/validate.ts';
import { EXPECTED_EVENTS } from './test/expected-events.ts';
import { ask, type ScenarioRequest, type TestApi, testApi } from './test/request.ts';
import { scenarios } from './test/scenarios.ts';

describe('every mutation writes an audit row and emits its event with data as in the contract', () => {
  for (const [name, told] of Object.entries(EXPECTED_EVENTS))
    test(name, async () => {
      const id = name as OperationId;
      const api = testApi();
      const asked = await (scenarios[id] as (api: TestApi) => ScenarioRequest | Promise<ScenarioRequest>)(api);
      const before = { events: api.world.events.length, audit: api.world.audit.length };
      const response = await ask(api, id, asked);
      assert.ok(response.ok, await response.text());
      const [row, ...others] = api.world.audit.slice(before.audit);
      assert.deepEqual(others, []);
      assert.equal(row?.action, contract[id].audit);
      assert.equal(row?.result, 'success');
      assert.equal(row?.correlation_id, response.headers.get('x-correlation-id'));
      const fresh = api.world.events.slice(before.events);
      for (const event of fresh) {
        const definition = eventTypes[event.type as keyof typeof eventTypes];
        assert.deepEqual(errorsOf(definition.data, event.data), []);
      }
      if (told === null) assert.deepEqual(fresh, []);
      else assert.ok(fresh.some((event) => event.type === told));
    });
});
