/**
 * Inventory reports of agents, compared with claims on arrival. Findings are stored with their start time; slots whose
 * devices an unclaimed VM uses are quarantined in the same transaction. Nothing on a host is changed: a VM is removed
 * when an operator requests it by name, and only one with our tag.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { FABRIC_PROVIDERS, type PublicApi, type RequestOf } from '@gpuaas/contract';
import type { NodeBody, NodeResponse, TaskParams } from '@gpuaas/contract/node';
import type { Clock, Log } from '@gpuaas/kit';
import { refuseHostChanges } from '../agents/node-health.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import * as db from '../db/inventory.ts';
import { findNode } from '../db/node.ts';
import { findFabricIsolation } from '../db/node-region.ts';
import { insertTask } from '../db/node-task.ts';
import { noteImagesAvailable } from '../db/os-image-availability.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { quarantineAvailable } from '../db/slot-approval.ts';
import { findOpenTask } from '../db/task-view.ts';
import { datedFindings, type InventoryVerdict, judgeInventory } from '../domain/inventory.ts';
import { nodeDrift } from '../domain/node-event.ts';
import { FUTURE_REPORT, FUTURE_TIME, isFromFuture } from '../domain/report-time.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode } from '../views/node.ts';
import { handleVmsDown } from '../workflows/restart-vm.ts';

export type InventoryDeps = Readonly<{
  database: Database;
  clock: Clock;
  log: Log;
}>;

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const quarantine = async (
  tx: Tx,
  nodeId: string,
  slots: InventoryVerdict['quarantine'],
  correlation_id: string,
): Promise<void> => {
  if (slots.length === 0) return;
  await lockSummary(tx, nodeId);
  for (const { id, reason } of await quarantineAvailable(tx, slots))
    tx.defer(
      insertSystemAudit(tx, {
        organization_id: null,
        project_id: null,
        action: 'slot.quarantine',
        target_kind: 'slot',
        target_id: id,
        policy: 'a VM without a claim uses the devices',
        correlation_id,
        metadata: { node_id: nodeId, reason },
      }),
    );
  await refreshSummary(tx, nodeId);
};

const emitFindings = async (tx: Tx, nodeId: string, findings: readonly db.DatedFinding[], correlationId: string) => {
  const node = await findNode(tx, nodeId);
  if (node === undefined) return;
  const codes = [...new Set(findings.map(({ code }) => code))].toSorted();
  const data = { node_id: nodeId, name: node.name, findings: findings.length, codes };
  tx.defer(insertOutboxEvent(tx, nodeDrift(data, correlationId)));
};

const imageDigests = (content: db.InventoryContent | undefined): string[] =>
  content?.images !== undefined && 'value' in content.images ? content.images.value.map(({ digest }) => digest) : [];

const isSameBut = (a: readonly db.DatedFinding[], b: readonly db.DatedFinding[]): boolean => isDeepStrictEqual(a, b);

export const record = async (
  deps: InventoryDeps,
  nodeId: string,
  { inventory }: NodeBody<'inventoryReport'>,
): Promise<NodeResponse<'inventoryReport'>> => {
  const { database, clock, log } = deps;
  const now = clock.now();
  if (isFromFuture(inventory, now))
    throw new AppError('invalid_request', FUTURE_REPORT, {
      errors: [
        {
          pointer: '/body/inventory/observed_at',
          code: 'future',
          message: FUTURE_TIME,
        },
      ],
    });
  const { observed_at, boot_id, ...content } = inventory;
  const done = await database.write(PLATFORM, async (tx) => {
    const [before, holdings, slots, fabric] = [
      await db.lockInventory(tx, nodeId),
      await db.listHoldings(tx, nodeId),
      await db.listSlotDevices(tx, nodeId),
      await findFabricIsolation(tx, nodeId),
    ];
    if (before !== undefined && Date.parse(before.observed_at) > Date.parse(observed_at)) return null;
    const isolates_fabric = FABRIC_PROVIDERS[fabric].isolates;
    const verdict = judgeInventory({ inventory, holdings, slots, isolates_fabric });
    const findings = datedFindings(verdict.findings, before?.findings ?? [], now.toISOString());
    const is_news = !isSameBut(before?.findings ?? [], findings);
    const is_rebooted = before !== undefined && before.boot_id !== boot_id;
    if (before !== undefined && !is_news && !is_rebooted && isDeepStrictEqual(before.content, content)) {
      await db.touchInventory(tx, nodeId, observed_at);
    } else {
      await db.putInventory(tx, { node_id: nodeId, observed_at, boot_id, content, findings, is_news });
      const known = new Set(imageDigests(before?.content));
      await noteImagesAvailable(
        tx,
        nodeId,
        imageDigests(content).filter((digest) => !known.has(digest)),
      );
    }
    if (is_news) await emitFindings(tx, nodeId, findings, `c-${randomUUID()}`);
    await quarantine(tx, nodeId, verdict.quarantine, `c-${randomUUID()}`);
    if (is_news) tx.wake();
    return { verdict, findings, is_news };
  });
  if (done === null) return { is_accepted: false, unclaimed: [] };
  if (done.is_news && done.findings.length > 0)
    log.warn({ node_id: nodeId, findings: done.findings.slice(0, 20) }, 'host drift found');
  await handleVmsDown(deps, done.verdict.down);
  return { is_accepted: true, unclaimed: [...done.verdict.unclaimed] };
};

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeInventoryGet'>) =>
  ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    const row = await db.findInventory(reader, node.id);
    if (row === undefined) throw notFound('inventory of this node');
    const { vms, leases, repaired } = row.content;
    return {
      node_id: node.id,
      observed_at: row.observed_at,
      received_at: row.received_at,
      age_s: Math.round(Math.max(0, row.age_s)),
      boot_id: row.boot_id,
      findings: row.findings.map((finding) => ({ ...finding, slot_ids: [...finding.slot_ids] })),
      vms,
      leases,
      repaired,
    };
  });

/**
 * By name, from the host's last report. The host checks again, and refuses a VM with a bundle lease or without our tag.
 */
