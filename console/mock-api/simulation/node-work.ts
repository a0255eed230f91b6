/** Work on unclaimed hosts: discovery, slot repair and disk approval. */

import { REASONS } from '../../../server/src/domain/reasons.ts';
import type { DiskOwnership, Node, NodeTask, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { startRun } from './run.ts';
import { addProof, moveSlot } from './slots.ts';
import { runTask } from './task.ts';

const DISCOVER_S = 4;

/** The task of the newest discovery; a placeholder if that was before the start of the demo. */
export const discoveryTask = (world: World, node: Node): NodeTask | undefined =>
  world.tasks.find((task) => task.id === node.discovery_task_id);

export const discover = (world: World, node: Node, correlation_id: string): NodeTask => {
  const asked = { node_id: node.id, kind: 'slice.topology_discover', allocation_id: null, correlation_id } as const;
  const task = runTask(world, asked, DISCOVER_S, () => {
    node.discovered_at = world.ago();
    node.is_runtime_validated = node.unmet.length === 0;
  });
  node.discovery_task_id = task.id;
  return task;
};

/** The slot comes back only with a wipe proof. */
export const repair = (
  world: World,
  node: Node,
  slot: Slot,
  correlation_id: string,
  reason: string = REASONS.slot_in_repair,
): void => {
  moveSlot(world, slot, 'quarantined', reason);
  startRun(world, {
    path: 'repair-slot',
    subject_id: slot.id,
    organization_id: null,
    project_id: null,
    correlation_id,
    node_id: node.id,
    allocation_id: null,
    onDone: (run) => {
      const task = world.tasks.findLast((one) => one.correlation_id === run.correlation_id);
      const task_id = task?.id ?? run.id;
      addProof(world, { slot, allocation_id: null, task_id, method: 'nvme_sanitize', correlation_id });
      slot.health = 'ok';
      slot.health_detail = {};
      node.discovered_at = world.ago();
      moveSlot(world, slot, 'available');
    },
  });
};

/** Wiped with proof, then discovered again without the blocker. */
export const wipeDisk = (world: World, node: Node, disk: DiskOwnership, correlation_id: string): void => {
  const move = (state: DiskOwnership['state'], reason: string | null): void => {
    disk.state = state;
    disk.state_reason = reason;
    disk.state_since = world.ago();
    disk.version += 1;
  };
  startRun(world, {
    path: 'wipe-disk',
    subject_id: disk.id,
    organization_id: null,
    project_id: null,
    correlation_id,
    node_id: node.id,
    allocation_id: null,
    onStep: ({ kind }) => {
      if (kind !== null && disk.state === 'approved') move('wiping', null);
    },
    onDone: () => {
      if (disk.state === 'revoked') return;
      move('owned', null);
      disk.wipe_proof_id = world.mint('wipe_proof');
      for (const [index, found] of node.found)
        if (found.nvme_mounts !== undefined)
          node.found.set(index, { ...found, nvme_mounts: [], nvme_filesystems: [], blockers: [] });
      node.discovered_at = world.ago();
    },
  });
};
