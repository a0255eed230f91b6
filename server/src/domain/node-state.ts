/** The states of a node. Once it is over, its agent has no access and its slots are disabled. */
import { type NODE_STATES, OVER_NODE_STATES } from '@gpuaas/contract';

export type NodeState = (typeof NODE_STATES)[number];

export const isNodeOver = (state: NodeState): boolean => OVER_NODE_STATES.some((over) => over === state);
