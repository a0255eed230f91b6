/**
 * Fabric Manager of a simulated host. It identifies partitions by module ID, allows no module in two active ones, and
 * loses its state when it restarts.
 */
import type { FabricPartition } from '@gpuaas/contract/node';
import { type Fabric, HostError } from '../host.ts';
import type { Core } from './core.ts';
import { functionsNow } from './functions.ts';

const isDead = (core: Core): boolean => {
  if (core.fault('fabric_manager_dead') === undefined) return false;
  if (core.store.read().active_partitions.length > 0) {
    core.store.change((state) => {
      state.active_partitions = [];
    });
  }
  return true;
};

const partitionsOf = (core: Core): readonly FabricPartition[] =>
  (core.profile.fabric?.partitions ?? []).map(({ partition_id, module_ids }) => ({
    partition_id,
    module_ids: [...module_ids],
    is_active: core.store.read().active_partitions.includes(partition_id),
  }));

const getPartition = (core: Core, id: number): FabricPartition => {
  if (core.profile.fabric === null) throw new HostError('unsupported', 'This host has no NVSwitch and no partitions.');
  if (isDead(core)) throw new HostError('host_error', 'Fabric Manager is not running.');
  const partition = partitionsOf(core).find((one) => one.partition_id === id);
  if (partition === undefined) throw new HostError('drift', `Fabric Manager has no partition ${id}.`);
  return partition;
};

const activate = (core: Core, id: number): void => {
  const partition = getPartition(core, id);
  if (partition.is_active) return;
  const other = partitionsOf(core).find(
    (one) => one.is_active && one.module_ids.some((module) => partition.module_ids.includes(module)),
  );
  if (other !== undefined) {
    throw new HostError(
      'conflict',
      `Partition ${id} shares a module with partition ${other.partition_id}, which is active.`,
    );
  }
  core.store.change((state) => {
    state.active_partitions.push(id);
  });
};

export const createFabric = (core: Core): Fabric => ({
  facts: () =>
    core.act('fabric.facts', [], () => {
      const { fabric } = core.profile;
      const isRunning = fabric !== null && !isDead(core);
      return {
        nvswitches: functionsNow(core).flatMap((fn) =>
          fn.vendor_id === '10de' && fn.class_code === '068000' ? [fn.address] : [],
        ),
        manager: {
          is_running: isRunning,
          version: fabric?.manager_version ?? null,
          driver_version: core.fault('fabric_driver_differs') === undefined ? (fabric?.manager_version ?? null) : '1.0',
          mode: isRunning ? ('shared_nvswitch' as const) : null,
          is_restart_mode: true,
        },
        partitions: isRunning ? [...partitionsOf(core)] : [],
      };
    }),
  activate: (id) => core.act('fabric.activate', [], () => activate(core, id)),
  declare: (ids) =>
    core.act('fabric.declare', [], () => {
      for (const id of ids) activate(core, id);
    }),
  deactivate: (id) =>
    core.act('fabric.deactivate', [], () => {
      if (!getPartition(core, id).is_active) return;
      core.store.change((state) => {
        state.active_partitions = state.active_partitions.filter((one) => one !== id);
      });
    }),
});
