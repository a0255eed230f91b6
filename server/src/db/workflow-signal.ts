/** Signals that wait for their run. */
import type { Reader, Tx } from './client.ts';
import type { WorkflowSignals } from './types.gen.ts';

export type SignalRow = Readonly<Pick<WorkflowSignals, 'id' | 'name'> & { payload: Readonly<Record<string, unknown>> }>;

const READ_MAX = 1_000;

/** For a statement that returns the run `r`: its pending signals; null where there are none. */
export const PENDING_SIGNALS = `(select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'payload', s.payload) order by s.id)
  from (select * from workflow_signals s where s.run_id = r.id and s.consumed_at is null order by s.id limit ${READ_MAX}) s)`;

export const listPendingSignals = async (reader: Reader, runId: string): Promise<SignalRow[]> => {
  const { rows } = await reader.query<SignalRow>(
    `select id, name, payload from workflow_signals where run_id = $1 and consumed_at is null order by id limit ${READ_MAX}`,
    [runId],
  );
  return rows;
};

/** The signals that a step took. Fails the transaction if one of them is not pending. */
export const consumeSignals = async (tx: Tx, runId: string, ids: readonly number[]): Promise<void> => {
  await tx.query(
    `with used as (
       update workflow_signals set consumed_at = clock_timestamp()
       where run_id = $1 and id = any ($2::bigint[]) and consumed_at is null returning 1)
     select require((select count(*) from used) = cardinality($2::bigint[]), 'signals')`,
    [runId, ids],
  );
};
