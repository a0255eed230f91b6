/** Progress of allocations for reads: one query for one, one for a page, none without work in progress. */
import type { AllocationRow } from '../db/allocation.ts';
import type { Reader } from '../db/client.ts';
import { listProgress, type ProgressRow } from '../db/progress.ts';
import { PROGRESS_KINDS, PROGRESS_WORKFLOWS } from '../domain/progress.ts';

const workflows = PROGRESS_WORKFLOWS;

export type ProgressRows = readonly ProgressRow[];

/** Sent together with the query of the allocation itself, so that it adds no latency. */
export const progressOfOne = (reader: Reader, allocationId: string): Promise<ProgressRows> =>
  listProgress(reader, [allocationId], { workflows, kinds: PROGRESS_KINDS, with_history: true });

const RESTING: ReadonlySet<AllocationRow['state']> = new Set(['active', 'released', 'release_failed']);

/** Without history: a page of launches would read the history of as many nodes and runs. */
export const progressOfPage = async (reader: Reader, rows: readonly AllocationRow[]): Promise<ProgressRows> => {
  const isMoving = ({ state, power_run_id }: AllocationRow) => power_run_id !== null || !RESTING.has(state);
  const ids = rows.filter(isMoving).map(({ id }) => id);
  return ids.length === 0 ? [] : listProgress(reader, ids, { workflows, kinds: [], with_history: false });
};
