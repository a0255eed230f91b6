/**
 * Creates claims for allocations that were bound to a node before claims existed. Uncertain ones are skipped and named:
 * a slice's slots cannot be guessed, and a claimed node is not claimed twice. A request is one batch in one
 * transaction; the caller continues from `next_after_id`. An interrupted backfill continues by running it again, and
 * once complete it finds nothing to do.
 */

import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { OCCUPANCY_TEXT } from '@gpuaas/scheduler';
import type { WriteCtx } from '../context.ts';
import { lockAllocation } from '../db/allocation.ts';
import { lockSummary } from '../db/placement.ts';
import { insertBackfilledClaim, listUnclaimed, type UnclaimedRow } from '../db/statements/backfill.ts';
import { refreshSummary } from '../placement/summary.ts';
import { restartCleanup } from '../workflows/start-cleanup.ts';

const reasonToSkip = (row: UnclaimedRow): string | null => {
  if (row.capacity_shape === 'gpu_slice') return 'The slots of a slice cannot be determined without claims.';
  if (row.host_role !== 'worker_compute') return `The node is a ${row.host_role} host.`;
  if (row.holder_allocation_id !== null) return `The node is claimed by ${row.holder_allocation_id}.`;
  if (row.earlier_allocation_id !== null) return `The node is also bound to ${row.earlier_allocation_id}.`;
  return row.occupancy === 'free' ? null : `The node is ${OCCUPANCY_TEXT[row.occupancy]}.`;
};

const BATCH_ROWS = 100;

/** True when it could still be claimed. A release without a live run is resumed: only its proof frees the node. */
const claim = async (ctx: WriteCtx, { allocation_id, node_id, state }: UnclaimedRow): Promise<boolean> => {
  const { tx } = ctx;
  await lockAllocation(tx, allocation_id);
  await lockSummary(tx, node_id);
  const claim_id = mintId(ID_PREFIXES.claim);
  if (!(await insertBackfilledClaim(tx, { allocation_id, node_id, claim_id }))) return false;
  await refreshSummary(tx, node_id);
  if (state === 'releasing') await restartCleanup(tx, { allocation_id, runtime_verified_absent: false, cause: ctx });
  return true;
};

export const claimBackfill = async (ctx: WriteCtx, { body }: RequestOf<PublicApi['adminClaimBackfill']>) => {
  const { is_dry_run, after_id = '', limit = BATCH_ROWS } = body;
  const claimed: { allocation_id: string; node_id: string }[] = [];
  const skipped: { allocation_id: string; reason: string }[] = [];
  const rows = await listUnclaimed(ctx.tx, { after_id, limit });
  for (const row of rows) {
    const { allocation_id, node_id } = row;
    let reason = reasonToSkip(row);
    if (reason === null && !is_dry_run && !(await claim(ctx, row)))
      reason = 'The allocation or its node changed. Rerun.';
    if (reason === null) claimed.push({ allocation_id, node_id });
    else skipped.push({ allocation_id, reason });
  }
  ctx.note({ is_dry_run, claimed: claimed.length, skipped: skipped.length });
  const next_after_id = rows.length < limit ? null : (rows.at(-1)?.allocation_id ?? null);
  return { is_dry_run, claimed, skipped, next_after_id };
};
