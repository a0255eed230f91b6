/** Requests of one operator that a second one confirms: a wipe without proof. */
import type { Tx } from './client.ts';
import { createKeptPurge, LOOK_AGAIN } from './keep.ts';
import type { SlotOverrides } from './types.gen.ts';

export type SlotOverrideRow = Readonly<
  Pick<
    SlotOverrides,
    'id' | 'slot_id' | 'reason' | 'requested_by' | 'requested_at' | 'expires_at' | 'confirmed_by' | 'confirmed_at'
  > & {
    kind: 'mark_wiped';
  }
>;

const OVERRIDE = 'id, slot_id, kind, reason, requested_by, requested_at, expires_at, confirmed_by, confirmed_at';

/** The open request for this very generation of the slot. */
export const lockOpenOverride = async (
  tx: Tx,
  slot: Readonly<{ id: string; generation: number }>,
): Promise<SlotOverrideRow | undefined> =>
  (
    await tx.query<SlotOverrideRow>(
      `select ${OVERRIDE} from slot_overrides where slot_id = $1 and generation = $2 and confirmed_at is null
         and expires_at > clock_timestamp() order by id desc limit 1 for update`,
      [slot.id, slot.generation],
    )
  ).rows[0];

export const insertOverride = async (
  tx: Tx,
  row: Readonly<{ id: string; slot_id: string; generation: number; reason: string; requested_by: string }>,
): Promise<SlotOverrideRow | undefined> =>
  (
    await tx.query<SlotOverrideRow>(
      `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, expires_at)
       values ($1, $2, 'mark_wiped', $3, $4, $5, clock_timestamp() + interval '1 hour') returning ${OVERRIDE}`,
      [row.id, row.slot_id, row.generation, row.reason, row.requested_by],
    )
  ).rows[0];

export const confirmOverride = async (tx: Tx, id: string, by: string): Promise<SlotOverrideRow | undefined> =>
  (
    await tx.query<SlotOverrideRow>(
      `update slot_overrides set confirmed_by = $2, confirmed_at = clock_timestamp() where id = $1 and confirmed_at is null returning ${OVERRIDE}`,
      [id, by],
    )
  ).rows[0];

/** A request that was not confirmed goes with history; a confirmed one with its proof, which names it as its task. */
export const OVERRIDES = createKeptPurge({
  table: 'slot_overrides',
  age: 'expires_at',
  columns: 't.confirmed_at, t.expires_at',
  kept_until: `case when o.confirmed_at is not null and (o.expires_at >= now() - make_interval(years => $3)
      or exists (select from wipe_proofs p where p.task_id = o.id)) then now() + ${LOOK_AGAIN} end`,
});
