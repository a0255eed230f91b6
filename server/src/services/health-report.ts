/**
 * Health of hosts as reported and as operators say otherwise. A report changes what is schedulable in its own
 * transaction. When a wave of hosts falls ill at once the breaker trips: reports are kept and shown, but nothing more
 * is taken out of sale until a person has looked. Getting well is never held back, and nothing that runs is touched
 * either way.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { HealthReport } from '@gpuaas/contract/node';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import * as db from '../db/health-report.ts';
import { setNodeHealth } from '../db/node.ts';
import { insertTask } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { setSlotHealths } from '../db/slot-approval.ts';
import { findOpenTask } from '../db/task-view.ts';
import {
  BREAKER_WINDOW_MIN,
  evaluateHealth,
  HOST_CHANGES_PREVENTED,
  tripsBreaker,
  type Verdict,
} from '../domain/health.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, notFound } from '../errors.ts';
import { callerId, resourceChanged } from '../pipeline/caller.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, refuseNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const judge = async (reader: Reader, nodeId: string) => {
  const [reports, overrides, slots, unallocated] = await Promise.all([
    db.listReports(reader, nodeId),
    db.listOverrides(reader, nodeId),
    db.listSlotHealth(reader, nodeId),
    db.listUnallocatedTargets(reader, nodeId),
  ]);
  return {
    reports,
    overrides,
    slots,
    verdict: evaluateHealth({ reports, overrides, slots, unallocated: unallocated, now: new Date() }),
  };
};

/** True while one more host may be taken unschedulable; trips the breaker when that would be one too many. */
const canBecomeUnhealthy = async (tx: Tx, wasUnhealthy: boolean): Promise<boolean> => {
  const breaker = await db.lockBreaker(tx);
  if (breaker?.is_tripped === true) return false;
  // It has been counted.
  if (wasUnhealthy) return true;
  const { fallen, nodes } = await db.countNewlyUnhealthy(tx, BREAKER_WINDOW_MIN);
  if (!tripsBreaker(fallen + 1, nodes)) return true;
  await db.tripBreaker(tx, `${fallen + 1} of ${nodes} hosts became unhealthy within ${BREAKER_WINDOW_MIN} minutes.`);
  return false;
};

type Before = Awaited<ReturnType<typeof judge>>['slots'];

const changesOf = (slots: Before, verdict: Verdict) =>
  verdict.slots.filter(({ id, health, alerts }) => {
    const before = slots.find((slot) => slot.id === id);
    return before?.health !== health || !isDeepStrictEqual(before.alerts ?? [], alerts);
  });

/** Makes what counts true for placement. */
const apply = async (tx: Tx, nodeId: string): Promise<void> => {
  await lockSummary(tx, nodeId);
  const node = await getNode(tx, nodeId);
  const { slots, verdict } = await judge(tx, nodeId);
  const changed = changesOf(slots, verdict);
  const isChanged = node.health !== verdict.health;
  const becomesUnhealthy =
    (isChanged && verdict.health === 'unhealthy') ||
    changed.some(
      ({ id, health }) => health === 'unhealthy' && slots.find((slot) => slot.id === id)?.health !== 'unhealthy',
    );
  const wasUnhealthy = node.health === 'unhealthy' || slots.some(({ health }) => health === 'unhealthy');
  const isBreakerOpen = becomesUnhealthy && !(await canBecomeUnhealthy(tx, wasUnhealthy));
  const own = verdict.alerts.filter((alert) => !verdict.slots.some((slot) => slot.alerts.includes(alert)));
  // Getting well is told even while falling ill is held back.
  const health = isBreakerOpen && verdict.health === 'unhealthy' ? node.health : verdict.health;
  await setNodeHealth(tx, nodeId, { health, alerts: own }, becomesUnhealthy && !isBreakerOpen);
  const reported = isBreakerOpen ? changed.filter((slot) => slot.health !== 'unhealthy') : changed;
  if (reported.length > 0) await setSlotHealths(tx, reported);
  await refreshSummary(tx, nodeId);
};

/**
 * What a source says about a node, in the transaction that takes the report. False when it is older than what is known.
 */
