/**
 * Gives allocations that were bound to a node before there were claims the claim that says so. What is not certain is
 * left alone and named: a slice's slots cannot be guessed, and a node that somebody holds is not given away twice.
 * Running it again finds nothing left to do.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { WriteCtx } from '../context.ts';
import { insertBackfilledClaim, listUnclaimed, type UnclaimedRow } from '../db/backfill.ts';
import { lockSummary } from '../db/placement.ts';
import { refreshSummary } from '../placement/summary.ts';

const reasonToSkip = (row: UnclaimedRow): string | null => {
  if (row.capacity_shape === 'gpu_slice') return 'Which slots a slice holds cannot be known without claims.';
  if (row.host_role !== 'worker_compute') return `The node is a ${row.host_role} host.`;
  if (row.holder_allocation_id !== null) return `The node is claimed by ${row.holder_allocation_id}.`;
  if (row.earlier_allocation_id !== null) return `The node is bound to ${row.earlier_allocation_id} as well.`;
  return row.occupancy === 'free' ? null : `The node's occupancy is ${row.occupancy}.`;
};

export const claimBackfill = async (ctx: WriteCtx, { body }: RequestOf<PublicApi['adminClaimBackfill']>) => {
  const claimed: { allocation_id: string; node_id: string }[] = [];
  const skipped: { allocation_id: string; reason: string }[] = [];
  for (const row of await listUnclaimed(ctx.tx)) {
    const { allocation_id, node_id } = row;
    let reason = reasonToSkip(row);
    if (reason === null && !body.is_dry_run) {
      await lockSummary(ctx.tx, node_id);
      const claim_id = mintId(ID_PREFIXES.claim);
      if (await insertBackfilledClaim(ctx.tx, { allocation_id, node_id, claim_id }))
        await refreshSummary(ctx.tx, node_id);
      else reason = 'The node was taken meanwhile.';
    }
    if (reason === null) claimed.push({ allocation_id, node_id });
    else skipped.push({ allocation_id, reason });
  }
  ctx.note({ is_dry_run: body.is_dry_run, claimed: claimed.length, skipped: skipped.length });
  return { is_dry_run: body.is_dry_run, claimed, skipped };
};
