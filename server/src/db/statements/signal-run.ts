/** A signal and the run that it wakes. */
import type { Tx } from '../client.ts';
import { RUN_LIVE } from '../predicates.ts';
import { statement } from '../statement.ts';

const INSERT_SIGNAL = statement(
  { run_id: 'text', name: 'text', payload: 'jsonb' },
  `with run as (
     update workflow_runs r set signals_pending = r.signals_pending + 1,
       due_at = case when r.state = 'waiting' and r.waiting_for = :name then clock_timestamp() else r.due_at end
     where r.id = :run_id and r.state ${RUN_LIVE} returning r.id, r.organization_id)
   insert into workflow_signals (run_id, organization_id, name, payload) select id, organization_id, :name, :payload from run`,
);

/** Stores a signal for a live run and wakes it if it waits for this name. False when the run has ended. */
export const insertSignal = async (
  tx: Tx,
  signal: Readonly<{ run_id: string; name: string; payload: object }>,
): Promise<boolean> => (await INSERT_SIGNAL.query(tx, signal)).rowCount === 1;
