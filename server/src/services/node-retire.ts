/**
 * Removal of a node. It is retired first: it must be unoccupied, its agent loses access and its slots become
 * unschedulable in one transaction, so that no launch and no late result of the host finds a partial state. Deleting it
 * then frees its name and its disks for others; its rows stay, because allocations, proofs and audit rows refer to
 * them. It cannot be undone: the same host returns as a new node.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { revokeOwnedDisks } from '../db/disk-ownership.ts';
import { moveNode, type NodeRow } from '../db/node.ts';
import { lockCertificates, revokeCertificates, revokeEnrollments } from '../db/node-certificate.ts';
import { endHost } from '../db/node-host.ts';
import { cancelNodeTasks } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { disableSlots } from '../db/slot-approval.ts';
import { MAY_RETIRE } from '../domain/node-actions.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, nodeView, refuseNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const emitState = (ctx: WriteCtx, node: NodeRow, state: 'retired' | 'deleted', state_reason: string): void =>
  ctx.emit('node.changed', { subject: node.id, data: { node_id: node.id, name: node.name, state, state_reason } });

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminNodeRetire'>) => {
  const { tx } = ctx;
  const { reason } = body;
  const { id } = await getNode(tx, params.node_id);
  await lockCertificates(tx, id);
  await revokeEnrollments(tx, id);
  const certificates_revoked = await revokeCertificates(tx, id, 'The node was retired.');
  const tasks_cancelled = await cancelNodeTasks(tx, id, 'The node was retired.');
  await lockSummary(tx, id);
  const node = await getNode(tx, id);
  await refuseNode(tx, node, 'retire');
  await endHost(tx, id, 'The node was retired.');
  const slots_disabled = await disableSlots(tx, id, 'The node was retired.');
  await moveNode(tx, { id, from: MAY_RETIRE, to: 'retired', reason });
  await refreshSummary(tx, id);
  ctx.note({ state_before: node.state, certificates_revoked, tasks_cancelled, slots_disabled, reason });
  emitState(ctx, node, 'retired', reason);
  return nodeView(ctx, tx, id);
};

const DELETED = 'The node was deleted.';

export const remove = async (ctx: WriteCtx, { params }: Req<'adminNodeDelete'>): Promise<undefined> => {
  const { tx } = ctx;
  await lockSummary(tx, params.node_id);
  const node = await getNode(tx, params.node_id);
  await refuseNode(tx, node, 'delete');
  const slots_disabled = await disableSlots(tx, node.id, DELETED);
  const disks_freed = await revokeOwnedDisks(tx, node.id, DELETED);
  await moveNode(tx, { id: node.id, from: ['retired'], to: 'deleted', reason: DELETED });
  await refreshSummary(tx, node.id);
  ctx.note({ name: node.name, region_name: node.region_name, slots_disabled, disks_freed });
  emitState(ctx, node, 'deleted', DELETED);
};
