/**
 * Disks that an operator approves for wiping, or excludes from it. The disk must have been discovered on that node, and must
 * not be its boot disk.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import type { HostFacts } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { refuseHostChanges } from '../agents/node-health.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/disk-ownership.ts';
import { declareDataDisk } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { findNewestFacts } from '../db/topology.ts';
import { whyNotErase, whyNotExclude } from '../domain/disk-use.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { callerId, onlyText } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode } from '../views/node.ts';
import { dataDisk, endElsewhere } from '../workflows/device-proofs.ts';
import { startRun } from '../workflows/engine/run.ts';
import { wipeDisk } from '../workflows/wipe-disk.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const view = ({ correlation_id: _, size_bytes: __, ...row }: db.DiskOwnershipRow) => row;

export const list = (ctx: ReadCtx, { params, query }: Req<'adminNodeDiskList'>) =>
  ctx.read(async (reader) => {
    const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
    const after = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
    const node = await getNode(reader, params.node_id);
    return pageOf(
      ctx,
      limit,
      await db.listOwnerships(reader, node.id, { after, limit: limit + 1 }),
      (row) => [row.id],
      view,
    );
  });

const seenDisk = (facts: HostFacts | undefined, serial: string) => {
  if (facts === undefined) throw conflict(REFUSALS.no_discovery);
  if (!('value' in facts.disks)) throw conflict(`The disks of this node could not be read: ${facts.disks.unreadable}`);
  const disk = facts.disks.value.find((found) => found.serial === serial);
  if (disk === undefined) throw conflict(REFUSALS.no_such_disk);
  if (disk.is_boot)
    throw conflict('The host boots from this disk. It cannot be wiped, and it keeps no node from being allocated.');
  if (disk.device === null)
    throw conflict('The disk has no stable name under /dev/disk/by-id, so it cannot be identified.');
  return { ...disk, device: disk.device };
};

export const own = async (ctx: WriteCtx, { params, body }: Req<'adminNodeDiskApprove'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await refuseHostChanges(ctx.tx, node.id);
  const disk = seenDisk((await findNewestFacts(ctx.tx, node.id)) as HostFacts | undefined, body.serial);
  if (disk.size_bytes === 0) throw conflict('The disk reports no size, so a wipe of it cannot be proven.');
  await lockSummary(ctx.tx, node.id);
  const { size_bytes } = disk;
  // This wipes nothing, so it is also possible while a tenant has the disk: its cleanup needs the size.
  const completed = await db.recordDiskSize(ctx.tx, { node_id: node.id, serial: body.serial, size_bytes });
  if (completed !== undefined) {
    const { serial, device } = completed;
    if (completed.state === 'owned') await declareDataDisk(ctx.tx, node.id, { serial, device, size_bytes });
    ctx.target('disk_ownership', completed.id);
    ctx.note({ serial, size_bytes, reason: body.reason });
    return view(completed);
  }
  // A disk of a host that is not what it is sold as would become part of the offer.
  if (node.gpu_model_conflict !== null) throw conflict(node.gpu_model_conflict);
  const reason = whyNotErase(await db.findDiskUse(ctx.tx, node.id, body.serial));
  if (reason !== undefined) throw conflict(reason);
  const row = await db.insertOwnership(ctx.tx, {
    id: mintId(ID_PREFIXES.disk_ownership),
    node_id: node.id,
    region_name: node.region_name,
    serial: body.serial,
    device: disk.device,
    size_bytes,
    state: 'approved',
    approved_by: callerId(ctx),
    reason: body.reason,
    correlation_id: ctx.correlation_id,
  });
  if (row === undefined) {
    if (await db.isExcluded(ctx.tx, node.id, body.serial)) throw conflict(REFUSALS.disk_excluded);
    throw new AppError('already_exists', REFUSALS.disk_approved);
  }
  await endElsewhere(ctx.tx, node.id, dataDisk(row));
  const start = {
    workflow: wipeDisk,
    subject_id: row.id,
    organization_id: null,
    project_id: null,
    correlation_id: ctx.correlation_id,
  };
  const run = await startRun(ctx.tx, start);
  ctx.target('disk_ownership', row.id);
  ctx.note({ serial: row.serial, workflow_run_id: run.id, reason: body.reason });
  return view(row);
};

export const exclude = async (ctx: WriteCtx, { params, body }: Req<'adminNodeDiskExclude'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await refuseHostChanges(ctx.tx, node.id);
  const disk = seenDisk((await findNewestFacts(ctx.tx, node.id)) as HostFacts | undefined, body.serial);
  await lockSummary(ctx.tx, node.id);
  const reason = whyNotExclude(await db.findDiskUse(ctx.tx, node.id, body.serial));
  if (reason !== undefined) throw conflict(reason);
  const row = await db.insertOwnership(ctx.tx, {
    id: mintId(ID_PREFIXES.disk_ownership),
    node_id: node.id,
    region_name: node.region_name,
    serial: body.serial,
    device: disk.device,
    size_bytes: disk.size_bytes === 0 ? null : disk.size_bytes,
    state: 'excluded',
    approved_by: callerId(ctx),
    reason: body.reason,
    correlation_id: ctx.correlation_id,
  });
  if (row === undefined) throw new AppError('already_exists', REFUSALS.disk_has_decision);
  await endElsewhere(ctx.tx, node.id, dataDisk(row));
  await refreshSummary(ctx.tx, node.id);
  ctx.target('disk_ownership', row.id);
  ctx.note({ serial: row.serial, reason: body.reason });
  return view(row);
};

export const revoke = async (ctx: WriteCtx, { params, body }: Req<'adminNodeDiskRevoke'>) => {
  const before = await db.findOwnership(ctx.tx, params.disk_ownership_id);
  if (before === undefined || before.node_id !== params.node_id) throw notFound('disk ownership');
  await lockSummary(ctx.tx, before.node_id);
  const from = ['approved', 'blocked', 'excluded'] as const;
  const row = await db.moveOwnership(ctx.tx, { id: before.id, from, to: 'revoked', reason: body.reason });
  if (row === undefined) throw conflict(REFUSALS.disk_not_revocable(before.state));
  // Without its exclusion the disk keeps the whole node from being allocated.
  await refreshSummary(ctx.tx, before.node_id);
  ctx.target('disk_ownership', row.id);
  ctx.note({ serial: row.serial, state_before: before.state, reason: body.reason });
  return view(row);
};
