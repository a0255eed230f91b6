/**
 * Whether each action on a node is allowed, or why not. The operations refuse by these rules and the node's page shows
 * them, so an enabled button works and a disabled one shows the refusal. Checks that need the request, such as the
 * chosen candidates, are left to the operation.
 */

import { type CAPACITY_MODES, CONVERSION_TARGETS, type OCCUPANCIES, type OperationId } from '@gpuaas/contract';
import { OCCUPANCY_TEXT } from '@gpuaas/scheduler';
import { type ConversionFacts, conversionBlockers } from './conversion.ts';
import { clearRefusal } from './launch-failures.ts';
import { sourcesIn } from './moves.ts';
import { isNodeOver, type NodeState, nodeMoves } from './node-state.ts';
import { done, firstOf, type Refusal, refused } from './refusal.ts';
import { REFUSALS } from './sentences.ts';

export type NodeFacts = Readonly<{
  id: string;
  state: NodeState;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  capacity_mode: (typeof CAPACITY_MODES)[number];
  occupancy: (typeof OCCUPANCIES)[number];
  is_held: boolean;
  launch_failures: number;
  gpu_model_conflict: string | null;
  gpu_count: number;
  last_seen_at: string | null;
  claims: ConversionFacts['claims'];
  slots: ConversionFacts['slots'];
  /** Allocations on the node, by claim or by state. */
  holders: readonly string[];
  /** Disks whose wipe is pending, running or blocked. */
  disks: readonly Readonly<{ serial: string; state: string }>[];
  has_discovery: boolean;
}>;

/** States in which nothing new is placed on a node. */
export const MAY_RETIRE = sourcesIn(nodeMoves, 'retired');

const whenOver = (node: NodeFacts, so: string): Refusal | false =>
  isNodeOver(node.state) && refused(`The node is ${node.state}; ${so}.`);

const agentOffline = ({ last_seen_at }: NodeFacts): Refusal | false =>
  last_seen_at === null && refused(REFUSALS.agent_never_connected);

const held = ({ holders }: NodeFacts): Refusal | false => {
  const [first, ...others] = holders;
  if (first === undefined) return false;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return refused(`Allocation ${first}${more} is still on the node. Release it first.`);
};

const erasing = ({ disks }: NodeFacts, wait: string): Refusal | false =>
  disks.some(({ state }) => state === 'wiping') && refused(`A disk of the node is being wiped; ${wait}.`);

const moves = (node: NodeFacts, from: NodeState, to: NodeState): Refusal | false =>
  node.state !== from && refused(`The node is ${node.state}; only a node that is ${from} can become ${to}.`);

/** Convertible when any other mode is possible; otherwise the reason of the closest one. */
const converts = (node: NodeFacts): Refusal | null => {
  const facts = { node, claims: node.claims, slots: node.slots };
  const [fewest = []] = CONVERSION_TARGETS.filter((to) => to !== node.capacity_mode)
    .map((to) => conversionBlockers(facts, to))
    .toSorted((a, b) => a.length - b.length);
  return fewest.length === 0 ? null : refused(fewest.join(' '));
};

const RULES = {
  discover: (node) =>
    firstOf(
      whenOver(node, 'its agent has no access'),
      node.host_role !== 'worker_compute' && refused(`The node is ${node.host_role}; only compute hosts have slots.`),
      agentOffline(node),
    ),
  probe: (node) => firstOf(whenOver(node, 'its agent has no access'), agentOffline(node)),
  drain: (node) =>
    firstOf(node.state === 'draining' && done('The node is already draining.'), moves(node, 'active', 'draining')),
  resume: (node) =>
    firstOf(
      node.state === 'active' && done('The node is already active.'),
      erasing(node, 'resume the node after the wipe'),
      moves(node, 'draining', 'active'),
    ),
  hold: (node) =>
    firstOf(whenOver(node, 'it takes no placements'), node.is_held && done('The node is already held for bare metal.')),
  unhold: (node) => firstOf(!node.is_held && done('The node is not held for bare metal.')),
  clear_launch_failures: (node) =>
    firstOf(whenOver(node, 'it takes no placements'), clearRefusal(node.launch_failures)),
  convert: converts,
  approve: (node) =>
    firstOf(
      whenOver(node, 'its slots are disabled'),
      node.host_role !== 'worker_compute' && refused(`The node is ${node.host_role}, not a compute host.`),
      !node.has_discovery && refused(REFUSALS.no_discovery),
      node.gpu_model_conflict !== null && refused(node.gpu_model_conflict),
      // The tenant of the whole node may have written to these disks, and no wipe of them was requested.
      node.occupancy !== 'free' &&
        node.occupancy !== 'sliced' &&
        refused(
          `The node is ${OCCUPANCY_TEXT[node.occupancy]}; slots can be approved only while no bare-metal allocation holds the node.`,
        ),
    ),
  retire: (node) =>
    firstOf(
      node.state === 'active' && refused('The node is active. Drain it first.'),
      !MAY_RETIRE.some((state) => state === node.state) && refused(`The node is ${node.state} already.`),
      held(node),
      erasing(node, 'retire the node after the wipe'),
    ),
  delete: (node) => {
    const [disk] = node.disks;
    return firstOf(
      node.state !== 'retired' && refused(`The node is ${node.state}; retire it first.`),
      held(node),
      disk !== undefined &&
        refused(`The ownership of disk ${disk.serial} is ${disk.state}; revoke the approval before deleting the node.`),
    );
  },
  enroll: (node) => firstOf(whenOver(node, 'it accepts no agent')),
  rebind: (node) =>
    firstOf(
      whenOver(node, 'it accepts no host'),
      node.state === 'active' && refused('The node is active. Drain it first.'),
      held(node),
      erasing(node, 'rebind the node after the wipe'),
    ),
  revoke_agent: (node) => firstOf(isNodeOver(node.state) && done('The agent already has no access.')),
} as const satisfies Record<string, (node: NodeFacts) => Refusal | null>;

export type NodeAction = keyof typeof RULES;

/** The operation behind each action: without permission for the operation the action is not offered. */
export const NODE_OPERATIONS = {
  discover: 'adminNodeDiscoveryCreate',
  probe: 'adminNodeHealthProbe',
  drain: 'adminNodeDrain',
  resume: 'adminNodeDrain',
  hold: 'adminNodeHold',
  unhold: 'adminNodeHold',
  clear_launch_failures: 'adminNodeLaunchFailuresClear',
  convert: 'adminNodeConvert',
  approve: 'adminNodeSlotApprove',
  retire: 'adminNodeRetire',
  delete: 'adminNodeDelete',
  enroll: 'adminNodeEnrollmentCreate',
  rebind: 'adminNodeRebind',
  revoke_agent: 'adminNodeAgentRevoke',
} as const satisfies Record<NodeAction, OperationId>;

export const nodeRefusal = (action: NodeAction, node: NodeFacts): Refusal | null => RULES[action](node);
