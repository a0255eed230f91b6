/** Scenarios of host inventory: unclaimed VMs, and images. */

import type { Scenarios } from './scenario.ts';
import { newDiscovered } from './scenarios-topology.ts';
import { must, type Tenants } from './tenants.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const ORPHAN = 'alc_01k9zv3m8q4t6w2x5y7r0s1nzz';
export const ORPHAN_VM = `gpuaas-${ORPHAN.replace('_', '-')}`;

/** A node whose agent reported one managed VM without a claim, and images. */
export const newInventoried = async (tenants: Tenants): Promise<string> => {
  const id = await newDiscovered(tenants);
  const machine = { name: ORPHAN_VM, allocation_id: ORPHAN, is_managed: true, state: 'shut_off', ended_by: null };
  const content = {
    vms: [{ ...machine, devices: [] }],
    leases: [{ allocation_id: ORPHAN, slot_ids: [], is_used: true, is_cleaning: false, wanted: 'on' }],
    drift: [],
    leftovers: [],
    repaired: [],
    images: { value: [{ digest: DIGEST, name: 'ubuntu-24.04-h200-cuda', size_bytes: 4096 }] },
  };
  const finding = {
    code: 'orphan_vm',
    allocation_id: ORPHAN,
    vm: ORPHAN_VM,
    slot_ids: [],
    message: 'It has no claim.',
    since: new Date().toISOString(),
  };
  await tenants.sql.query(
    `insert into node_inventories (node_id, observed_at, boot_id, content, findings)
     values ($1, clock_timestamp(), $2, $3, $4)`,
    [id, 'boot-1', JSON.stringify(content), JSON.stringify([finding])],
  );
  await tenants.sql.query('update node_agents set kinds = $2 where node_id = $1', [
    id,
    ['image.pull', 'image.evict', 'image.verify', 'slice.reconcile'],
  ]);
  return id;
};

const atNode = async (tenants: Tenants) => ({
  as: tenants.superadmin,
  params: { node_id: await newInventoried(tenants) },
});
const ofDigest = { digest: DIGEST };

type Mine =
  | 'adminNodeInventoryGet'
  | 'adminNodeVmRemove'
  | 'adminNodeBundleLeaseEnd'
  | 'adminNodeImageList'
  | 'adminNodeImagePull'
  | 'adminNodeImageEvict'
  | 'adminNodeImageVerify';

export const inventoryScenarios: Pick<Scenarios, Mine> = {
  adminNodeInventoryGet: atNode,
  adminNodeVmRemove: async (tenants) => {
    const { as, params } = await atNode(tenants);
    return { as, params: { ...params, vm_name: ORPHAN_VM }, body: { reason: 'It was left behind' } };
  },
  adminNodeBundleLeaseEnd: async (tenants) => {
    const { as, params } = await atNode(tenants);
    return { as, params: { ...params, allocation_id: ORPHAN }, body: { reason: 'The backup does not know it' } };
  },
  adminNodeImageList: atNode,
  adminNodeImagePull: async (tenants) => {
    const [image] = must(await tenants.superadmin.get('/api/v1/os-images'), 200).body.items;
    return { ...(await atNode(tenants)), body: { image_name: image.name } };
  },
  adminNodeImageEvict: async (tenants) => ({ ...(await atNode(tenants)), body: ofDigest }),
  adminNodeImageVerify: async (tenants) => ({ ...(await atNode(tenants)), body: ofDigest }),
};
