/** The demo: a tenant's allocations in every state, another tenant on the rest, and hosts with problems. */

import { REASONS } from '../../../server/src/domain/reasons.ts';
import { PROVISION_SLICE } from '../../../server/src/domain/workflow-steps.ts';
import type { Allocation, Node, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import {
  blockedWords,
  claimSlots,
  cleanupPlan,
  moveAllocation,
  planRelease,
  provision,
  startRelease,
} from '../simulation/allocation.ts';
import { lastHostStep, lastStep } from '../simulation/paths.ts';
import { freeOf, slotsFor, slotsOf } from '../simulation/placement.ts';
import { planFor } from '../simulation/run.ts';
import { addProof } from '../simulation/slots.ts';
import { addActive, addUsage, newAllocation, type Past, pastRun } from './allocate.ts';
import { SLICE_SKU } from './catalog.ts';
import { addNode, addSlots, rackNames } from './fleet.ts';
import { ODD_NODES } from './odd-nodes.ts';
import type { SeedIds } from './people.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RACKS = [
  ['j22', 14],
  ['j23', 13],
  ['j24', 13],
] as const;

/** The wipe that a slot was approved with: every clean slot has its proof. */
const proveFirstWipe = (world: World, slot: Slot): void => {
  if (slot.wiped_at === null) return;
  const atMs = Date.parse(slot.wiped_at);
  const correlation_id = `c-approve-${slot.id.slice(-12)}`;
  addProof(world, {
    slot,
    allocation_id: null,
    task_id: world.mint('node_task', atMs),
    method: 'nvme_sanitize',
    correlation_id,
    atMs,
  });
};

const buildNodes = (world: World, seedIds: SeedIds): readonly Node[] =>
  RACKS.flatMap(([rack, hosts]) => rackNames(rack, hosts)).map((name, index) => {
    const odd = ODD_NODES[index];
    const node = addNode(world, name, index + 1);
    const slots = odd?.hasSlots === false ? [] : addSlots(world, node, seedIds.users.operator);
    odd?.shape(world, node, slots);
    for (const slot of slots) proveFirstWipe(world, slot);
    return node;
  });

/** GPU counts of another tenant on a node, so that about a third is free and no node is entirely free. */
const FILLINGS: readonly (readonly number[])[] = [[8], [4, 2, 1], [4, 4], [2, 2, 1], [4, 1], [1, 1, 2, 2], [8], [4, 2]];

const fillNode = (world: World, seedIds: SeedIds, node: Node, counts: readonly number[]): void => {
  for (const [index, gpu_count] of counts.entries()) {
    const slots = slotsFor(world, node, gpu_count);
    if (slots.length === 0) continue;
    addActive(world, {
      ...neighbour(seedIds),
      name: `job-${node.name}-${index}`,
      gpu_count,
      node,
      slots,
      hours: 20 + node.number + index,
    });
  }
};

const neighbour = (seedIds: SeedIds) => ({
  organization_id: seedIds.neighbour_id,
  project_id: seedIds.neighbour_project_id,
  requested_by: seedIds.outsider_id,
});

/** Allocations of another tenant on the remaining slots. */
export const fill = (world: World, seedIds: SeedIds, nodes: readonly Node[]): void => {
  for (const [index, node] of nodes.entries())
    if (node.capacity_mode === 'slice' && freeOf(world, node).free_gpus === 8)
      fillNode(world, seedIds, node, FILLINGS[index % FILLINGS.length] ?? []);
};

const seedTenant = (world: World, seedIds: SeedIds, nodes: readonly Node[]): void => {
  const at = (index: number): Node => {
    const node = nodes[index];
    if (node === undefined) throw new Error(`the demo has no node ${index}`);
    return node;
  };
  const past = (
    name: string,
    index: number,
    gpu_count: number,
    hours: number,
    over: Partial<Allocation> = {},
  ): Past => ({
    organization_id: seedIds.organization_id,
    project_id: seedIds.project_id,
    requested_by: seedIds.users.member,
    name,
    gpu_count,
    node: at(index),
    slots: slotsFor(world, at(index), gpu_count),
    hours,
    over: { ssh_key_ids: [seedIds.ssh_key_id], ...over },
  });

  addActive(
    world,
    past('train-llama', 1, 4, 71, { storage: 'formatted', is_protected: true, tags: { team: 'vision', cost: 'r-17' } }),
  );
  planRelease(
    world,
    addActive(world, past('notebook-anna', 2, 1, 6, { max_duration_s: 8 * 3_600, tags: { owner: 'anna' } })),
  );
  const off = addActive(world, past('ray-head', 2, 1, 30, { tags: { cluster: 'ray-1' } }));
  if (off.power !== null) Object.assign(off.power, { state: 'off', since: world.ago(5 * HOUR_MS) });
  // By the owner of the organization, who is not a member of the project.
  const whole = { ...past('whole-node', 8, 8, 9), requested_by: seedIds.users.owner, slots: slotsOf(world, at(8).id) };
  addActive(world, { ...whole, is_whole: true, over: {} });
  addActive(world, { ...past('serve-7b', 3, 2, 12), project_id: seedIds.other_project_id });
  addActive(world, { ...past('drained-job', 10, 1, 50), ...neighbour(seedIds) });

  for (const [index, hours] of [30, 54, 200].entries()) seedReleased(world, past(`sweep-${index + 1}`, 2, 2, hours));
  seedFailed(world, past('finetune-broken', 3, 1, 3));
  seedBlocked(world, past('old-sweep', 3, 2, 28));

  const releasing = addActive(world, past('render-9', 3, 1, 16));
  startRelease(world, releasing, REASONS.release_requested);

  const moving = (spec: Past): void => {
    const row = newAllocation(world, { ...spec, over: { state: 'requested', state_since: world.ago(), ...spec.over } });
    claimSlots(world, row, spec.slots, 'reserved');
    moveAllocation(world, row, 'requested');
    provision(world, row);
  };
  moving(past('eval-batch', 2, 2, 0.0015));
  // Requested when the demo opens.
  const next = { ...past('embed-queue', 1, 1, 0), project_id: seedIds.other_project_id };
  world.agenda.after(5_900, () => moving(next));
};

