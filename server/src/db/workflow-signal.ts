/** Signals that wait for their run. */
import type { Reader, Tx } from './client.ts';

export type SignalRow = Readonly<{ id: number; name: string; payload: Readonly<Record<string, unknown>> }>;

export const listPendingSignals = async (reader: Reader, runId: string): Promise<SignalRow[]> => {
  const { rows } = await reader.query<SignalRow>(
    'select id, name, payload from workflow_signals where run_id = $1 and consumed_at is null order by id limit 1000',
    [runId],
  );
  return rows;
};

export const consumeSignals = async (tx: Tx, runId: string, ids: readonly number[]): Promise<number> => {
  const { rowCount } = await tx.query(
    `update workflow_signals set consumed_at = clock_timestamp()
     where run_id = $1 and id = any ($2::bigint[]) and consumed_at is null`,
    [runId, ids],
  );
  return rowCount;
};
