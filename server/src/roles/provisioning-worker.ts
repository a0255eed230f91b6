/** The role `gpuaas-provisioning-worker`: the workflows of allocations, slots and disks, and the reconcilers. */
import type { Database } from '../db/client.ts';
import { createNodeCounter } from '../reconcilers/count-nodes.ts';
import { RECONCILERS, sealerDeps } from '../reconcilers/index.ts';
import { createHeadsDisk } from '../reconcilers/measure-heads-disk.ts';
import { compareHeads } from '../reconcilers/seal-audit.ts';
import { addWorkerGauges } from '../telemetry/worker-gauges.ts';
import { createAllocationDeps } from '../workflows/allocation-deps.ts';
import { createRegistry, type Registry } from '../workflows/engine/registry.ts';
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

const startReconcilers = ({ deps, watch, telemetry, startLoop }: RoleContext): void => {
  const nodes = createNodeCounter(deps);
  const headsDisk = createHeadsDisk({ file: deps.config.audit_heads_file, clock: deps.clock });
  addWorkerGauges(telemetry, { nodes, headsDisk });
  for (const { name, interval_ms, create } of RECONCILERS) {
    const turn = create({ ...deps, watch, nodes, headsDisk });
    startLoop({ name, run: async (signal) => void (await turn(signal)), intervalMs: interval_ms });
  }
};

/** Every workflow this process runs. Ended versions stay until their last run has ended. */
export const provisioningWorkflows = (database: Database): Registry => {
  const allocations = createAllocationDeps({ database });
  return createRegistry([
    bind(provisionSlice, allocations),
    bind(provisionBaremetal, allocations),
    bind(releaseAllocation, allocations),
    bind(cleanLeftHost, allocations),
    ...bindPower(allocations),
    bind(installKeys, createKeysDeps({ database })),
    bind(wipeDisk, createDiskDeps(database)),
    bind(repairSlot, createRepairDeps(database)),
  ]);
};

const startWorkflows = ({ deps, hub, loops, shutdown, workflows }: RoleContext): void => {
  const worker = createWorker({
    database: deps.database,
    registry: provisioningWorkflows(deps.database),
    log: deps.log,
    service: 'gpuaas-provisioning-worker',
    hub,
    loops,
    ...workflows,
  });
  worker.start();
  shutdown.add('workflows', () => worker.stop());
};

/** A file that cannot be read stops no work: the sealer reports it at every turn. */
const compareAtStart = async ({ deps }: RoleContext): Promise<void> => {
  try {
    await compareHeads(sealerDeps(deps));
  } catch (err) {
    deps.log.error({ err }, 'the database could not be compared with the heads of its audit log');
  }
};

export const startProvisioningWorker = async (context: RoleContext): Promise<void> => {
  await compareAtStart(context);
  startReconcilers(context);
  startWorkflows(context);
};
