/** Background work of the roles: the outbox relay, the workflow worker and the reconcilers. Each stops with the process. */
import type { Shutdown } from '@gpuaas/kit';
import { ensureTrustKeys } from '../agents/trust.ts';
import type { Deps } from '../context.ts';
import { PLATFORM, type Tx } from '../db/client.ts';
import type { EventHub } from '../ports/events/hub.ts';
import { startListening } from '../ports/events/listen.ts';
import { createNatsPublisher } from '../ports/events/nats.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import type { InvariantWatch } from '../reconcilers/check-invariants.ts';
import { createCapacityCounter } from '../reconcilers/count-capacity.ts';
import { endGrace } from '../reconcilers/end-grace.ts';
import { keepLogPartitions } from '../reconcilers/keep-log-partitions.ts';
import { markOffline } from '../reconcilers/mark-offline.ts';
import { purgeExpired } from '../reconcilers/purge-expired.ts';
import { startReconciler } from '../reconcilers/reconciler.ts';
import { relayOutbox } from '../reconcilers/relay-outbox.ts';
import { releaseDue } from '../reconcilers/release-due.ts';
import { revokeGrants } from '../reconcilers/revoke-grants.ts';
import { sampleCapacity } from '../reconcilers/sample-capacity.ts';
import { sealAudit } from '../reconcilers/seal-audit.ts';
import { revokeLostGrant, sendPendingKeys, type TakeBack } from '../workflows/access-grant.ts';
import { createAllocationDeps } from '../workflows/allocation-deps.ts';
import { beginRelease } from '../workflows/begin-release.ts';
import { createRegistry } from '../workflows/engine/registry.ts';
import { createWorker, type WorkerOptions } from '../workflows/engine/worker.ts';
import { bind } from '../workflows/engine/workflow.ts';
import { expireOverdueTasks } from '../workflows/finish-task.ts';
import { createKeysDeps, installKeys } from '../workflows/install-keys.ts';
import { createDiskDeps, ownDisk } from '../workflows/own-disk.ts';
import { bindPower } from '../workflows/power-slice.ts';
import { provisionBaremetal } from '../workflows/provision-baremetal.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';
import { releaseAllocation } from '../workflows/release-allocation.ts';
import { createRepairDeps, repairSlot } from '../workflows/repair-slot.ts';

const RELAY_INTERVAL_MS = 200;
const SEAL_INTERVAL_MS = 250;
const PURGE_INTERVAL_MS = 60_000;
const RELEASE_DUE_INTERVAL_MS = 2_000;
const EXPIRE_TASKS_INTERVAL_MS = 5_000;
const COUNT_CAPACITY_INTERVAL_MS = 1_000;
/** It samples every five minutes by the clock: this is how soon after the mark. */
const SAMPLE_CAPACITY_INTERVAL_MS = 10_000;
const CHECK_INVARIANTS_INTERVAL_MS = 60_000;
const MARK_OFFLINE_INTERVAL_MS = 2_000;
const END_GRACE_INTERVAL_MS = 10_000;
const FOLLOW_GRANTS_INTERVAL_MS = 5_000;
const ENSURE_KEYS_INTERVAL_MS = 60_000;
const LOG_PARTITIONS_INTERVAL_MS = 3_600_000;
const BATCH_ROWS = 100;

const startRelay = (deps: Deps, hub: EventHub, shutdown: Shutdown): void => {
  const { database, log, config } = deps;
  const publisher = config.nats_url === null ? null : createNatsPublisher({ url: config.nats_url });
  const relay = startReconciler({
    name: 'relay-outbox',
    run: (signal) => relayOutbox({ database, publisher, hub }, signal),
    intervalMs: RELAY_INTERVAL_MS,
    hub,
    log,
    signal: shutdown.signal,
  });
  shutdown.add('nats', () => publisher?.close());
  shutdown.add('relay-outbox', () => relay.stop());
};

