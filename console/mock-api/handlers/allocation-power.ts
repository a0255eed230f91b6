import { type PowerChange, powerRefusal } from '../../../server/src/domain/power.ts';
import { FIELD_MESSAGES } from '../../../server/src/domain/sentences.ts';
import type { MockCtx, Req } from '../core/context.ts';
import { conflict, invalidField, notFound } from '../core/errors.ts';
import { startPowerChange } from '../simulation/power.ts';
import { allocationView, powerFacts } from '../views/allocation.ts';
import { getAllocation } from './allocation.ts';

const change = (ctx: MockCtx, allocationId: string, asked: PowerChange) => {
  const row = getAllocation(ctx, allocationId);
  const refusal = powerRefusal(powerFacts(row), asked);
  if (refusal !== null) throw conflict(refusal);
  startPowerChange(ctx.world, row, asked, ctx.correlation_id);
  ctx.note({ workflow_run_id: row.run_id });
  return allocationView(ctx, { withProgress: false })(row);
};

export const allocationPower = {
  allocationStop: async (ctx: MockCtx, { params, body }: Req<'allocationStop'>) => {
    if (body.is_hard === true && (body.grace_s ?? 0) > 0) throw invalidField('grace_s', FIELD_MESSAGES.not_with_hard);
    return change(ctx, params.allocation_id, 'stop');
  },
  allocationStart: async (ctx: MockCtx, { params }: Req<'allocationStart'>) =>
    change(ctx, params.allocation_id, 'start'),
  allocationReboot: async (ctx: MockCtx, { params }: Req<'allocationReboot'>) =>
    change(ctx, params.allocation_id, 'reboot'),
  allocationReinstall: async (ctx: MockCtx, { params, body }: Req<'allocationReinstall'>) => {
    const { world } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    const image = world.images.find((one) => one.name === body.image_name && one.sku_names.includes(row.sku_name));
    if (body.image_name !== undefined && image === undefined)
      throw invalidField('image_name', FIELD_MESSAGES.image_unusable(row.sku_name));
    if (body.ssh_key_ids?.some((id) => world.sshKeys.get(id)?.user_id !== ctx.principal.id)) throw notFound('SSH key');
    const view = change(ctx, params.allocation_id, 'reinstall');
    if (image !== undefined) Object.assign(row, { image_name: image.name, image_digest: image.digest });
    if (body.ssh_key_ids !== undefined) row.ssh_key_ids = [...body.ssh_key_ids];
    return { ...view, image_name: row.image_name, image_digest: row.image_digest, ssh_key_ids: row.ssh_key_ids };
  },
};
