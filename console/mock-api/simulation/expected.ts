/** When more GPUs are expected, by the server's rule over the claims of the mock. */
import {
  cleanupSeconds,
  type Expected,
  expectedEntries,
  type HeldNode,
  nextExpected,
} from '../../../server/src/domain/expected-capacity.ts';
import type { Node, Sku } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { freeOf, slotsOf } from './placement.ts';

const CLEANUP_S = { gpu_slice: cleanupSeconds('gpu_slice', {}), baremetal: cleanupSeconds('baremetal', {}) };

const heldNode = (world: World, node: Node): HeldNode => {
  const slots = slotsOf(world, node.id);
  const held = [...world.allocations.values()].filter((one) =>
    world.claims.some(
      (claim) => claim.allocation_id === one.id && claim.node_id === node.id && claim.released_at === null,
    ),
  );
  return {
    gpu_count: node.gpu_count,
    capacity_mode: node.capacity_mode,
    is_held: node.is_held,
    is_validated: node.is_runtime_validated,
    free_gpus: freeOf(world, node).free_gpus,
    fit_slots: slots
      .filter(({ approval, health }) => approval === 'approved' && health === 'ok')
      .map(({ slot_index }) => slot_index),
    claims: held.map((one) => ({
      slots:
        one.capacity_shape === 'baremetal'
          ? null
          : slots.filter(({ allocation_id }) => allocation_id === one.id).map(({ slot_index }) => slot_index),
      shape: one.capacity_shape,
      state: one.state,
      is_protected: one.is_protected,
      release_at: one.release_at,
      release_requested_at: one.release_requested_at,
      is_left: false,
    })),
  };
};

export const expectedFor = (
  world: World,
  sku: Sku,
  region: string,
  organizationId: string,
  gpuCount = Math.min(...sku.allowed_gpu_counts),
): Expected | null => {
  const nodes = [...world.nodes.values()].filter(
    (node) =>
      node.region_name === region &&
      node.gpu_model === sku.gpu_model &&
      node.state === 'active' &&
      node.health === 'ok' &&
      [null, organizationId].includes(node.pool_organization_id),
  );
  const entries = expectedEntries(
    nodes.map((node) => heldNode(world, node)),
    sku.capacity_shape,
    world.now(),
    CLEANUP_S,
  );
  return nextExpected([entries], gpuCount, new Date(world.now()).toISOString());
};
