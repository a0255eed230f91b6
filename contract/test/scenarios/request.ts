import assert from 'node:assert/strict';
import type { Scenario } from './scenario.ts';

export const requestScenarios: readonly Scenario[] = [
  {
    name: 'the same key and body are one launch; another body with the key is refused, and so is no key',
    play: async ({ addNode, ask, must, refused, launch, project_id }) => {
      await addNode('slice');
      const first = await must('owner', 'allocationCreate', { ...launch('once'), key: 'the-same-key' });
      const again = await ask('owner', 'allocationCreate', { ...launch('once'), key: 'the-same-key' });
      assert.equal(again.headers['idempotency-replayed'], 'true');
      assert.deepEqual(again.body, first);
      const other = { ...launch('twice'), key: 'the-same-key' };
      await refused('idempotency_key_reused', 'owner', 'allocationCreate', other);
      await refused('idempotency_key_missing', 'owner', 'allocationCreate', { ...launch('none'), key: null });
      assert.equal((await must('owner', 'allocationList', { params: { project_id } })).items.length, 1);
    },
  },
  {
    name: 'a key whose request was refused may be used again',
    play: async ({ addNode, must, refused, launch }) => {
      const wish = { ...launch('patient'), key: 'patient-key' };
      await refused('insufficient_capacity', 'owner', 'allocationCreate', wish);
      await addNode('slice');
      await must('owner', 'allocationCreate', wish);
    },
  },
  {
    name: 'a request that its schema does not allow is refused with each field named',
    play: async ({ refused, project_id, organization_id }) => {
      const problem = await refused('invalid_request', 'owner', 'allocationCreate', {
        params: { project_id },
        body: { name: 'UPPER CASE!', gpu_count: 'many' },
      });
      assert.ok(problem.errors.length >= 3);
      await refused('invalid_request', 'owner', 'projectGet', { params: { project_id: 'prj_nonsense' } });
      const params = { organization_id };
      await refused('invalid_request', 'owner', 'projectList', { params, query: { limit: 0 } });
      await refused('invalid_request', 'owner', 'projectList', { params, query: { cursor: 'made-up' } });
    },
  },
];