const seedReleased = (world: World, past: Past): void => {
  const row = newAllocation(world, past);
  const start = Date.parse(row.created_at);
  row.activated_at = row.state_since;
  row.release_requested_at = new Date(start + 6 * HOUR_MS).toISOString();
  row.released_at = new Date(start + 6 * HOUR_MS + 90_000).toISOString();
  row.state = 'released';
  row.state_since = row.released_at;
  claimSlots(world, row, past.slots, 'available');
  for (const slot of past.slots) {
    slot.allocation_id = null;
    addProof(world, {
      slot,
      allocation_id: row.id,
      task_id: world.mint('node_task', start),
      method: 'nvme_sanitize',
      correlation_id: row.correlation_id,
      atMs: Date.parse(row.released_at),
    });
  }
  for (const claim of world.claims)
    if (claim.allocation_id === row.id)
      Object.assign(claim, {
        released_at: row.released_at,
        wipe_proof_id: world.proofs.findLast((one) => one.slot_id === claim.slot_id)?.id ?? null,
      });
  addUsage(world, row, row.activated_at, row.release_requested_at);
  pastRun(world, row, 'provision-slice', start);
  pastRun(world, row, 'release-allocation', start + 6 * HOUR_MS);
};

/** It never became ready: nothing was charged, and its slots are clean again. */
const seedFailed = (world: World, past: Past): void => {
  const row = newAllocation(world, past);
  const start = Date.parse(row.created_at);
  const reason = PROVISION_SLICE.steps.awaitSsh.failed;
  row.state = 'failed';
  row.state_reason = reason;
  row.state_since = new Date(start + 120_000).toISOString();
  row.released_at = new Date(start + 240_000).toISOString();
  const run = pastRun(world, row, 'provision-slice', start, lastHostStep('provision-slice'));
  run.state = 'done';
  run.state_reason = reason;
  run.finished_at = run.state_since;
  for (const step of run.steps) if (step.outcome === 'failed') step.detail = reason;
  pastRun(world, row, 'release-allocation', start + 125_000);
};

const seedBlocked = (world: World, past: Past): void => {
  const row = newAllocation(world, past);
  const start = Date.parse(row.created_at);
  const reason = 'The disk wipe could not be verified.';
  claimSlots(world, row, past.slots, 'cleanup_blocked');
  for (const slot of past.slots) {
    slot.status_reason = blockedWords(row, reason);
    slot.status_since = world.ago(20 * HOUR_MS);
  }
  row.activated_at = row.state_since;
  row.release_requested_at = new Date(start + 7 * HOUR_MS).toISOString();
  row.state = 'release_failed';
  row.state_reason = reason;
  row.state_since = world.ago(20 * HOUR_MS);
  row.state_deadline_at = world.ago(-4 * HOUR_MS);
  addUsage(world, row, row.activated_at, row.release_requested_at);
  pastRun(world, row, 'provision-slice', start);
  const run = pastRun(world, row, 'release-allocation', start + 7 * HOUR_MS, lastStep('release-allocation'));
  run.state_reason = reason;
  for (const step of run.steps) if (step.outcome === 'stuck') step.detail = reason;
  planFor(run, cleanupPlan(world, row, null));
};

/** The catalog has a past and a future: prices that ended and that are to come, a dedicated pool and a retired one. */
const seedOffer = (world: World, seedIds: SeedIds): void => {
  const price = (amount_minor: number, days: number, isCancelled = false) => ({
    id: world.mint('price', world.now() - 70 * DAY_MS),
    sku_name: SLICE_SKU,
    gpu_hourly_price: { amount_minor, currency: 'USD' },
    valid_from: world.ago(days * DAY_MS),
    created_by: seedIds.users.operator,
    created_at: world.ago(70 * DAY_MS),
    cancelled_at: isCancelled ? world.ago(20 * DAY_MS) : null,
    ended_at: null,
  });
  world.prices.push(price(520, 65), price(495, -10, true), price(425, -43));
  const pool = (name: string, purpose: string, organization_id: string | null, isRetired: boolean) => ({
    id: world.mint('pool', world.now() - 80 * DAY_MS),
    ...{ name, purpose, organization_id, version: 1 },
    retired_at: isRetired ? world.ago(9 * DAY_MS) : null,
    created_at: world.ago(80 * DAY_MS),
  });
  world.pools.push(
    pool('globex-training', 'Reserved for Globex until March', seedIds.neighbour_id, false),
    pool('pilot', 'Hosts of the pilot', null, true),
  );
};

export const seedDemo = (world: World, seedIds: SeedIds): void => {
  seedOffer(world, seedIds);
  const nodes = buildNodes(world, seedIds);
  seedTenant(world, seedIds, nodes);
  fill(world, seedIds, nodes);
};

/** A thousand hosts, to test scrolling. */
export const seedLarge = (world: World, seedIds: SeedIds, hosts = 1_000): void => {
  seedDemo(world, seedIds);
  const nodes: Node[] = [];
  for (let rack = 30; world.nodes.size < hosts; rack++)
    for (const name of rackNames(`k${rack}`, 16)) {
      if (world.nodes.size >= hosts) break;
      const node = addNode(world, name, world.nodes.size + 1);
      addSlots(world, node, seedIds.users.operator);
      nodes.push(node);
    }
  fill(world, seedIds, nodes);
};
