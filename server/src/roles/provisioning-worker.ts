/** The role `gpuaas-provisioning-worker`: the workflows of allocations, slots and disks, and the reconcilers. */
import { RECONCILERS } from '../reconcilers/index.ts';
import { startReconciler } from '../reconcilers/reconciler.ts';
import { createAllocationDeps } from '../workflows/allocation-deps.ts';
import { createRegistry } from '../workflows/engine/registry.ts';
import { createWorker } from '../workflows/engine/worker.ts';
import { bind } from '../workflows/engine/workflow.ts';
import { createKeysDeps, installKeys } from '../workflows/install-keys.ts';
import { bindPower } from '../workflows/power-slice.ts';
import { provisionBaremetal } from '../workflows/provision-baremetal.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';
import { cleanLeftHost, releaseAllocation } from '../workflows/release-allocation.ts';
import { createRepairDeps, repairSlot } from '../workflows/repair-slot.ts';
import { createDiskDeps, wipeDisk } from '../workflows/wipe-disk.ts';
import type { RoleContext } from './role.ts';

const startReconcilers = ({ deps, watch, shutdown }: RoleContext): void => {
  for (const { name, interval_ms, create } of RECONCILERS) {
    const turn = create({ ...deps, watch });
    const run = async (signal: AbortSignal): Promise<void> => void (await turn(signal));
    const reconciler = startReconciler({ name, run, intervalMs: interval_ms, log: deps.log, signal: shutdown.signal });
    shutdown.add(name, () => reconciler.stop());
  }
};

/** Every workflow this process runs. Ended versions stay until their last run has ended. */
const startWorkflows = ({ deps, hub, shutdown, workflows }: RoleContext): void => {
  const allocations = createAllocationDeps({ database: deps.database });
  const worker = createWorker({
    database: deps.database,
    registry: createRegistry([
      bind(provisionSlice, allocations),
      bind(provisionBaremetal, allocations),
      bind(releaseAllocation, allocations),
      bind(cleanLeftHost, allocations),
      ...bindPower(allocations),
      bind(installKeys, createKeysDeps({ database: deps.database })),
      bind(wipeDisk, createDiskDeps(deps.database)),
      bind(repairSlot, createRepairDeps(deps.database)),
    ]),
    log: deps.log,
    service: 'gpuaas-provisioning-worker',
    hub,
    ...workflows,
  });
  worker.start();
  shutdown.add('workflows', () => worker.stop());
};

export const startProvisioningWorker = (context: RoleContext): void => {
  startReconcilers(context);
  startWorkflows(context);
};
