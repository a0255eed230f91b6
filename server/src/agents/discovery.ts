/**
 * What a host found of its hardware is stored apart from slots, with a hash. A candidate is never schedulable. A slot that
 * differs from its approval is unschedulable until it is approved again; its allocation continues.
 */
import { type Candidate, candidateHash, mapHash, type TaskOutput } from '@gpuaas/contract/node';
import type { Tx } from '../db/client.ts';
import { recordBootKinds, recordHostSize, recordRuntimeCheck, setFoundDisks } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { type ApprovedSlot, lockSlots, markDrift } from '../db/slot-approval.ts';
import { insertDiscovery } from '../db/topology.ts';
import { seenGpus } from '../domain/gpu-model.ts';
import { hostSize } from '../domain/host-size.ts';
import { diffOf, pairSlots } from '../domain/topology.ts';
import { refreshSummary } from '../placement/summary.ts';
import { judgeNodeGpus } from './gpu-model.ts';

/** The slots that differ from what discovery found. */
const driftsOf = (slots: readonly ApprovedSlot[], candidates: readonly Candidate[]) =>
  [...pairSlots(slots, candidates)].flatMap(([slot, found]) => {
    if (slot.content === null) return [];
    const drift = diffOf(slot.content, found);
    const isChanged = Object.keys(drift).length > 0 || slot.drift !== null;
    return isChanged ? [{ id: slot.id, drift }] : [];
  });

/** Stores the result of a discovery, in the transaction that ends its task. */
export const recordDiscovery = async (
  tx: Tx,
  task: Readonly<{ id: string; node_id: string }>,
  output: TaskOutput<'slice.topology_discover'>,
): Promise<void> => {
  const { candidates, partitions, prerequisites, reboot_required } = output.map;
  await lockSummary(tx, task.node_id);
  const slots = await lockSlots(tx, task.node_id);
  await insertDiscovery(tx, {
    task_id: task.id,
    node_id: task.node_id,
    // Ours, not the agent's: an approval is by this hash.
    map_hash: mapHash(output.map),
    facts: output.facts,
    map: { partitions, prerequisites },
    reboot_required,
    candidates: candidates.map((content) => ({ content_hash: candidateHash(content), content })),
  });
  const drifts = driftsOf(slots, candidates);
  if (drifts.length > 0) await markDrift(tx, drifts);
  await recordRuntimeCheck(tx, task.node_id, {
    is_passed: prerequisites.every(({ is_met }) => is_met) && !reboot_required,
    reboot_required,
    has_hardware_change: drifts.length > 0,
  });
  await judgeNodeGpus(tx, task.node_id, seenGpus(candidates));
  const { system, disks, boot_kinds } = output.facts;
  // Where they cannot be read, the last known ones stay.
  if ('value' in disks)
    await setFoundDisks(
      tx,
      task.node_id,
      disks.value.filter(({ is_boot }) => !is_boot).map(({ name, serial }) => ({ name, serial })),
    );
  if ('value' in system) await recordHostSize(tx, task.node_id, hostSize(system.value));
  if (boot_kinds !== undefined && 'value' in boot_kinds) await recordBootKinds(tx, task.node_id, boot_kinds.value);
  await refreshSummary(tx, task.node_id);
};
