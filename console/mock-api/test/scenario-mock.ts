/** The mock as a stage of the shared scenarios: one instance in memory for each. */
import type { Place, ScenarioResponse, TestBed } from '../../../contract/test/scenarios/scenario.ts';
import { addNode, addSlots } from '../seed/fleet.ts';
import { ask, testApi } from './request.ts';

/** Longer than any work of a simulated host. */
const SETTLED_MS = 120_000;
/** As in the server's tests. */
const FRESH_MAX_AGE_S = 3_600;
const STALE_MS = 86_400_000;
const PERSONA = {
  owner: 'owner',
  member: 'member',
  viewer: 'viewer',
  operator: 'operator',
  stale_operator: 'operator',
  stranger: 'newcomer',
} as const;

const answerOf = async (response: Response): Promise<ScenarioResponse> => {
  const text = await response.text();
  return {
    status: response.status,
    body: text === '' ? '' : JSON.parse(text),
    headers: Object.fromEntries(response.headers),
  };
};

export const mockStage: TestBed = {
  newPlace: async (): Promise<Place> => {
    const api = testApi({ seed: 'empty', freshSignInMaxAgeS: FRESH_MAX_AGE_S });
    const { world, seedIds } = api;
    const { organization_id, project_id, users } = seedIds;
    const region_name = 'scene-1';
    const [known] = world.regions;
    if (known === undefined) throw new Error('the catalog has a region');
    for (const region of world.regions)
      Object.assign(region, { enabled: false, disabled_reason: 'Not part of the scene.' });
    world.regions.push({ ...known, name: region_name, display_name: 'Scene', enabled: true, version: 1 });
    const organization = world.organizations.get(organization_id);
    if (organization !== undefined) Object.assign(organization, { name: region_name, display_name: region_name });
    const project = world.projects.get(project_id);
    if (project !== undefined) Object.assign(project, { name: 'default', display_name: 'Default' });
    // A new organization has no limit and one owner, who has no keys yet.
    world.quotas.clear();
    world.quotaRequests.length = 0;
    world.sshKeys.clear();
    for (const one of world.members) if (one.role === 'owner' && one.user_id !== users.owner) one.role = 'member';
    const userOf = (id: string) => {
      const user = world.users.get(id);
      if (user?.email == null) throw new Error('a person of the scene has an address');
      return { id, name: user.name, email: user.email };
    };
    return {
      region_name,
      organization_id,
      project_id,
      users: {
        owner: userOf(users.owner),
        member: userOf(users.member),
        viewer: userOf(users.viewer),
        stranger: userOf(users.newcomer),
      },
      ask: async (as, id, parts) => {
        api.signInAs(PERSONA[as], as === 'stale_operator' ? STALE_MS : 0);
        return answerOf(await ask(api, id, parts));
      },
      addNode: async (capacity_mode) => {
        const number = world.nodes.size + 1;
        const node = addNode(world, `node-${region_name}-${number}`, number, {
          // Inserted without an agent, as on the server.
          host: { state: 'unbound', product_serial: null, product_uuid: null, machine_id: null, bound_at: null },
          region_name,
          capacity_mode,
          // As on the server, which inserts its nodes without a discovery.
          discovered_at: null,
          // Nor has it a certificate.
          certificates: [],
        });
        addSlots(world, node, users.operator);
        return node.id;
      },
      settle: async () => api.advance(SETTLED_MS),
    };
  },
};
