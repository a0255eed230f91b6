/** Slots change with the claims of the allocation that holds them. */
import type { SourceOf } from '../../domain/moves.ts';
import type { SlotStatus, slotMoves } from '../../domain/slot-state.ts';
import type { Tx } from '../client.ts';
import { HELD } from '../lifecycle.ts';
import { statement } from '../statement.ts';

type HeldStatus = Exclude<SlotStatus, 'available' | 'reserved' | 'quarantined'>;
type Along = {
  [To in HeldStatus]: Readonly<{ from: readonly SourceOf<typeof slotMoves, To>[]; to: To }>;
}[HeldStatus];

/** Along the graph of a slot; what a claim or a proof does is a statement of its own. */
export type SlotMove = Readonly<{
  allocation_id: string;
  node_id: string;
  reason: string | null;
  /** What the slot records of its last allocation besides its health alerts. */
  event?: 'provisioned' | 'cleanup_blocked' | null;
}> &
  Along;

const MOVE_HELD = statement(
  { allocation_id: 'text', node_id: 'text', from: 'text[]', to: 'text', reason: 'text | null', event: 'text | null' },
  `with held as (select s.id ${HELD} where s.status = any (:from))
   update node_resource_slots t set status = :to, status_reason = :reason, status_since = clock_timestamp(), version = t.version + 1,
     health_detail = case when :event is null then t.health_detail else (t.health_detail - 'wipe_proof_id') || jsonb_build_object(
       'allocation_id', :allocation_id, 'event', :event, 'reason', :reason, 'at', clock_timestamp()) end
   from held where t.id = held.id`,
);

export const moveHeldSlots = async (tx: Tx, move: SlotMove): Promise<number> =>
  (await MOVE_HELD.query(tx, { event: null, ...move })).rowCount;
