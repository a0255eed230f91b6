/**
 * What may be done with a node as it is, or why not. The operations refuse by these rules and the node's page shows
 * them, so that a button that is offered works and one that is not says the sentence that the operation would. What
 * only the request can tell, such as which candidates it names, is left to the operation.
 */
import type { CAPACITY_MODES, NODE_STATES, OCCUPANCIES, OperationId } from '@gpuaas/contract';
import { type ConversionFacts, type ConversionTarget, conversionBlockers } from './conversion.ts';
import { done, firstOf, type Refusal, refused } from './refusal.ts';

export type NodeState = (typeof NODE_STATES)[number];

export type NodeFacts = Readonly<{
  id: string;
  state: NodeState;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  capacity_mode: (typeof CAPACITY_MODES)[number];
  occupancy: (typeof OCCUPANCIES)[number];
  is_held: boolean;
  gpu_count: number;
  last_seen_at: string | null;
  claims: ConversionFacts['claims'];
  slots: ConversionFacts['slots'];
  /** Allocations that stand on it, by claim or by state. */
  holders: readonly string[];
  /** Disks that are to be erased, are being, or could not be. */
  disks: readonly Readonly<{ serial: string; state: string }>[];
  has_discovery: boolean;
}>;

/** States in which nothing new is placed on a node. */
export const MAY_RETIRE = ['bootstrap_issued', 'enrolling', 'offline', 'quarantined', 'draining'] as const;

const isOver = ({ state }: NodeFacts): boolean => state === 'retired' || state === 'removing';
const whenOver = (node: NodeFacts, so: string): Refusal | false =>
  isOver(node) && refused(`The node is ${node.state}; ${so}.`);

const unseen = ({ last_seen_at }: NodeFacts): Refusal | false =>
  last_seen_at === null && refused('No agent of this node has been seen yet; enrol it first.');

const held = ({ holders }: NodeFacts): Refusal | false => {
  const [first, ...others] = holders;
  if (first === undefined) return false;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return refused(`Allocation ${first}${more} still stands on the node; release it first.`);
};

const erasing = ({ disks }: NodeFacts, wait: string): Refusal | false =>
  disks.some(({ state }) => state === 'wiping') && refused(`A disk of the node is being erased; ${wait}.`);

const moves = (node: NodeFacts, from: NodeState, to: NodeState): Refusal | false =>
  node.state !== from && refused(`The node is ${node.state}; only a node that is ${from} can become ${to}.`);

const TARGETS: readonly ConversionTarget[] = ['slice', 'baremetal'];

/** It may be converted when there is something to convert it to; otherwise the easier of both says what it lacks. */
const converts = (node: NodeFacts): Refusal | null => {
  const facts = { node, claims: node.claims, slots: node.slots };
  const [fewest = []] = TARGETS.filter((to) => to !== node.capacity_mode)
    .map((to) => conversionBlockers(facts, to))
    .toSorted((a, b) => a.length - b.length);
  return fewest.length === 0 ? null : refused(fewest.join(' '));
};

const RULES = {
  discover: (node) =>
    firstOf(
      whenOver(node, 'its agent is locked out'),
      node.host_role !== 'worker_compute' && refused(`The node is ${node.host_role}; only compute hosts have slots.`),
      unseen(node),
    ),
  probe: (node) => firstOf(whenOver(node, 'its agent is locked out'), unseen(node)),
  drain: (node) =>
    firstOf(node.state === 'draining' && done('It is draining already.'), moves(node, 'active', 'draining')),
  resume: (node) =>
    firstOf(
      node.state === 'active' && done('It is in use already.'),
      erasing(node, 'take it back into use when that is done'),
      moves(node, 'draining', 'active'),
    ),
  hold: (node) =>
    firstOf(whenOver(node, 'nothing is placed on it'), node.is_held && done('It is kept for bare metal already.')),
  unhold: (node) => firstOf(!node.is_held && done('Nothing keeps it for bare metal.')),
  convert: converts,
  approve: (node) =>
    firstOf(
      whenOver(node, 'its slots are over'),
      node.host_role !== 'worker_compute' && refused(`The node is ${node.host_role}, not a compute host.`),
      !node.has_discovery && refused('Nothing has been discovered on this node yet.'),
      // Whoever holds the whole node may have written to these disks, and no wipe of theirs has been asked for.
      node.occupancy !== 'free' &&
        node.occupancy !== 'sliced' &&
        refused(`The node is ${node.occupancy}; slots are approved while nobody holds it as a whole.`),
    ),
  retire: (node) =>
    firstOf(
      node.state === 'active' && refused('The node is active; drain it first.'),
      !MAY_RETIRE.some((state) => state === node.state) && refused(`The node is ${node.state} already.`),
      held(node),
      erasing(node, 'retire it when that is over'),
    ),
  delete: (node) => {
    const [disk] = node.disks;
    return firstOf(
      node.state !== 'retired' && refused(`The node is ${node.state}; retire it first.`),
      held(node),
      disk !== undefined &&
        refused(`The ownership of disk ${disk.serial} is ${disk.state}; take it back before the node is deleted.`),
    );
  },
  enroll: (node) => firstOf(whenOver(node, 'it takes no agent')),
  revoke_agent: (node) => firstOf(isOver(node) && done('Its agent is locked out already.')),
} as const satisfies Record<string, (node: NodeFacts) => Refusal | null>;

export type NodeAction = keyof typeof RULES;

/** The operation behind each action: who may not use the operation is not offered the action. */
export const NODE_OPERATIONS = {
  discover: 'adminNodeDiscoveryCreate',
  probe: 'adminNodeHealthProbe',
  drain: 'adminNodeDrain',
  resume: 'adminNodeDrain',
  hold: 'adminNodeHold',
  unhold: 'adminNodeHold',
  convert: 'adminNodeConvert',
  approve: 'adminNodeSlotApprove',
  retire: 'adminNodeRetire',
  delete: 'adminNodeDelete',
  enroll: 'adminNodeEnrollmentCreate',
  revoke_agent: 'adminNodeAgentRevoke',
} as const satisfies Record<NodeAction, OperationId>;

export const nodeRefusal = (action: NodeAction, node: NodeFacts): Refusal | null => RULES[action](node);
