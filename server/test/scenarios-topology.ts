/** Scenarios of discovery, approval, slots and disks. */
import { PLATFORM } from '../src/db/client.ts';
import { insertOwnership } from '../src/db/disk-ownership.ts';
import { DISK_BYTES } from './candidate.ts';
import { anEnrolledNode, discover, proveFirstWipes } from './discovered.ts';
import type { Scenarios } from './scenario.ts';
import { must, strangeId, type Tenants } from './tenants.ts';

const REGION = 'us-buffalo-1';
const because = { reason: 'It was asked for' };

/** A node of the catalog's region with a discovery and nothing approved. */
export const newDiscovered = async ({ sql, test }: Tenants): Promise<string> => {
  const id = await anEnrolledNode(test.db.database, sql, { region_name: REGION, capacity_mode: 'slice' });
  await discover(test.db.database, id);
  return id;
};

const pathOf = (nodeId: string, rest: string): string => `/api/v1/admin/nodes/${nodeId}/${rest}`;

const mapOf = async (tenants: Tenants, nodeId: string) =>
  must(await tenants.superadmin.get(pathOf(nodeId, 'slice-topology/discovery')), 200).body.map;

/** A slot of such a node, approved. */
export const newApprovedSlot = async (tenants: Tenants) => {
  const node_id = await newDiscovered(tenants);
  const { map_hash } = await mapOf(tenants, node_id);
  const approved = await tenants.superadmin.post(pathOf(node_id, 'resource-slots/approve'), { map_hash });
  const [{ id: slot_id }] = must(approved, 200).body.slots;
  await proveFirstWipes(tenants.test.db.database, node_id);
  const slot = must(await tenants.superadmin.get(pathOf(node_id, `resource-slots/${slot_id}`)), 200).body;
  return { node_id, slot_id: slot_id as string, version: slot.version as number };
};

const atDiscovered = async (tenants: Tenants) => ({
  as: tenants.superadmin,
  params: { node_id: await newDiscovered(tenants) },
});
const atSlot = async (tenants: Tenants) => {
  const { version, ...params } = await newApprovedSlot(tenants);
  return { as: tenants.superadmin, params, body: because, if_match: version };
};
const atSlotIn = async (tenants: Tenants, ...verbs: readonly string[]) => {
  const ask = await atSlot(tenants);
  let version = ask.if_match;
  for (const verb of verbs) {
    const path = pathOf(ask.params.node_id, `resource-slots/${ask.params.slot_id}/${verb}`);
    version = must(await tenants.superadmin.post(path, because, { 'if-match': `"v${version}"` }), 200).body.version;
  }
  return { ...ask, if_match: version };
};

const newOwnership = async (tenants: Tenants) => {
  const node_id = await newDiscovered(tenants);
  const { candidates } = await mapOf(tenants, node_id);
  const serial: string = candidates[0].content.nvme_serial;
  return { node_id, serial };
};

type Mine =
  | 'adminNodeDiscoveryCreate'
  | 'adminNodeDiscoveryGet'
  | 'adminNodeDiscoveryFactsGet'
  | 'adminNodeSlotGet'
  | 'adminNodeSlotApprove'
  | 'adminNodeSlotDisable'
  | 'adminNodeSlotEnable'
  | 'adminNodeSlotQuarantine'
  | 'adminNodeSlotRepair'
  | 'adminNodeSlotMarkWiped'
  | 'adminNodeDiskList'
  | 'adminNodeDiskApprove'
  | 'adminNodeDiskExclude'
  | 'adminNodeDiskRevoke';

export const topologyScenarios: Pick<Scenarios, Mine> = {
  adminNodeDiscoveryCreate: async (tenants) => ({ ...(await atDiscovered(tenants)), body: {} }),
  adminNodeDiscoveryGet: atDiscovered,
  adminNodeDiscoveryFactsGet: atDiscovered,
  adminNodeSlotGet: async (tenants) => {
    const { version: _, ...params } = await newApprovedSlot(tenants);
    return { as: tenants.superadmin, params };
  },
  adminNodeSlotApprove: async (tenants) => {
    const ask = await atDiscovered(tenants);
    return { ...ask, body: { map_hash: (await mapOf(tenants, ask.params.node_id)).map_hash, slot_indexes: [0, 1] } };
  },
  adminNodeSlotDisable: atSlot,
  adminNodeSlotEnable: (tenants) => atSlotIn(tenants, 'disable'),
  adminNodeSlotQuarantine: atSlot,
  adminNodeSlotRepair: atSlot,
  adminNodeSlotMarkWiped: async (tenants) => {
    const { if_match: _, ...ask } = await atSlotIn(tenants, 'quarantine');
    return ask;
  },
  adminNodeDiskList: atDiscovered,
  adminNodeDiskApprove: async (tenants) => {
    const { node_id, serial } = await newOwnership(tenants);
    return { as: tenants.superadmin, params: { node_id }, body: { serial, ...because } };
  },
  adminNodeDiskExclude: async (tenants) => {
    const { node_id, serial } = await newOwnership(tenants);
    return { as: tenants.superadmin, params: { node_id }, body: { serial, ...because } };
  },
  adminNodeDiskRevoke: async (tenants) => {
    const { node_id, serial } = await newOwnership(tenants);
    const id = strangeId('disk_ownership');
    // Without its run, which would start the wipe before it can be revoked.
    const row = {
      ...{
        id,
        node_id,
        region_name: REGION,
        serial,
        device: `/dev/disk/by-id/${id}`,
        size_bytes: DISK_BYTES,
        state: 'approved' as const,
      },
      ...{ approved_by: tenants.superadmin.me.id, correlation_id: 'test', ...because },
    };
    await tenants.test.db.database.write(PLATFORM, (tx) => insertOwnership(tx, row));
    return { as: tenants.superadmin, params: { node_id, disk_ownership_id: id }, body: because };
  },
};