const startReconcilers = (deps: Deps, watch: InvariantWatch, shutdown: Shutdown): void => {
  const { database, log, config, secrets } = deps;
  const wake = () => deps.events.wake();
  const heads = createHeadsFile({ file: config.audit_heads_file, seed: secrets.derive('audit-heads', 32) });
  const capacity = createCapacityCounter({ database });
  const loops = [
    {
      name: 'seal-audit',
      run: (signal: AbortSignal) => sealAudit({ database, heads }, signal),
      intervalMs: SEAL_INTERVAL_MS,
    },
    {
      name: 'purge-expired',
      run: (signal: AbortSignal) => purgeExpired({ database }, signal),
      intervalMs: PURGE_INTERVAL_MS,
    },
    {
      name: 'release-due',
      run: async (signal: AbortSignal) => {
        const release = (tx: Tx, allocation_id: string, reason: string) =>
          beginRelease(tx, { allocation_id, reason }, wake);
        await releaseDue({ database, release }, signal);
      },
      intervalMs: RELEASE_DUE_INTERVAL_MS,
    },
    {
      name: 'expire-tasks',
      run: async () => {
        await database.write(PLATFORM, (tx) => expireOverdueTasks(tx, BATCH_ROWS, wake));
      },
      intervalMs: EXPIRE_TASKS_INTERVAL_MS,
    },
    { name: 'count-capacity', run: capacity.run, intervalMs: COUNT_CAPACITY_INTERVAL_MS },
    { name: 'sample-capacity', run: () => sampleCapacity({ database }), intervalMs: SAMPLE_CAPACITY_INTERVAL_MS },
    {
      name: 'mark-offline',
      run: async (signal: AbortSignal) => void (await markOffline({ database, wake }, signal)),
      intervalMs: MARK_OFFLINE_INTERVAL_MS,
    },
    {
      // Also by a process that talks to no agent: who serves the API signs certificates of erasure.
      name: 'ensure-trust-keys',
      run: async () => {
        await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock: deps.clock }));
      },
      intervalMs: ENSURE_KEYS_INTERVAL_MS,
    },
    {
      name: 'end-grace',
      run: async () => void (await endGrace({ database })),
      intervalMs: END_GRACE_INTERVAL_MS,
    },
    {
      name: 'revoke-grants',
      run: (signal: AbortSignal) => {
        const takeBack = (tx: Tx, lost: TakeBack) => revokeLostGrant(tx, lost, wake);
        const tell = (tx: Tx, allocationId: string) => sendPendingKeys(tx, allocationId, wake);
        return revokeGrants({ database, workflow: installKeys.name, takeBack, tell }, signal);
      },
      intervalMs: FOLLOW_GRANTS_INTERVAL_MS,
    },
    {
      name: 'keep-log-partitions',
      run: async () => void (await keepLogPartitions({ database, days: config.log_days })),
      intervalMs: LOG_PARTITIONS_INTERVAL_MS,
    },
    { name: 'check-invariants', run: watch.run, intervalMs: CHECK_INVARIANTS_INTERVAL_MS },
  ];
  for (const loop of loops) {
    const reconciler = startReconciler({ ...loop, log, signal: shutdown.signal });
    shutdown.add(loop.name, () => reconciler.stop());
  }
};

export type WorkflowOptions = Pick<WorkerOptions, 'at' | 'concurrency' | 'lease_ms'>;

type Starting = Readonly<{
  /** Wakes this process alone: what was heard from another process must not be told to it again. */
  hub: EventHub;
  watch: InvariantWatch;
  shutdown: Shutdown;
  workflows: WorkflowOptions | undefined;
}>;

/** Every workflow this process runs. Ended versions stay until their last run has ended. */
const startWorkflows = (deps: Deps, { hub, shutdown, workflows }: Starting): void => {
  const allocations = createAllocationDeps({ database: deps.database, wake: () => deps.events.wake() });
  const worker = createWorker({
    database: deps.database,
    registry: createRegistry([
      bind(provisionSlice, allocations),
      bind(provisionBaremetal, allocations),
      bind(releaseAllocation, allocations),
      ...bindPower(allocations),
      bind(installKeys, createKeysDeps({ database: deps.database })),
      bind(ownDisk, createDiskDeps(deps.database)),
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

export const startWorkers = (deps: Deps, starting: Starting): void => {
  const { hub, watch, shutdown } = starting;
  const { roles } = deps.config;
  const listener = startListening({
    database: deps.database,
    hub,
    log: deps.log,
    signal: shutdown.signal,
  });
  shutdown.add('event notifications', () => listener.stop());
  if (roles.includes('gpuaas-outbox-relay')) startRelay(deps, hub, shutdown);
  if (!roles.includes('gpuaas-provisioning-worker')) return;
  startReconcilers(deps, watch, shutdown);
  startWorkflows(deps, starting);
};
