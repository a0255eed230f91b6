/** Scenarios of launches, and their fleet. */
import { randomUUID } from 'node:crypto';
import { PLATFORM } from '../src/db/client.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { aNode, anAllocation, type NodeFacts, type TestAllocation, type TestNode } from './placement.ts';
import type { Scenarios } from './scenario.ts';
import { must, type Tenants } from './tenants.ts';
import { until } from './until.ts';

const REGION = 'us-buffalo-1';

/** A node in the placement index, in the region of the seeded catalog. */
export const newNode = async ({ sql, test }: Tenants, facts: NodeFacts = {}): Promise<TestNode> => {
  const node = await aNode(sql, { region_name: REGION, ...facts });
  await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  return node;
};

const launch = () => ({ sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 1 });
const ofProject = ({ acme }: Tenants) => ({ project_id: acme.ids.project_id });

/** An allocation of acme, just requested. */
export const newAllocation = async (tenants: Tenants): Promise<Readonly<{ id: string; version: number }>> => {
  await newNode(tenants);
  const path = `/api/v1/projects/${tenants.acme.ids.project_id}/allocations`;
  return must(await tenants.acme.owner.post(path, { ...launch(), name: `a-${randomUUID()}` }), 202).body;
};

const atAllocation = async (tenants: Tenants) => ({
  as: tenants.acme.owner,
  params: { ...ofProject(tenants), allocation_id: (await newAllocation(tenants)).id },
});

/** A running slice of acme. */
export const newActive = async ({ sql, test, acme }: Tenants): Promise<TestAllocation> => {
  const node = await aNode(sql);
  const { organization_id, project_id } = acme.ids;
  const made = await anAllocation(sql, { node, tenant: { organization_id, project_id }, state: 'active' });
  await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  return made;
};

const atActive = async (tenants: Tenants) => ({
  as: tenants.acme.owner,
  params: { ...ofProject(tenants), allocation_id: (await newActive(tenants)).id },
});

type Mine =
  | 'allocationEstimate'
  | 'allocationCreate'
  | 'allocationList'
  | 'allocationGet'
  | 'allocationTimeline'
  | 'allocationUpdate'
  | 'allocationRelease'
  | 'allocationStop'
  | 'allocationStart'
  | 'allocationReboot'
  | 'allocationReinstall';

export const allocationScenarios: Pick<Scenarios, Mine> = {
  allocationEstimate: async (tenants) => ({ as: tenants.acme.owner, params: ofProject(tenants), body: launch() }),
  allocationCreate: async (tenants) => {
    await newNode(tenants);
    return { as: tenants.acme.owner, params: ofProject(tenants), body: { ...launch(), name: `a-${randomUUID()}` } };
  },
  allocationList: async (tenants) => ({ as: tenants.acme.owner, params: ofProject(tenants) }),
  allocationGet: atAllocation,
  allocationTimeline: atAllocation,
  allocationUpdate: async (tenants) => {
    const ask = await atAllocation(tenants);
    const path = `/api/v1/projects/${ask.params.project_id}/allocations/${ask.params.allocation_id}`;
    // The worker takes it immediately; after that nothing changes it, because no host responds.
    const settled = async () => must(await tenants.acme.owner.get(path), 200).body;
    await until('the worker has taken the allocation up', async () => (await settled()).state === 'provisioning');
    return { ...ask, body: { tags: { team: 'vision' } }, if_match: (await settled()).version };
  },
  allocationRelease: async (tenants) => ({ ...(await atAllocation(tenants)), body: {} }),
  allocationStop: async (tenants) => ({ ...(await atActive(tenants)), body: { grace_s: 30 } }),
  allocationStart: async (tenants) => ({ ...(await atActive(tenants)), body: {} }),
  allocationReboot: async (tenants) => ({ ...(await atActive(tenants)), body: { is_hard: true } }),
  allocationReinstall: async (tenants) => ({
    ...(await atActive(tenants)),
    body: { ssh_key_ids: [], user_data: '#cloud-config\n{}\n' },
  }),
};
