/**
 * Health of hosts as agents report it and operators override it. A report changes what is schedulable in its own
 * transaction. When many hosts become unhealthy at once the circuit breaker trips: reports are stored and shown, but no
 * more hosts become unschedulable until an operator resets it. Recovery is never held back, and running allocations
 * continue either way.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { HealthReport } from '@gpuaas/contract/node';
import { type AllocationNotices, listNoticesOfNode } from '../db/allocation.ts';
import type { Reader, Tx } from '../db/client.ts';
import * as db from '../db/health-report.ts';
import { setNodeHealth } from '../db/node.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { setSlotHealths } from '../db/slot-approval.ts';
import {
  BREAKER_WINDOW_MIN,
  evaluateHealth,
  HOST_CHANGES_PREVENTED,
  tripsBreaker,
  type Verdict,
} from '../domain/health.ts';
import { noticeChange, noticesOf } from '../domain/notice.ts';
import { conflict } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode } from '../views/node.ts';

/** The combined effect of reports, overrides and slots. */
export const judgeHealth = async (reader: Reader, nodeId: string) => {
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
    verdict: evaluateHealth({ reports, overrides, slots, unallocated, now: new Date() }),
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

type Before = Awaited<ReturnType<typeof judgeHealth>>['slots'];

const changesOf = (slots: Before, verdict: Verdict) =>
  verdict.slots.filter(({ id, health, alerts }) => {
    const before = slots.find((slot) => slot.id === id);
    return before?.health !== health || !isDeepStrictEqual(before.alerts ?? [], alerts);
  });

/** Emits, for the tenants on the node, which notices began and ended. */
const emitNotices = (
  tx: Tx,
  before: readonly AllocationNotices[],
  after: readonly AllocationNotices[],
  cause: string,
) => {
  for (const { id, organization_id, project_id, name, notices } of after) {
    const earlier = before.find((row) => row.id === id)?.notices ?? [];
    const change = noticeChange(noticesOf(earlier), noticesOf(notices));
    if (change === null) continue;
    tx.defer(
      insertOutboxEvent(tx, {
        event_type: 'allocation.notices_changed',
        ...{ organization_id, project_id, subject: id, correlation_id: cause },
        data: { allocation_id: id, name, ...change },
      }),
    );
  }
};

/** Stores the verdict, updates the placement index and informs the tenants. */
export const applyHealth = async (tx: Tx, nodeId: string, correlationId = `c-${randomUUID()}`): Promise<void> => {
  await lockSummary(tx, nodeId);
  const noticesBefore = await listNoticesOfNode(tx, nodeId);
  const node = await getNode(tx, nodeId);
  const { slots, verdict } = await judgeHealth(tx, nodeId);
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
  // An open breaker holds back only changes for the worse.
  const health = isBreakerOpen && verdict.health === 'unhealthy' ? node.health : verdict.health;
  await setNodeHealth(tx, nodeId, { health, alerts: own }, becomesUnhealthy && !isBreakerOpen);
  const reported = isBreakerOpen ? changed.filter((slot) => slot.health !== 'unhealthy') : changed;
  if (reported.length > 0) await setSlotHealths(tx, reported);
  await refreshSummary(tx, nodeId);
  if (noticesBefore.length > 0) emitNotices(tx, noticesBefore, await listNoticesOfNode(tx, nodeId), correlationId);
};

/** Stores a report of a source, in the transaction that accepts it. False if a newer report is stored. */
export const recordHealth = async (tx: Tx, nodeId: string, report: HealthReport): Promise<boolean> => {
  const before = await db.findReport(tx, nodeId, report.source);
  if (!(await db.upsertReport(tx, nodeId, report))) return false;
  // Most reports equal the one before.
  if (before === undefined || before.is_stale || !isDeepStrictEqual(before.alerts, report.alerts))
    await applyHealth(tx, nodeId);
  return true;
};

/** Slots that were approved again stay unschedulable while an alert names them. The circuit breaker does not count them. */
export const markUnhealthySlots = async (tx: Tx, nodeId: string): Promise<void> => {
  const { slots, verdict } = await judgeHealth(tx, nodeId);
  const unhealthy = changesOf(slots, verdict).filter(({ health }) => health === 'unhealthy');
  if (unhealthy.length > 0) await setSlotHealths(tx, unhealthy);
};

/** Destructive work on a host waits while an alert blocks it. */
export const preventsHostChanges = async (reader: Reader, nodeId: string): Promise<boolean> =>
  (await judgeHealth(reader, nodeId)).verdict.prevents.includes('prevent_host_changes');

export const refuseHostChanges = async (reader: Reader, nodeId: string): Promise<void> => {
  if (await preventsHostChanges(reader, nodeId)) throw conflict(HOST_CHANGES_PREVENTED);
};
