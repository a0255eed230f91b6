/**
 * Stop, start, reboot and reinstall of a slice. The request records the change and starts its run; the allocation stays
 * active and charged in every power state.
 */

import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { cannotStart } from '@gpuaas/scheduler';
import type { WriteCtx } from '../context.ts';
import { type AllocationRow, findProjectAllocation } from '../db/allocation.ts';
import { findReinstallFacts } from '../db/install.ts';
import { type PowerChange, powerRefusal } from '../domain/power.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { FIELD_MESSAGES } from '../domain/sentences.ts';
import { conflict, invalidField, notFound } from '../errors.ts';
import { projectOf } from '../pipeline/caller.ts';
import { STOP_GRACE_S } from '../workflows/allocation-task.ts';
import { requestInstall } from '../workflows/install.ts';
import { startPowerChange } from '../workflows/start-power-change.ts';
import { assertUserData, viewFor } from './allocation.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

type PowerRequest = Readonly<{
  allocation_id: string;
  change: PowerChange;
  grace_s: number | null;
  prepare?: (row: AllocationRow, runId: string) => Promise<void>;
}>;

const ask = async (ctx: WriteCtx, { prepare, ...asked }: PowerRequest) => {
  const projectId = projectOf(ctx);
  await startPowerChange(ctx.tx, {
    ...asked,
    correlation_id: ctx.correlation_id,
    check: (row) => {
      // Of this project: an allocation of another counts as missing.
      if (row.project_id !== projectId) throw notFound('allocation');
      const refusal = powerRefusal(row, asked.change);
      if (refusal !== null) throw conflict(refusal);
    },
    ...(prepare === undefined ? {} : { prepare }),
  });
  const row = await findProjectAllocation(ctx.tx, projectId, asked.allocation_id);
  if (row === undefined) throw notFound('allocation');
  ctx.note({ workflow_run_id: row.power_run_id, grace_s: asked.grace_s });
  return viewFor(ctx)(row);
};

export const stop = (ctx: WriteCtx, { params, body }: Req<'allocationStop'>) => {
  if (body.is_hard === true && (body.grace_s ?? 0) > 0) throw invalidField('grace_s', FIELD_MESSAGES.not_with_hard);
  const grace_s = body.is_hard === true ? 0 : (body.grace_s ?? STOP_GRACE_S);
  return ask(ctx, { ...params, change: 'stop', grace_s });
};

export const start = (ctx: WriteCtx, { params }: Req<'allocationStart'>) =>
  ask(ctx, { ...params, change: 'start', grace_s: null });

export const reboot = (ctx: WriteCtx, { params, body }: Req<'allocationReboot'>) =>
  ask(ctx, { ...params, change: 'reboot', grace_s: body.is_hard === true ? 0 : null });

const prepareInstall = async (
  { tx, deps: { secrets } }: WriteCtx,
  row: AllocationRow,
  { runId, body }: Readonly<{ runId: string; body: Req<'allocationReinstall'>['body'] }>,
): Promise<void> => {
  const { image_name, ssh_key_ids, user_data } = body;
  const facts = await findReinstallFacts(tx, {
    sku_name: row.sku_name,
    node_id: row.node_id,
    image_name: image_name ?? null,
    ssh_key_ids: ssh_key_ids ?? [],
  });
  if (image_name !== undefined && facts.image === null)
    throw invalidField('image_name', FIELD_MESSAGES.image_unusable(row.sku_name));
  if (facts.image !== null && cannotStart(facts.boot_kinds, facts.image.boot_kind) !== null)
    throw invalidField('image_name', FIELD_MESSAGES.image_not_startable);
  if (facts.ssh_keys_found !== (ssh_key_ids ?? []).length) throw notFound('SSH key');
  await requestInstall(tx, row, {
    run_id: runId,
    ...(facts.image === null ? {} : { image: facts.image }),
    ...(ssh_key_ids === undefined ? {} : { ssh_key_ids }),
    ...(user_data === undefined
      ? {}
      : { sealed_user_data: user_data === null ? null : secrets.seal(user_data, SEALED_TO.user_data(row.id)) }),
  });
};

export const reinstall = (ctx: WriteCtx, { params, body }: Req<'allocationReinstall'>) => {
  assertUserData(body.user_data);
  ctx.note({ fields: Object.keys(body) });
  return ask(ctx, {
    ...params,
    change: 'reinstall',
    // Data is flushed to the data disks before the VM stops.
    grace_s: STOP_GRACE_S,
    prepare: (row, runId) => prepareInstall(ctx, row, { runId, body }),
  });
};
