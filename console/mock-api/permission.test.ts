import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api as contract, type Operation, type OperationId, Problem, type RoleName, roleHolds } from '@gpuaas/contract';
import { errorsOf } from './core/validate.ts';
import type { Persona } from './index.ts';
import { ask, type ScenarioRequest, type TestApi, testApi } from './test/request.ts';
import { scenarios } from './test/scenarios.ts';

/** Independent of the seed: the roles of each user at the organization and project of the demo. */
const ROLES: Readonly<Record<Persona, readonly RoleName[]>> = {
  operator: ['platform:superadmin', 'tenant:owner', 'user'],
  owner: ['tenant:owner', 'user'],
  member: ['tenant:member', 'project:member', 'user'],
  viewer: ['tenant:viewer', 'user'],
  newcomer: ['user'],
  waiting: [],
};
const LEVELS: Readonly<Record<Operation['access'], readonly string[]>> = {
  public: [],
  self: ['user'],
  tenant: ['tenant'],
  project: ['tenant', 'project'],
  platform: ['platform'],
};

const mayAsk = (persona: Persona, { access, permission }: Operation): boolean =>
  permission === null ||
  (persona === 'waiting' && permission === 'self.read') ||
  ROLES[persona].some((role) => LEVELS[access].includes(role.split(':')[0] ?? '') && roleHolds(role, permission));

/** Their requests need a resource to be created or changed first. */
const PREPARES: readonly OperationId[] = [
  'projectDelete',
  'invitationAccept',
  'adminNodeDelete',
  'adminNodeDiskRevoke',
  'adminTrustKeyActivate',
];

for (const persona of Object.keys(ROLES) as Persona[])
  describe(`${persona} is allowed exactly what their roles permit`, () => {
    // Read-only requests can share one platform.
    const common = testApi();
    for (const [name, operation] of Object.entries<Operation>(contract))
      test(name, async () => {
        const id = name as OperationId;
        const isSafe = operation.audit === null || !mayAsk(persona, operation);
        const api = isSafe && !PREPARES.includes(id) ? common : testApi();
        api.signInAs('operator');
        const asked = await (scenarios[id] as (api: TestApi) => ScenarioRequest | Promise<ScenarioRequest>)(api);
        // Resources prepared as the operator are requested as another user; an invitation removes the operator's own
        // role.
        if (id !== 'invitationAccept' || persona === 'waiting') api.signInAs(persona);
        const response = await ask(api, id, asked);
        if (mayAsk(persona, operation)) {
          if (!response.ok) assert.doesNotMatch(await response.text(), /no role of the caller holds/);
          else await response.body?.cancel();
          return;
        }
        const problem = (await response.json()) as { code: string };
        assert.deepEqual(errorsOf(Problem, problem), []);
        // A member sees a project only after being added to it, and this one is new; a newcomer sees none.
        const isHidden =
          persona === 'newcomer' ? operation.access !== 'platform' : id === 'projectDelete' && persona === 'member';
        assert.equal(problem.code, isHidden ? 'not_found' : 'permission_denied');
        assert.equal(response.status, isHidden ? 404 : 403);
      });
  });

describe('resources hidden from the caller', () => {
  test('are not found: those of another organization, and of a project without membership', async () => {
    const api = testApi({ as: 'member' });
    const { neighbour_project_id, other_project_id, neighbour_id } = api.seedIds;
    for (const project_id of [neighbour_project_id, other_project_id])
      assert.equal((await ask(api, 'projectGet', { params: { project_id } })).status, 404);
    const params = { organization_id: neighbour_id };
    assert.equal((await ask(api, 'organizationGet', { params })).status, 404);
  });

  test('include an allocation of another project under a visible project', async () => {
    const api = testApi();
    const other = [...api.world.allocations.values()].find((row) => row.name === 'serve-7b');
    const params = { project_id: api.seedIds.project_id, allocation_id: other?.id };
    assert.equal((await ask(api, 'allocationGet', { params })).status, 404);
  });
});

test('a user who signs out stays signed out until the next sign-in', async () => {
  const api = testApi();
  const out = await api.fetch('https://mock.invalid/auth/sign-out', { method: 'POST' });
  assert.deepEqual(await out.json(), { redirect_to: '/signed-out' });
  const refused = await ask(api, 'meGet');
  assert.equal(refused.status, 401);
  assert.deepEqual(errorsOf(Problem, await refused.json()), []);
  await api.fetch('https://mock.invalid/auth/sign-in');
  assert.equal((await ask(api, 'meGet')).status, 200);
});

test('a browser signed out from another browser is refused from then on', async () => {
  const api = testApi();
  const mine = api.world.webSessions.find((one) => one.user_id === api.seedIds.users.operator && one.is_current);
  await ask(api, 'webSessionRevoke', { params: { web_session_id: mine?.id } });
  assert.equal((await ask(api, 'meGet')).status, 401);
});
