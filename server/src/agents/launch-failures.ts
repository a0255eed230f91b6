/**
 * Counts launches that fail on a host, in the transaction that ends their task: the score, the alert and the event follow
 * from the count. A launch whose last host task completed ends the count, except where placement has stopped: one of
 * several launches that were under way proves too little.
 *
 * A refused image is counted later: against the host that refused it, once another host has copied the same image. If a
 * second host refuses it, an audit row names the image version and the hosts, and no host is counted.
 */
import { type ImageRefusal, listDisproved, listImageRefusals } from '../db/allocation-move.ts';
import { insertSystemAudit } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { addLaunchFailure, clearLaunchFailures, type LaunchFailures } from '../db/node.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { findLaunchOfTask, type LaunchOfTask } from '../db/run-task.ts';
import { isStopped, launchReport } from '../domain/launch-failures.ts';
import { isHostAtFault, isImageAtFault } from '../domain/launch-move.ts';
import { nodeLaunchFailures } from '../domain/node-event.ts';
import { pathOf, taskKindOf } from '../domain/workflow-declaration.ts';
import { PROVISION_BAREMETAL, PROVISION_SLICE } from '../domain/workflow-steps.ts';
import { recordHealth } from './node-health.ts';

const LAUNCHES = [PROVISION_SLICE, PROVISION_BAREMETAL];
const WORKFLOWS = LAUNCHES.map(({ name }) => name);
/** The host has done its part when one of these completed. */
const LAST_KINDS: ReadonlySet<string> = new Set(
  LAUNCHES.map(
    (launch) =>
      pathOf(launch)
        .flatMap(([, step]) => taskKindOf(step, 'gpu_slice') ?? [])
        .at(-1) ?? '',
  ),
);

const report = async (tx: Tx, node: LaunchFailures, reason: string, correlation_id: string): Promise<void> => {
  await recordHealth(tx, node.id, launchReport(node.launch_failures, reason, node.at));
  const { id: node_id, name, launch_failures } = node;
  const data = { node_id, name, launch_failures, is_placement_stopped: isStopped(launch_failures), reason };
  tx.defer(insertOutboxEvent(tx, nodeLaunchFailures(data, correlation_id)));
};

/** Forgets the failures of a locked node. False when there are none. */
export const forgetLaunchFailures = async (
  tx: Tx,
  nodeId: string,
  why: Readonly<{ reason: string; correlation_id: string }>,
): Promise<boolean> => {
  const node = await clearLaunchFailures(tx, nodeId);
  if (node !== undefined) await report(tx, node, why.reason, why.correlation_id);
  return node !== undefined;
};

const fail = async (tx: Tx, task: ImageRefusal): Promise<void> => {
  const { node_id, correlation_id } = task;
  const reason = task.state_reason ?? 'The agent gave no reason.';
  await lockSummary(tx, node_id);
  const node = await addLaunchFailure(tx, node_id);
  if (node === undefined) return;
  await report(tx, node, reason, correlation_id);
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: null,
      project_id: null,
      action: 'node.launch_failures.count',
      target_kind: 'node',
      target_id: node_id,
      policy: 'a launch failed on the host',
      correlation_id,
      metadata: { task_id: task.id, kind: task.kind, launch_failures: node.launch_failures },
    }),
  );
};

/** For operators: the tenant is only asked to choose another image. */
const blameImage = (
  tx: Tx,
  task: NodeTaskRow,
  { image_name, image_digest }: LaunchOfTask,
  earlier: readonly ImageRefusal[],
): void =>
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: null,
      project_id: null,
      action: 'image.refuse',
      target_kind: 'image',
      target_id: image_name,
      policy: 'hosts refused the image',
      correlation_id: task.correlation_id,
      metadata: {
        digest: image_digest,
        node_ids: [...earlier, task].map(({ node_id }) => node_id),
        task_ids: [...earlier, task].map(({ id }) => id),
      },
    }),
  );

export const noteLaunchTask = async (tx: Tx, task: NodeTaskRow): Promise<void> => {
  const isGood = task.state === 'completed';
  const isCopy = task.kind === 'slice.image_clone';
  if (task.workflow_run_id === null || (isGood && !isCopy && !LAST_KINDS.has(task.kind))) return;
  const launch = await findLaunchOfTask(tx, task.id, WORKFLOWS);
  if (launch === undefined) return;
  const { launch_failures, has_user_data } = launch;
  const kind = task.kind as Parameters<typeof isHostAtFault>[0]['kind'];
  if (!isGood) {
    const refusals = await listImageRefusals(tx, task.allocation_id ?? '');
    const failed = { kind, error_code: task.error_code, has_user_data, image_refusals: refusals.length };
    if (isHostAtFault(failed)) await fail(tx, task);
    if (isImageAtFault(failed)) blameImage(tx, task, launch, refusals);
  } else if (isCopy) {
    for (const refusal of await listDisproved(tx, task)) await fail(tx, refusal);
  } else if (launch_failures > 0 && !isStopped(launch_failures)) {
    await lockSummary(tx, task.node_id);
    await forgetLaunchFailures(tx, task.node_id, {
      reason: 'A launch succeeded on the host.',
      correlation_id: task.correlation_id,
    });
  }
};
