/** Giving an allocation back. The request writes the intent and ends charging; the run it starts does the rest. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { type AllocationRow, findProjectAllocation } from '../db/allocation.ts';
import { conflict, notFound } from '../errors.ts';
import { beginRelease } from '../workflows/begin-release.ts';
import { viewFor } from './allocation.ts';
import { projectOf } from './caller.ts';

const assertUnprotected = (row: AllocationRow): void => {
  if (row.is_protected && row.state !== 'releasing')
    throw conflict('The allocation is protected; take the protection off first.');
};

export const release = async (ctx: WriteCtx, { params }: RequestOf<PublicApi['allocationRelease']>) => {
  const { allocation_id } = params;
  // Of this project: an allocation of another is as good as missing.
  if ((await findProjectAllocation(ctx.tx, projectOf(ctx), allocation_id)) === undefined) throw notFound('allocation');
  const reason = 'Its release was asked for.';
  await beginRelease(ctx.tx, { allocation_id, reason, check: assertUnprotected }, () => ctx.deps.events.wake());
  const row = await findProjectAllocation(ctx.tx, projectOf(ctx), allocation_id);
  if (row === undefined) throw notFound('allocation');
  return viewFor(ctx)(row);
};
