/**
 * What may be done with a node or a slot as it is, or why not, in the server's words. Operations refuse by these rules and
 * the pages show them. `is_done` says that it is so already: who asks for it all the same gets what is there.
 */
import type { Node, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { liveNodeClaim, slotsOf } from './placement.ts';
import { occupancyOf } from './slots.ts';

export type No = Readonly<{ reason: string; is_done: boolean }>;

const refused = (reason: string): No => ({ reason, is_done: false });
const done = (reason: string): No => ({ reason, is_done: true });
const firstOf = (...all: readonly (No | false | null)[]): No | null =>
  all.find((one): one is No => one !== false && one !== null) ?? null;

const isOver = ({ state }: Node): boolean => state === 'retired' || state === 'removing';
const whenOver = (node: Node, so: string): No | false => isOver(node) && refused(`The node is ${node.state}; ${so}.`);
const unseen = (node: Node): No | false =>
  node.last_seen_at === null &&
  !node.is_connected &&
  refused('No agent of this node has been seen yet; enrol it first.');

const holdersOf = (world: World, node: Node): string[] => [
  ...new Set([
    ...slotsOf(world, node.id).flatMap((slot) => slot.allocation_id ?? []),
    ...(liveNodeClaim(world, node.id)
      ? world.claims
          .filter((one) => one.node_id === node.id && one.released_at === null)
          .map((one) => one.allocation_id)
      : []),
  ]),
];

const held = (world: World, node: Node): No | false => {
  const [first, ...others] = holdersOf(world, node);
  if (first === undefined) return false;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return refused(`Allocation ${first}${more} still stands on the node; release it first.`);
};

const moves = (node: Node, from: Node['state'], to: Node['state']): No | false =>
  node.state !== from && refused(`The node is ${node.state}; only a node that is ${from} can become ${to}.`);

const disksOf = (world: World, node: Node) =>
  world.disks.filter((one) => one.node_id === node.id && !['owned', 'revoked'].includes(one.state));
const erasing = (world: World, node: Node, wait: string): No | false =>
  disksOf(world, node).some(({ state }) => state === 'wiping') &&
  refused(`A disk of the node is being erased; ${wait}.`);

const MAY_RETIRE: readonly Node['state'][] = ['bootstrap_issued', 'enrolling', 'offline', 'quarantined', 'draining'];

const NODE_RULES = {
  discover: (_, node) => firstOf(whenOver(node, 'its agent is locked out'), unseen(node)),
  probe: (_, node) => firstOf(whenOver(node, 'its agent is locked out'), unseen(node)),
  drain: (_, node) =>
    firstOf(node.state === 'draining' && done('It is draining already.'), moves(node, 'active', 'draining')),
  resume: (world, node) =>
    firstOf(
      node.state === 'active' && done('It is in use already.'),
      erasing(world, node, 'take it back into use when that is done'),
      moves(node, 'draining', 'active'),
    ),
  hold: (_, node) =>
    firstOf(whenOver(node, 'nothing is placed on it'), node.is_held && done('It is kept for bare metal already.')),
  unhold: (_, node) => firstOf(!node.is_held && done('Nothing keeps it for bare metal.')),
  convert: (world, node) =>
    firstOf(
      node.state !== 'active' &&
        node.state !== 'draining' &&
        refused(`The node is ${node.state}; only active and draining nodes are converted.`),
      held(world, node),
    ),
  approve: (world, node) => {
    const occupancy = occupancyOf(world, node);
    return firstOf(
      whenOver(node, 'its slots are over'),
      node.discovered_at === null && refused('Nothing has been discovered on this node yet.'),
      occupancy !== 'free' &&
        occupancy !== 'sliced' &&
        refused(`The node is ${occupancy}; slots are approved while nobody holds it as a whole.`),
    );
  },
  retire: (world, node) =>
    firstOf(
      node.state === 'active' && refused('The node is active; drain it first.'),
      !MAY_RETIRE.includes(node.state) && refused(`The node is ${node.state} already.`),
      held(world, node),
      erasing(world, node, 'retire it when that is over'),
    ),
  delete: (world, node) => {
    const [disk] = disksOf(world, node);
    return firstOf(
      node.state !== 'retired' && refused(`The node is ${node.state}; retire it first.`),
      disk !== undefined &&
        refused(`The ownership of disk ${disk.serial} is ${disk.state}; take it back before the node is deleted.`),
    );
  },
  enroll: (_, node) => firstOf(whenOver(node, 'it takes no agent')),
  revoke_agent: (_, node) => firstOf(isOver(node) && done('Its agent is locked out already.')),
} as const satisfies Record<string, (world: World, node: Node) => No | null>;

export type NodeAction = keyof typeof NODE_RULES;
export const NODE_ACTIONS = Object.keys(NODE_RULES) as NodeAction[];
export const nodeRefusal = (world: World, node: Node, action: NodeAction): No | null => NODE_RULES[action](world, node);

const SET_APART: readonly Slot['status'][] = ['available', 'cleanup_blocked', 'quarantined'];
const settled = (slot: Slot, participle: string): No | false =>
  !SET_APART.includes(slot.status) && refused(`The slot is ${slot.status}; it cannot be ${participle} now.`);
const taken = (slot: Slot): No | false =>
  slot.allocation_id !== null && refused('An allocation holds the slot; release it first.');
const isRepairing = (world: World, slot: Slot): boolean =>
  slot.status === 'quarantined' &&
  [...world.runs.values()].some(
    (run) => run.subject_id === slot.id && !['done', 'cancelled', 'stuck'].includes(run.state),
  );

const SLOT_RULES = {
  disable: (_, slot) => firstOf(slot.approval === 'disabled' && done('It is disabled already.')),
  enable: (_, slot) =>
    firstOf(
      slot.approval === 'approved' && done('It is enabled already.'),
      (slot.approval === 'needs_reapproval' || slot.drift !== null) &&
        refused('The slot is not what was approved any more; look at the difference and approve it again.'),
    ),
  quarantine: (_, slot) =>
    firstOf(
      taken(slot),
      slot.status === 'quarantined' && done('It is quarantined already.'),
      settled(slot, 'quarantined'),
    ),
  repair: (world, slot) =>
    firstOf(taken(slot), settled(slot, 'repaired'), isRepairing(world, slot) && done('It is being repaired.')),
  mark_wiped: (world, slot) =>
    firstOf(
      taken(slot),
      slot.status !== 'quarantined' &&
        slot.status !== 'cleanup_blocked' &&
        refused(`The slot is ${slot.status}; there is no wipe to vouch for.`),
      isRepairing(world, slot) && refused('The slot is being repaired; wait for that, or cancel the run.'),
    ),
  retry_cleanup: (_, slot) => {
    if (slot.status === 'cleanup_blocked')
      return slot.allocation_id === null ? refused('No allocation holds the slot; repair it instead.') : null;
    return slot.allocation_id !== null && slot.status === 'cleaning'
      ? done('The cleanup of its allocation is under way.')
      : refused(`The slot is ${slot.status}; there is no cleanup to try again.`);
  },
} as const satisfies Record<string, (world: World, slot: Slot) => No | null>;

export type SlotAction = keyof typeof SLOT_RULES;
export const SLOT_ACTIONS = Object.keys(SLOT_RULES) as SlotAction[];
export const slotRefusal = (world: World, slot: Slot, action: SlotAction): No | null => SLOT_RULES[action](world, slot);
