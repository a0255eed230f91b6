/**
 * Health of hosts for operators: reports, overrides and the circuit breaker. The rules are in `agents/node-health.ts`.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { applyHealth, judgeHealth } from '../agents/node-health.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import * as db from '../db/health-report.ts';
import { insertTask } from '../db/node-task.ts';
import { findOpenTask } from '../db/task-view.ts';
import { messageNamingHost, NAMES_HOST } from '../domain/notice.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, invalidField, notFound } from '../errors.ts';
import { callerId, resourceChanged } from '../pipeline/caller.ts';
import { getNode, refuseNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const view = (nodeId: string, { reports, overrides, slots, verdict }: Awaited<ReturnType<typeof judgeHealth>>) => ({
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
    return view(node.id, await judgeHealth(reader, node.id));
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
  const naming = messageNamingHost(body.alerts, [node.name]);
  if (naming !== null) throw invalidField('alerts', `"${naming}" ${NAMES_HOST}`);
  await db.putOverride(ctx.tx, node.id, { source: params.source, ...body, created_by: callerId(ctx) });
  await applyHealth(ctx.tx, node.id, ctx.correlation_id);
  ctx.target('node', node.id);
  ctx.note({ source: params.source, mode: body.mode, muted: body.muted_alert_ids, reason: body.reason });
  return view(node.id, await judgeHealth(ctx.tx, node.id));
};

export const overrideDelete = async (ctx: WriteCtx, { params }: Req<'adminNodeHealthOverrideDelete'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  if (!(await db.deleteOverride(ctx.tx, node.id, params.source))) throw notFound('override');
  await applyHealth(ctx.tx, node.id, ctx.correlation_id);
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