export const recordHealth = async (tx: Tx, nodeId: string, report: HealthReport): Promise<boolean> => {
  const before = await db.findReport(tx, nodeId, report.source);
  if (!(await db.upsertReport(tx, nodeId, report))) return false;
  // Most reports say what the one before said.
  if (before === undefined || before.is_stale || !isDeepStrictEqual(before.alerts, report.alerts))
    await apply(tx, nodeId);
  return true;
};

/**
 * Slots that were written again are not schedulable while an alert is about them; nobody is told to fall ill by that.
 */
export const markUnhealthySlots = async (tx: Tx, nodeId: string): Promise<void> => {
  const { slots, verdict } = await judge(tx, nodeId);
  const unhealthy = changesOf(slots, verdict).filter(({ health }) => health === 'unhealthy');
  if (unhealthy.length > 0) await setSlotHealths(tx, unhealthy);
};

/** Destructive work on a host waits while an alert says so. */
export const preventsHostChanges = async (reader: Reader, nodeId: string): Promise<boolean> =>
  (await judge(reader, nodeId)).verdict.prevents.includes('prevent_host_changes');

export const refuseHostChanges = async (reader: Reader, nodeId: string): Promise<void> => {
  if (await preventsHostChanges(reader, nodeId)) throw conflict(HOST_CHANGES_PREVENTED);
};

const view = (nodeId: string, { reports, overrides, slots, verdict }: Awaited<ReturnType<typeof judge>>) => ({
  node_id: nodeId,
  health: verdict.health,
  prevents: [...verdict.prevents],
  alerts: [...verdict.alerts],
  reports,
  overrides: overrides.map(({ alerts, muted_alert_ids, ...rest }) => ({
    ...rest,
    alerts: [...alerts],
    muted_alert_ids: [...muted_alert_ids],
  })),
  slots: verdict.slots.map(({ id, health, alerts }) => ({
    slot_id: id,
    slot_index: slots.find((slot) => slot.id === id)?.slot_index ?? 0,
    health,
    alerts: [...alerts],
  })),
});

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeHealthGet'>) =>
  ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    return view(node.id, await judge(reader, node.id));
  });

export const probe = async (ctx: WriteCtx, { params }: Req<'adminNodeHealthProbe'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await refuseNode(ctx.tx, node, 'probe');
  const task =
    (await findOpenTask(ctx.tx, node.id, 'diag.health_probe')) ??
    (await insertTask(ctx.tx, {
      node_id: node.id,
      kind: 'diag.health_probe',
      params: {},
      correlation_id: ctx.correlation_id,
    }));
  ctx.target('node', node.id);
  ctx.tx.wake();
  return task;
};

export const overridePut = async (ctx: WriteCtx, { params, body }: Req<'adminNodeHealthOverridePut'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await db.putOverride(ctx.tx, node.id, { source: params.source, ...body, created_by: callerId(ctx) });
  await apply(ctx.tx, node.id);
  ctx.target('node', node.id);
  ctx.note({ source: params.source, mode: body.mode, muted: body.muted_alert_ids, reason: body.reason });
  return view(node.id, await judge(ctx.tx, node.id));
};

export const overrideDelete = async (ctx: WriteCtx, { params }: Req<'adminNodeHealthOverrideDelete'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  if (!(await db.deleteOverride(ctx.tx, node.id, params.source))) throw notFound('override');
  await apply(ctx.tx, node.id);
  ctx.target('node', node.id);
  ctx.note({ source: params.source });
  return undefined;
};

const getBreaker = async (reader: Reader): Promise<db.BreakerRow> => {
  const row = await db.findBreaker(reader);
  if (row === undefined) throw new Error('the breaker has one row');
  return row;
};

export const breakerGet = (ctx: ReadCtx) => ctx.read(getBreaker);

export const breakerReset = async (ctx: WriteCtx, { body, if_match }: Req<'adminHealthBreakerReset'>) => {
  const before = await getBreaker(ctx.tx);
  if (before.version === if_match && !before.is_tripped) throw conflict(REFUSALS.breaker_not_tripped);
  const row = await db.resetBreaker(ctx.tx, if_match, callerId(ctx));
  if (row === undefined) throw resourceChanged(before.version);
  ctx.target('health_breaker', 'health');
  ctx.note({ tripped_at: before.tripped_at, tripped_because: before.reason, reason: body.reason });
  return row;
};
