/**
 * Allocations as operators see them, with node and claims, and the two actions on a tenant's behalf. Both lead into the
 * same cleanup as any release: force skips checks, never the proof.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import { findShownAllocation, listAllocations, type ShownAllocation } from '../db/allocation.ts';
import type { Reader } from '../db/client.ts';
import { type ClaimRow, listClaims } from '../db/lifecycle.ts';
import { notFound } from '../errors.ts';
import { onlyText } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { type ProgressRows, progressOfOne, progressOfPage } from '../views/allocation-progress.ts';
import { endChargeAt } from '../workflows/end-charge.ts';
import { restartCleanup, startRelease } from '../workflows/start-cleanup.ts';
import { viewFor } from './allocation.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const claimView = (claim: ClaimRow) => ({
  id: claim.id,
  claim_kind: claim.claim_kind,
  node_id: claim.node_id,
  slot_id: claim.slot_id,
  gpu_count: claim.gpu_count,
  created_at: claim.created_at,
  released_at: claim.released_at,
  wipe_proof_id: claim.wipe_proof_id,
});

const adminView = (ctx: Ctx, claims: readonly ClaimRow[], progress: ProgressRows) => (row: ShownAllocation) => ({
  allocation: viewFor(ctx, progress)(row),
  organization_id: row.organization_id,
  node_id: row.node_id,
  claims: claims.filter((claim) => claim.allocation_id === row.id).map(claimView),
});

const getWithClaims = async (ctx: Ctx, reader: Reader, id: string) => {
  const [row, claims, progress] = await Promise.all([
    findShownAllocation(reader, id),
    listClaims(reader, [id]),
    progressOfOne(reader, id),
  ]);
  if (row === undefined) throw notFound('allocation');
  return adminView(ctx, claims, progress)(row);
};

export const adminList = async (ctx: ReadCtx, { query }: Req<'adminAllocationList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const filter = {
    project_id: null,
    organization_id: query.organization_id ?? null,
    node_id: query.node_id ?? null,
    state: query.state ?? null,
    name: null,
    before: onlyText(decodeCursor(ctx, query.cursor)?.[0]),
    limit: limit + 1,
  };
  return ctx.read(async (reader) => {
    const rows = await listAllocations(reader, filter);
    const ids = rows.map((row) => row.id);
    const [claims, progress] = await Promise.all([listClaims(reader, ids), progressOfPage(reader, rows)]);
    return pageOf(ctx, limit, rows, (row) => [row.id], adminView(ctx, claims, progress));
  });
};

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminAllocationGet'>) =>
  ctx.read((reader) => getWithClaims(ctx, reader, params.allocation_id));

/** Operator actions on a tenant's allocation are in the tenant's own audit chain. */
const noteTarget = async (ctx: WriteCtx, id: string, facts: Readonly<Record<string, unknown>>): Promise<void> => {
  const row = await findShownAllocation(ctx.tx, id);
  if (row === undefined) throw notFound('allocation');
  ctx.setTarget(row.organization_id, row.project_id);
  ctx.target('allocation', id);
  ctx.note({ ...facts, from_state: row.state });
};

export const forceRelease = async (ctx: WriteCtx, { params, body }: Req<'adminAllocationForceRelease'>) => {
  const { allocation_id } = params;
  await noteTarget(ctx, allocation_id, { reason: body.reason });
  const reason = `Released by an operator: ${body.reason}`;
  ctx.note({ workflow_run_id: await startRelease(ctx.tx, { allocation_id, reason, cause: ctx }) });
  if (body.charge_until !== undefined) ctx.note(await endChargeAt(ctx.tx, allocation_id, body.charge_until));
  return getWithClaims(ctx, ctx.tx, allocation_id);
};

export const forceCleanup = async (ctx: WriteCtx, { params, body }: Req<'adminAllocationForceCleanup'>) => {
  const { allocation_id } = params;
  const { reason, runtime_verified_absent, adopted_generations: adopted } = body;
  const facts = { reason, runtime_verified_absent, ...(adopted ? { adopted_generations: adopted } : {}) };
  await noteTarget(ctx, allocation_id, facts);
  const cleanup = { allocation_id, runtime_verified_absent, adopted, cause: ctx };
  ctx.note({ workflow_run_id: await restartCleanup(ctx.tx, cleanup) });
  return getWithClaims(ctx, ctx.tx, allocation_id);
};
