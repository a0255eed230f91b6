/** Responses about the inventory of hosts. */
import type { Operations } from '@gpuaas/sdk';
import { agentAnswers } from './fixtures-agent.ts';
import { placementIds } from './fixtures-allocation.ts';

const time = '2026-11-15T10:03:21.000Z';
export const ORPHAN = 'alc_01k9zv3m8q4t6w2x5y7r0s1nzz';
export const ORPHAN_VM = `gpuaas-${ORPHAN.replace('_', '-')}`;
const { allocation, node } = placementIds;

type Inventory = Operations['adminNodeInventoryGet']['response'];
type Task = Operations['adminNodeImagePull']['response'];

const vm = { state: 'running', ended_by: null, is_managed: true } as const;
const inventory: Inventory = {
  node_id: node,
  observed_at: time,
  received_at: time,
  age_s: 48,
  boot_id: '5f2b7f2a-90c2-4a1c-8a53-1f6d5d6a7c11',
  findings: [
    {
      code: 'orphan_vm',
      allocation_id: ORPHAN,
      vm: ORPHAN_VM,
      slot_ids: [],
      message: `VM ${ORPHAN_VM} (running) is managed by GPUaaS but has no claim on this node. It uses devices of slot 3.`,
      since: time,
    },
    {
      code: 'lease_without_claim',
      allocation_id: ORPHAN,
      vm: null,
      slot_ids: [],
      message: `The host has a bundle lease for ${ORPHAN}, which has no claim on this node.`,
      since: time,
    },
  ],
  vms: [
    {
      ...vm,
      name: `gpuaas-${allocation.replace('_', '-')}`,
      allocation_id: allocation,
      devices: ['0000:1b:00.0'],
    },
    { ...vm, name: ORPHAN_VM, allocation_id: ORPHAN, devices: ['0000:3d:00.0', 'S6C0NE0T1'] },
  ],
  leases: [{ allocation_id: allocation, slot_ids: [], is_used: true, is_cleaning: false, wanted: 'on' }],
  repaired: ['restored the flows of gp0123456789ab'],
};
const taskOf = (kind: string): Task => ({ ...agentAnswers.adminNodeAgentUpdate, kind });

export const inventoryAnswers = {
  adminNodeInventoryGet: inventory,
  adminNodeVmRemove: taskOf('slice.orphan_remove'),
  adminNodeBundleLeaseEnd: taskOf('slice.orphan_remove'),
  adminNodeImageList: {
    node_id: node,
    observed_at: time,
    unreadable: null,
    images: [
      {
        digest: `sha256:${'a1'.repeat(32)}`,
        name: 'ubuntu-24.04-h200-cuda',
        size_bytes: 9 * 1024 ** 3,
        verified_at: time,
        last_used_at: null,
      },
    ],
  },
  adminNodeImagePull: taskOf('image.pull'),
  adminNodeImageEvict: taskOf('image.evict'),
  adminNodeImageVerify: taskOf('image.verify'),
} satisfies Partial<{ [K in keyof Operations]: Operations[K]['response'] }>;
