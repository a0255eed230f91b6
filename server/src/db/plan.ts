/**
 * Row-level security hides from the planner how many rows the platform scope sees: it expects very few and would read
 * and sort everything for a page of a large table. These reads all use an index, so they disable other plans.
 */
import type { Reader, Result } from './client.ts';

const FOLLOW_INDEX = "select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)";

/** Runs one query, and the rest of its transaction, by index scans; sent together with the query. */
export const queryByIndex = async <R extends object>(
  reader: Reader,
  text: string,
  values?: readonly unknown[],
): Promise<Result<R>> => {
  const [, result] = await Promise.all([reader.query(FOLLOW_INDEX), reader.query<R>(text, values)]);
  return result;
};
