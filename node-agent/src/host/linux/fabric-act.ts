/**
 * Activates and deactivates NVSwitch partitions through Fabric Manager's tool. Its output differs between versions, so
 * only the partition list before and after counts. A partition that would take a module from an active one is refused
 * before the tool runs.
 *
 * A Fabric Manager of another version than the driver trains links that the driver does not understand, and guests wait
 * for their fabric forever. So it must not activate anything.
 */
import type { FabricFacts, FabricPartition } from '@gpuaas/contract/node';
import { type Fabric, HostError } from '../host.ts';
import { listPartitions } from './fabric.ts';
import type { Run } from './run.ts';

/** Links are trained while it runs. */
const ACT_MAX_MS = 120_000;

export const versionProblem = ({ manager }: FabricFacts): string | null =>
  manager.version !== null && manager.driver_version != null && manager.version !== manager.driver_version
    ? `Fabric Manager is ${manager.version} and the driver ${manager.driver_version}; install the same version of both.`
    : null;

const refuseUnusable = (facts: FabricFacts): void => {
  if (facts.nvswitches.length === 0) throw new HostError('unsupported', 'This host has no NVSwitch and no partitions.');
  if (!facts.manager.is_running) throw new HostError('host_error', 'Fabric Manager is not running.');
  if (facts.manager.mode !== 'shared_nvswitch')
    throw new HostError(
      'blocked',
      `Fabric Manager runs in ${facts.manager.mode ?? 'unknown'} mode, not in shared mode.`,
    );
};

const getPartition = (partitions: readonly FabricPartition[], id: number): FabricPartition => {
  const found = partitions.find((one) => one.partition_id === id);
  if (found === undefined) throw new HostError('drift', `Fabric Manager has no partition ${id}.`);
  return found;
};

const refuseConflict = (partitions: readonly FabricPartition[], wanted: FabricPartition): void => {
  const other = partitions.find(
    (one) =>
      one.is_active &&
      one.partition_id !== wanted.partition_id &&
      one.module_ids.some((module) => wanted.module_ids.includes(module)),
  );
  if (other !== undefined)
    throw new HostError(
      'conflict',
      `Partition ${wanted.partition_id} (modules ${wanted.module_ids.join(', ')}) shares a module with partition ${other.partition_id} (modules ${other.module_ids.join(', ')}), which is active.`,
    );
};

export const createFabric = (run: Run, facts: () => Promise<FabricFacts>): Fabric => {
  /** Runs the tool, then trusts only the list. */
  const ask = async (argv: readonly string[], ids: readonly number[], isActive: boolean): Promise<void> => {
    const ran = await run({ argv: ['fmpm', ...argv], recorded: 'fmpm.txt', timeout_ms: ACT_MAX_MS });
    const after = await listPartitions(run);
    const left = ids.filter((id) => getPartition(after, id).is_active !== isActive);
    // If none is named, no list can show whether it was done.
    if (left.length === 0 && (ids.length > 0 || ran.status === 0)) return;
    const said = (ran.stderr || ran.stdout).trim().split('\n').at(-1)?.slice(0, 200) ?? '';
    const state = `partition ${left.join(', ')} is ${isActive ? 'not active' : 'still active'}`;
    throw new HostError(
      'host_error',
      `fmpm ${argv.join(' ')} ended with status ${ran.status}${left.length === 0 ? '' : ` and ${state}`}${said === '' ? '' : `: ${said}`}.`,
    );
  };
  const readUsable = async (isToJoin: boolean): Promise<FabricFacts> => {
    const found = await facts();
    refuseUnusable(found);
    const problem = versionProblem(found);
    if (isToJoin && problem !== null) throw new HostError('drift', problem);
    return found;
  };
  return {
    facts,
    activate: async (id) => {
      const { partitions } = await readUsable(true);
      const wanted = getPartition(partitions, id);
      refuseConflict(partitions, wanted);
      if (!wanted.is_active) await ask(['-a', String(id)], [id], true);
    },
    deactivate: async (id) => {
      const { partitions } = await readUsable(false);
      if (getPartition(partitions, id).is_active) await ask(['-d', String(id)], [id], false);
    },
    declare: async (ids) => {
      const { partitions, manager } = await readUsable(true);
      for (const id of ids) refuseConflict(partitions, getPartition(partitions, id));
      const active = partitions.filter((one) => one.is_active).map((one) => one.partition_id);
      // An active partition shows that the declaration was already made.
      if (active.length > 0 && ids.every((id) => active.includes(id))) return;
      if (manager.is_restart_mode !== true)
        throw new HostError('blocked', 'Declaring partitions in use requires FABRIC_MODE_RESTART=1.');
      const all = [...new Set([...active, ...ids])].sort((a, b) => a - b);
      await ask(['--set-activated-list', all.join(',')], all, true);
    },
  };
};
