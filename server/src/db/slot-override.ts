/** Requests of one operator that a second one confirms: a wipe without proof. */
import type { Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
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

/** Requests that were not confirmed. A confirmed one is kept as long as its proof, which names it as its task. */
export const deleteOldOverrides = async (
  tx: Tx,
  limit: number,
  ages: Readonly<{ history_days: number; certificate_years: number }>,
): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select o.id from slot_overrides o where o.expires_at < now() - make_interval(days => $2)
           and (o.confirmed_at is null or o.expires_at < now() - make_interval(years => $3)
             and not exists (select from wipe_proofs p where p.task_id = o.id))
         order by o.expires_at limit $1 for update skip locked)
       delete from slot_overrides o using old where o.id = old.id`,
      [limit, ages.history_days, ages.certificate_years],
    )
  ).rowCount;
