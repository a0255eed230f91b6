/** Release of an allocation. The request records the intent and ends charging; the run it starts does the rest. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { type AllocationRow, findProjectAllocation } from '../db/allocation.ts';
import { releaseRefusal } from '../domain/allocation-actions.ts';
import { REASONS } from '../domain/reasons.ts';
import { notFound } from '../errors.ts';
import { refuse } from '../pipeline/actions.ts';
import { projectOf } from '../pipeline/caller.ts';
import { startRelease } from '../workflows/start-cleanup.ts';
import { viewFor } from './allocation.ts';

/** Of this project: an allocation of another counts as missing. */
const assertAllowed = (row: AllocationRow, projectId: string): void => {
  if (row.project_id !== projectId) throw notFound('allocation');
  refuse(releaseRefusal(row));
};

export const release = async (ctx: WriteCtx, { params }: RequestOf<PublicApi['allocationRelease']>) => {
  const { allocation_id } = params;
  const projectId = projectOf(ctx);
  const reason = REASONS.release_requested;
  const check = (row: AllocationRow) => assertAllowed(row, projectId);
  ctx.note({ workflow_run_id: await startRelease(ctx.tx, { allocation_id, reason, cause: ctx, check }) });
  const row = await findProjectAllocation(ctx.tx, projectId, allocation_id);
  if (row === undefined) throw notFound('allocation');
  return viewFor(ctx)(row);
};
