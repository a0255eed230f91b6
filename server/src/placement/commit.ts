/**
 * Commits a placement. The best node of the index is locked first and evaluated in its current state, so the decision
 * is what is written: a concurrent placement takes the next node instead of failing. If the statement could not claim
 * everything, the transaction is rolled back.
 */

import { mintId } from '@gpuaas/kit';
import {
  afterClaim,
  DEFAULT_POLICY,
  type Placed,
  type PlacementRequest,
  place,
  type SchedulerNode,
  SNAPSHOT_VERSION,
} from '@gpuaas/scheduler';
import type { Tx } from '../db/client.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../db/errors.ts';
import type { KeyColumn } from '../db/placement.ts';
import { type CandidateQuery, hasCandidates, lockBestNode } from '../db/placement-index.ts';
import { claimRefusal, insertClaimSet, type NewClaimSet } from '../db/statements/claim.ts';
import { type LaunchFacts, type LaunchQuery, lockLaunch } from '../db/statements/launch.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';
import { type CheckedLaunch, noneNamed } from './request.ts';
import { summaryRow } from './summary.ts';

export type Choice = Readonly<{ node: SchedulerNode; placed: Placed }>;

/** First skips nodes locked by others; then, when only those are left, waits for the best of them. */
const ATTEMPTS = [
  { depth: 16, is_patient: false },
  { depth: 256, is_patient: false },
  { depth: 16, is_patient: true },
] as const;

/** The scheduler's decision on one locked node. */
const judge = (node: SchedulerNode, request: PlacementRequest): Choice | null => {
  const decision = place(
    request,
    { snapshot_version: SNAPSHOT_VERSION, nodes: [node], regions: [], skus: [] },
    { ...DEFAULT_POLICY, alternatives_max: 0 },
  );
  return decision.kind === 'placed' ? { node, placed: decision } : null;
};

export type NodeQuery = Omit<CandidateQuery, 'depth' | 'except' | 'is_patient'> &
  Partial<Pick<CandidateQuery, 'except'>>;

/** First query, sent with the catalog query; `chooseNode` continues from its result. */
export const lockFirst = (tx: Tx, launch: LaunchQuery, key: KeyColumn): ReturnType<typeof lockLaunch> =>
  lockLaunch(tx, launch, { ...launch, key, ...ATTEMPTS[0], except: [] });

/** One more query. A node that does not fit is unlocked again: a waiting request holds no locks. */
const readAgain = async (tx: Tx, request: PlacementRequest, query: CandidateQuery): Promise<Choice | string | null> => {
  tx.defer(tx.query('savepoint look'));
  const node = await lockBestNode(tx, query);
  const choice = node === undefined ? null : judge(node, request);
  if (choice === null) tx.defer(tx.query('rollback to savepoint look'));
  return choice ?? node?.id ?? null;
};

/** A locked node that accepts the request, or null. `first` is the result of the first query, if there was one. */
export const chooseNode = async (
  tx: Tx,
  request: PlacementRequest,
  query: NodeQuery,
  first: SchedulerNode | null | undefined,
): Promise<Choice | null> => {
  const choice = first ? judge(first, request) : null;
  if (choice !== null) return choice;
  const except: string[] = [...(query.except ?? []), ...(first ? [first.id] : [])];
  for (const attempt of first === null ? ATTEMPTS.slice(1) : ATTEMPTS) {
    // Most requests that find nothing at first find nothing at all, and need not search deeper or wait.
    if (attempt !== ATTEMPTS[0] && !(await hasCandidates(tx, { ...query, ...attempt, except }))) break;
    for (;;) {
      const found = await readAgain(tx, request, { ...query, ...attempt, except });
      if (found === null) break;
      if (typeof found !== 'string') return found;
      except.push(found);
    }
  }
  return null;
};

export type Placement = Readonly<{
  launch: CheckedLaunch;
  profile: LaunchFacts['profile'];
  allocation: NewClaimSet['allocation'];
  run: NewClaimSet['run'];
}>;

const refusal = (err: unknown, allocation: NewClaimSet['allocation']): unknown => {
  if (isUniqueViolation(err, 'allocations_name'))
    return new AppError('already_exists', REFUSALS.allocation_name_taken(allocation.name));
  // Retired between the read of the catalog and this statement. A region with a node for the launch cannot be.
  if (isForeignKeyViolation(err, 'allocation_of_live_sku')) return noneNamed('SKU', allocation.sku_name);
  switch (claimRefusal(err)) {
    case 'project':
      return notFound('project');
    case 'quota':
      return new AppError('quota_exceeded', `${REFUSALS.quota_launch} ${REFUSALS.quota_request_how}`, {
        reasons: [{ code: 'quota', gpus: allocation.gpu_count }],
      });
    case 'capacity':
      return new AppError('unavailable', 'Another launch took the capacity. Retry.', {
        cause: err,
        retry_after_s: 1,
      });
    default:
      return err;
  }
};

/**
 * Sends the claim set with the commit. Quota used up by another launch meanwhile, and a duplicate name, may still
 * refuse it, and both fail the transaction.
 */
export const commitClaims = (tx: Tx, choice: Choice, { launch, profile, allocation, run }: Placement): void => {
  const { node, placed } = choice;
  const { sku, request } = launch;
  const isSlice = request.shape === 'gpu_slice';
  const claimed_at_s = Math.floor(Date.parse(allocation.created_at) / 1000);
  const sent = insertClaimSet(tx, {
    allocation,
    node_id: node.id,
    is_node_taken: isSlice && node.occupancy === 'sliced',
    slot_ids: placed.slot_ids,
    claim_ids: isSlice ? placed.slot_ids.map(() => mintId('clm')) : [mintId('clm')],
    partition_id: placed.partition_id === null ? null : Number(placed.partition_id),
    scores: placed.scores,
    vm_profile_name: profile?.name ?? null,
    vcpu_count: profile?.vcpu_count ?? null,
    memory_mib: profile?.memory_mib ?? null,
    hugepages: profile?.hugepages ?? null,
    numa_policy: profile?.numa_policy ?? null,
    gpu_hourly_price_minor: sku.gpu_hourly_price_minor,
    currency: sku.currency,
    summary: summaryRow(
      afterClaim(node, { slot_ids: placed.slot_ids, shape: request.shape, claimed_at_s }),
      sku.gpu_model,
    ),
    run,
  });
  tx.defer(
    sent.catch((err: unknown) => {
      throw refusal(err, allocation);
    }),
  );
};
