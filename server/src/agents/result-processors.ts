/**
 * What becomes of a task's end beside the run that waits for it: one entry for each kind, in the transaction that ends the
 * task. A kind without an entry does not compile.
 *
 * One rule is a trigger of the database instead (`clone_ends`, migration 0016): the params of an image copy lose the
 * tenant's user data however the task ends. It is about every statement that ends tasks, also those that withdraw many of
 * them with a release or a retired node, and none of them may forget it.
 */
import type { HealthReport, TaskKind, TaskOutput } from '@gpuaas/contract/node';
import type { Tx } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { recordHealth } from '../services/health-report.ts';
import { recordDiscovery } from '../services/topology.ts';
import { endClone } from '../workflows/install.ts';

export type ResultProcessor<K extends TaskKind> = Readonly<{
  /**
   * For a completed task whose output has the shape of its kind. A sentence says why the result does not hold: the task has
   * then failed. An error fails the transaction, and the agent reports again.
   */
  completed?(tx: Tx, task: NodeTaskRow, output: TaskOutput<K>, now: Date): Promise<string | undefined>;
  /** However it ended, also by nobody: completed, failed or expired. */
  ended?(tx: Tx, task: NodeTaskRow): Promise<void>;
}>;
export type ResultProcessors = { readonly [K in TaskKind]: ResultProcessor<K> };

const REPORT_AHEAD_MAX_MS = 5 * 60_000;
export const AHEAD = 'The report was observed more than five minutes from now: set the clock of this host.';

/** A report that counts as the newest for long would hide what comes after it. */
export const isAhead = (report: HealthReport, now: Date): boolean =>
  Date.parse(report.observed_at) > now.getTime() + REPORT_AHEAD_MAX_MS;

/** The run that asked for it makes something of it, or nobody has to. */
const NOTHING = {} as const;

export const RESULT_PROCESSORS: ResultProcessors = {
  'diag.health_probe': {
    completed: async (tx, task, { report }, now) => {
      if (isAhead(report, now)) return AHEAD;
      await recordHealth(tx, task.node_id, report);
      return undefined;
    },
  },
  'slice.topology_discover': {
    completed: async (tx, task, output) => {
      await recordDiscovery(tx, task, output);
      return undefined;
    },
  },
  'slice.bundle_lease': NOTHING,
  'image.pull': NOTHING,
  'image.evict': NOTHING,
  'image.verify': NOTHING,
  'slice.image_clone': { ended: endClone },
  'slice.vm_start': NOTHING,
  'slice.vm_readiness': NOTHING,
  'slice.vm_reboot': NOTHING,
  'slice.vm_stop': NOTHING,
  'slice.cleanup': NOTHING,
  'slice.reconcile': NOTHING,
  'slice.orphan_remove': NOTHING,
  'node.cleanup': NOTHING,
  'allocation.provision_user': NOTHING,
  'allocation.install_authorized_keys': NOTHING,
  'allocation.deprovision_user': NOTHING,
  'stream.open': NOTHING,
  'agent.update': NOTHING,
};
