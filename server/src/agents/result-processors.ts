/**
 * What happens when a task ends, besides the signal to its run: one entry for each kind, executed in the transaction
 * that ends the task. A kind without an entry does not compile.
 *
 * One rule is a database trigger instead (`clone_ends`, migration 0016): the params of an image copy lose the tenant's
 * user data whenever the task ends. Many statements end tasks, including those of a release or a retired node, and none
 * of them may forget it.
 */
import type { TaskKind, TaskOutput, TaskParams } from '@gpuaas/contract/node';
import type { Tx } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { noteImageFailed, noteImagesAvailable } from '../db/os-image-availability.ts';
import { withdrawsImage } from '../domain/image-default.ts';
import { LAUNCH_SOURCE, RESERVED_SOURCE } from '../domain/launch-failures.ts';
import { FUTURE_REPORT, isFromFuture } from '../domain/report-time.ts';
import { endClone } from '../workflows/install.ts';
import { recordDiscovery } from './discovery.ts';
import { recordHealth } from './node-health.ts';

export type ResultProcessor<K extends TaskKind> = Readonly<{
  /**
   * For a completed task whose output has the shape of its kind. A returned sentence rejects the result: the task
   * counts as failed. An error rolls the transaction back, and the agent reports again.
   */
  completed?(tx: Tx, task: NodeTaskRow, output: TaskOutput<K>, now: Date): Promise<string | undefined>;
  /** Called for every end: completed, failed or expired. */
  ended?(tx: Tx, task: NodeTaskRow): Promise<void>;
}>;
type ResultProcessors = { readonly [K in TaskKind]: ResultProcessor<K> };

const noteFailedPull = async (tx: Tx, task: NodeTaskRow): Promise<void> => {
  const { digest } = (task.params as TaskParams<'image.pull'>).image;
  if (task.state === 'completed' || digest === null) return;
  await noteImageFailed(tx, {
    node_id: task.node_id,
    digest,
    failure: task.state_reason ?? 'The agent gave no reason.',
    withdraws: withdrawsImage(task.error_code),
  });
};

/** The run that created the task handles its result, or nothing has to. */
const NOTHING = {} as const;

export const RESULT_PROCESSORS: ResultProcessors = {
  'diag.health_probe': {
    completed: async (tx, task, { report }, now) => {
      if (isFromFuture(report, now)) return FUTURE_REPORT;
      if (report.source === LAUNCH_SOURCE) return RESERVED_SOURCE;
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
  'image.pull': {
    completed: async (tx, task, { digest }) => {
      await noteImagesAvailable(tx, task.node_id, [digest]);
      return undefined;
    },
    ended: noteFailedPull,
  },
  'image.evict': NOTHING,
  'image.verify': {
    completed: async (tx, task, { is_intact }) => {
      const { digest } = task.params as TaskParams<'image.verify'>;
      if (is_intact) await noteImagesAvailable(tx, task.node_id, [digest]);
      return undefined;
    },
  },
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
