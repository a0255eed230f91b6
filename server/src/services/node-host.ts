/**
 * Operator actions on the host of a node. An operator may name the host that a token is for. A node that has a host keeps
 * it; another host becomes the node only by a rebind, which ends in one transaction everything that was approved or
 * proven about the earlier host, so that nothing of the new one is schedulable before it is discovered, approved and wiped.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { revokeOwnedDisks } from '../db/disk-ownership.ts';
import { moveNode, resetHostFacts } from '../db/node.ts';
import { lockCertificates, revokeCertificates, revokeEnrollments } from '../db/node-certificate.ts';
import { endHost, findHost, listHostOwners, lockHosts, putHost } from '../db/node-host.ts';
import { cancelNodeTasks } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { endSlots } from '../db/slot-approval.ts';
import {
  describeHost,
  hostMismatch,
  knownFields,
  learnHost,
  normalizeHost,
  unusableField,
} from '../domain/host-identity.ts';
import { MAY_RETIRE } from '../domain/node-actions.ts';
import { REASONS } from '../domain/reasons.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, refuseNode } from '../views/node.ts';
import { createEnrollment } from './enrollment.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
type NamedHost = Req<'adminNodeRebind'>['body']['host'];

/** Records the host that an operator named for a node. The caller holds the locks of the node. */
export const nameHost = async (ctx: WriteCtx, nodeId: string, named: NamedHost): Promise<void> => {
  if (named === undefined) return;
  const unusable = unusableField(named);
  if (unusable !== undefined)
    throw new AppError('invalid_request', REFUSALS.host_value_unusable(unusable.name), {
      errors: [{ pointer: `/body/host/${unusable.field}`, code: 'host', message: 'identifies no host' }],
    });
  const given = normalizeHost(named);
  const fields = knownFields(given);
  await lockHosts(ctx.tx);
  const stored = await findHost(ctx.tx, nodeId);
  const isBound = stored !== undefined && stored.bound_at !== null;
  if (isBound && hostMismatch({ host: stored, named: [] }, given) !== null) throw conflict(REFUSALS.host_is_bound);
  const [owner] = await listHostOwners(ctx.tx, nodeId, given);
  if (owner !== undefined) throw conflict(REFUSALS.host_has_node(describeHost(given), owner.name));
  const host = isBound ? learnHost(stored, given) : given;
  await putHost(ctx.tx, { node_id: nodeId, ...host, named: fields, is_bound: false });
  ctx.note({ host: given });
};

const REBOUND = REASONS.rebound;

export const rebind = async (ctx: WriteCtx, { params, body }: Req<'adminNodeRebind'>) => {
  const { tx } = ctx;
  const { id } = await getNode(tx, params.node_id);
  await lockCertificates(tx, id);
  await revokeEnrollments(tx, id);
  const certificates_revoked = await revokeCertificates(tx, id, REBOUND);
  const tasks_cancelled = await cancelNodeTasks(tx, id, REBOUND);
  await lockSummary(tx, id);
  const node = await getNode(tx, id);
  await refuseNode(tx, node, 'rebind');
  await lockHosts(tx);
  await endHost(tx, id, body.reason);
  const slots_disabled = await endSlots(tx, id, REBOUND);
  const disks_freed = await revokeOwnedDisks(tx, id, REBOUND);
  await resetHostFacts(tx, id);
  await moveNode(tx, { id, from: MAY_RETIRE, to: 'bootstrap_issued', reason: REBOUND });
  await refreshSummary(tx, id);
  await nameHost(ctx, id, body.host);
  ctx.target('node', id);
  ctx.note({
    reason: body.reason,
    host_before: node.host,
    certificates_revoked,
    tasks_cancelled,
    slots_disabled,
    disks_freed,
  });
  const data = { node_id: id, name: node.name, state: 'bootstrap_issued', state_reason: REBOUND } as const;
  ctx.emit('node.changed', { subject: id, data });
  return createEnrollment(ctx, id);
};
