import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, type Operation, type OperationId } from '@gpuaas/contract';
import { scenarios } from '../../contract/test/scenarios/index.ts';
import { play } from '../../contract/test/scenarios/scenario.ts';
import { UNCOMPARED } from '../../contract/test/scenarios/uncompared.ts';
import { mockStage } from './test/scenario-mock.ts';
import { siteFileScenarios } from './test/scenarios-site-file.ts';

/** Lower it with the list. */
const UNCOMPARED_MAX = 28;

const mutations = (Object.keys(api) as OperationId[]).filter((id) => (api[id] as Operation).method !== 'GET');

describe('the mock passes every scenario of the contract', () => {
  const succeeded = new Set<OperationId>();
  for (const scenario of scenarios)
    test(scenario.name, async () => {
      const { heard } = await play(mockStage, scenario);
      for (const { operation, status } of heard) if (status < 400) succeeded.add(operation);
    });
  for (const scenario of siteFileScenarios) test(scenario.name, async () => void (await play(mockStage, scenario)));

  test('every mutation succeeds in a scenario, but for a list that only shrinks', () => {
    const missing = mutations.filter((id) => !succeeded.has(id) && !UNCOMPARED.has(id));
    assert.deepEqual(missing, [], 'Write a scenario for them in contract/test/scenarios.');
    const listed = [...UNCOMPARED].filter((id) => succeeded.has(id) || !mutations.includes(id));
    assert.equal(UNCOMPARED.size, UNCOMPARED_MAX, 'The list only shrinks.');
    assert.deepEqual(listed, [], 'Remove them from contract/test/scenarios/uncompared.ts: a scenario plays them.');
  });
});
