/** Disks that a release of the whole node would not wipe, as the server counts them. */
import { OPEN_DISK_APPROVAL_STATES } from '@gpuaas/contract';
import type { Node, NodeView } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { bindingOf, PLACES } from '../seed/host.ts';

const COVERED = ['owned', 'excluded'];
const PENDING: readonly string[] = OPEN_DISK_APPROVAL_STATES;

export const unapprovedDisks = (world: World, node: Node): NodeView['unapproved_disks'] => {
  if (node.capacity_mode === 'slice' || node.discovered_at === null) return [];
  const slots = world.slotsOf.get(node.id) ?? [];
  const disks = world.disks.filter((disk) => disk.node_id === node.id);
  const decided = disks.filter(({ state }) => COVERED.includes(state));
  const pending = new Set(disks.filter(({ state }) => PENDING.includes(state)).map(({ serial }) => serial));
  const covered = new Set([...slots.map(({ nvme_serial }) => nvme_serial), ...decided.map(({ serial }) => serial)]);
  return PLACES.map((place) => ({
    name: `nvme${place.slot_index + 2}n1`,
    serial: node.found.get(place.slot_index)?.nvme_serial ?? bindingOf(node.number, place).nvme_serial,
  }))
    .filter(({ serial }) => !covered.has(serial))
    .map((disk) => ({ ...disk, is_wipe_pending: pending.has(disk.serial) }));
};
