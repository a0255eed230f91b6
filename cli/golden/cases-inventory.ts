/** Command lines about the inventory of hosts. */
import type { Case } from './case.ts';
import { placementIds } from './fixtures-allocation.ts';
import { inventoryAnswers, ORPHAN, ORPHAN_VM } from './fixtures-inventory.ts';

const T = '--no-json';
const { node } = placementIds;
const digest = `sha256:${'a1'.repeat(32)}`;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

export const inventoryCases: readonly Case[] = [
  line('admin-node-drift', `admin node drift ${node} ${T}`),
  line('admin-node-drift-none', `admin node drift ${node} ${T}`, {
    answers: {
      adminNodeInventoryGet: { ...inventoryAnswers.adminNodeInventoryGet, findings: [], vms: [], repaired: [] },
    },
  }),
  line('admin-node-vm-remove', `admin node vm remove ${node} ${ORPHAN_VM} --reason left --yes ${T}`),
  line('admin-node-vm-remove-needs-yes', `admin node vm remove ${node} ${ORPHAN_VM} --reason left ${T}`),
  line('admin-node-bundle-lease-end', `admin node bundle-lease end ${node} ${ORPHAN} --reason restored --yes ${T}`),
  line('admin-node-bundle-lease-end-needs-yes', `admin node bundle-lease end ${node} ${ORPHAN} --reason restored ${T}`),
  line('admin-node-image-list', `admin node image list ${node} ${T}`),
  line('admin-node-image-pull', `admin node image pull ${node},demo-h200-01 ubuntu-24.04-h200-cuda ${T}`),
  line('admin-node-image-evict', `admin node image evict demo-h200-01 ubuntu-24.04-h200-cuda ${T}`),
  line('admin-node-image-checked', `admin node image verify demo-h200-01 ${digest} ${T}`),
];
