/** Disks that a release of the whole node would not wipe, as the server counts them. */
import type { Node, NodeView } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { bindingOf, PLACES } from '../seed/host.ts';

const COVERED = ['owned', 'excluded'];

export const unapprovedDisks = (world: World, node: Node): NodeView['unapproved_disks'] => {
  if (node.capacity_mode === 'slice' || node.discovered_at === null) return [];
  const slots = world.slotsOf.get(node.id) ?? [];
  const decided = world.disks.filter((disk) => disk.node_id === node.id && COVERED.includes(disk.state));
  const covered = new Set([...slots.map(({ nvme_serial }) => nvme_serial), ...decided.map(({ serial }) => serial)]);
  return PLACES.map((place) => ({
    name: `nvme${place.slot_index + 2}n1`,
    serial: node.found.get(place.slot_index)?.nvme_serial ?? bindingOf(node.number, place).nvme_serial,
  })).filter(({ serial }) => !covered.has(serial));
};