export const vmRemove = async (ctx: WriteCtx, { params, body }: Req<'adminNodeVmRemove'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  const row = await db.findInventory(ctx.tx, node.id);
  const machine = row?.content.vms.find(({ name }) => name === params.vm_name);
  if (machine === undefined) throw notFound('VM on this node');
  if (!machine.is_managed || machine.allocation_id === null) throw conflict(REFUSALS.vm_unmanaged);
  const { allocation_id } = machine;
  if ((await db.listHoldings(ctx.tx, node.id)).some((held) => held.allocation_id === allocation_id))
    throw conflict(REFUSALS.vm_claimed);
  const task = await requestRemoval(ctx, node.id, { allocation_id });
  ctx.note({ machine: machine.name, allocation_id, task_id: task.id, reason: body.reason });
  return task;
};

/** One at a time, and not while an alert blocks changes of the host. */
const requestRemoval = async (ctx: WriteCtx, node_id: string, params: TaskParams<'slice.orphan_remove'>) => {
  await refuseHostChanges(ctx.tx, node_id);
  if ((await findOpenTask(ctx.tx, node_id, 'slice.orphan_remove')) !== undefined)
    throw conflict('A VM removal is already running on this node.');
  const task = await insertTask(ctx.tx, {
    node_id,
    kind: 'slice.orphan_remove',
    params,
    correlation_id: ctx.correlation_id,
  });
  ctx.target('node', node_id);
  ctx.tx.wake();
  return task;
};

/**
 * A bundle lease without a claim, in a database restored from a backup. Its slots may look free here and are not: they
 * are quarantined in the same transaction, and only a proven wipe makes them available.
 */
export const leaseEnd = async (ctx: WriteCtx, { params, body }: Req<'adminNodeBundleLeaseEnd'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  const { allocation_id } = params;
  await lockSummary(ctx.tx, node.id);
  const lease = (await db.findInventory(ctx.tx, node.id))?.content.leases.find(
    (each) => each.allocation_id === allocation_id,
  );
  if (lease === undefined) throw notFound('bundle lease on this node');
  if ((await db.listHoldings(ctx.tx, node.id)).some((held) => held.allocation_id === allocation_id))
    throw conflict(REFUSALS.lease_claimed);
  const task = await requestRemoval(ctx, node.id, { allocation_id, end_lease: true });
  // A host reports only on its own slots.
  const own = (await db.listSlotDevices(ctx.tx, node.id)).filter(({ id }) => lease.slot_ids.includes(id));
  const reason = 'The host had a bundle lease without a claim. Repair the slot.';
  const slots = await quarantineAvailable(
    ctx.tx,
    own.map(({ id }) => ({ slot_id: id, reason })),
  );
  await refreshSummary(ctx.tx, node.id);
  ctx.note({ allocation_id, task_id: task.id, quarantined: slots.map(({ id }) => id), reason: body.reason });
  return task;
};
