/**
 * What a role gets of the process it runs in. A role wires its own part, in a file named for it: its listeners, workflows
 * and reconcilers. It adds what it starts to `shutdown`, which stops everything in reverse order.
 */
import type { LoopWatch, Shutdown } from '@gpuaas/kit';
import type { Deps } from '../context.ts';
import type { Probes } from '../http/probes.ts';
import type { EventHub } from '../ports/events/hub.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';
import type { InvariantWatch } from '../reconcilers/check-invariants.ts';
import type { ReconcilerOptions } from '../reconcilers/reconciler.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { WorkerOptions } from '../workflows/engine/worker.ts';

export type WorkflowOptions = Pick<WorkerOptions, 'at' | 'concurrency' | 'lease_ms'>;

export type RoleContext = Readonly<{
  deps: Deps;
  /** What seals the CA of hosts and the signer of tasks; null in a process that does not sign. */
  trustSecrets: Secrets | null;
  /** Wakes this process alone. */
  hub: EventHub;
  telemetry: Telemetry;
  probes: Probes;
  watch: InvariantWatch;
  /** Every loop is in it, so that one that no longer completes its turns is reported by name. */
  loops: LoopWatch;
  /** Starts a loop that stops with the process. */
  startLoop(loop: Pick<ReconcilerOptions, 'name' | 'run' | 'intervalMs' | 'hub' | 'spacingMs'>): void;
  shutdown: Shutdown;
  /** Password of the laptop users of the embedded issuer. */
  dev_password: string;
  /** Overrides of workflow execution: tests hold runs at a boundary. No process setting reaches this. */
  workflows: WorkflowOptions | undefined;
}>;
