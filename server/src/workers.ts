/** Background work of the roles: the outbox relay, the workflow worker and the reconcilers. Each stops with the process. */
import type { Shutdown } from '@gpuaas/kit';
import type { Deps } from './context.ts';
import type { EventHub } from './ports/events/hub.ts';
import { startListening } from './ports/events/listen.ts';
import { createNatsPublisher } from './ports/events/nats.ts';
import { createHeadsFile } from './ports/objects/heads-file.ts';
import { purgeExpired } from './reconcilers/purge-expired.ts';
import { startReconciler } from './reconcilers/reconciler.ts';
import { relayOutbox } from './reconcilers/relay-outbox.ts';
import { sealAudit } from './reconcilers/seal-audit.ts';
import { createRegistry } from './workflows/engine/registry.ts';
import { createWorker } from './workflows/engine/worker.ts';

const RELAY_INTERVAL_MS = 200;
const SEAL_INTERVAL_MS = 250;
const PURGE_INTERVAL_MS = 60_000;

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

const startReconcilers = (deps: Deps, shutdown: Shutdown): void => {
  const { database, log, config, secrets } = deps;
  const heads = createHeadsFile({ file: config.audit_heads_file, seed: secrets.derive('audit-heads', 32) });
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
  ];
  for (const loop of loops) {
    const reconciler = startReconciler({ ...loop, log, signal: shutdown.signal });
    shutdown.add(loop.name, () => reconciler.stop());
  }
};

/** Workflows register here as their issues land; an empty registry still ends runs whose deadline has passed. */
const startWorkflows = (deps: Deps, hub: EventHub, shutdown: Shutdown): void => {
  const worker = createWorker({
    database: deps.database,
    registry: createRegistry([]),
    log: deps.log,
    service: 'gpuaas-provisioning-worker',
    hub,
  });
  worker.start();
  shutdown.add('workflows', () => worker.stop());
};

/** `hub` wakes this process alone: what was heard from another process must not be told to it again. */
export const startWorkers = (deps: Deps, hub: EventHub, shutdown: Shutdown): void => {
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
  startReconcilers(deps, shutdown);
  startWorkflows(deps, hub, shutdown);
};
