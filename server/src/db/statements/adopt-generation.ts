/**
 * Slots with a newer generation on the host than in this database, and the adoption of it. The slot and the claim that
 * holds it move above the host's generation together: tasks of either are then the newest that the host has seen.
 */
import type { Tx } from '../client.ts';
import { HELD, type Stay } from '../lifecycle.ts';
import { claimIsLive } from '../predicates.ts';
import { statement } from '../statement.ts';

export type SlotBehindHost = Readonly<{ id: string; slot_index: number; generation: number; host_generation: number }>;

const LOCK_SLOTS_BEHIND_HOST = statement(
  { allocation_id: 'text', node_id: 'text' },
  `select s.id, s.slot_index, s.generation, s.host_generation ${HELD} where s.host_generation > s.generation
   order by s.slot_index for update of s, c`,
);

/** Holdings of an allocation on the node with a later generation on the host; locked. */
export const lockSlotsBehindHost = async (tx: Tx, { allocation_id, node_id }: Stay): Promise<SlotBehindHost[]> =>
  (await LOCK_SLOTS_BEHIND_HOST.query<SlotBehindHost>(tx, { allocation_id, node_id })).rows;

export const adoptGenerations = async (
  tx: Tx,
  allocationId: string,
  slots: readonly SlotBehindHost[],
): Promise<void> => {
  const values = [slots.map(({ id }) => id), slots.map(({ host_generation }) => host_generation + 1)];
  await tx.query(
    `update node_resource_slots s set generation = w.generation, version = s.version + 1
     from unnest($1::text[], $2::integer[]) as w (id, generation) where s.id = w.id`,
    values,
  );
  await tx.query(
    `update allocation_resource_claims c set adopted_generation = w.generation
     from unnest($1::text[], $2::integer[]) as w (id, generation)
     where c.slot_id = w.id and c.allocation_id = $3 and ${claimIsLive('c')}`,
    [...values, allocationId],
  );
};

/**
 * The data disks of a whole node are adopted as of now, which is later than the host's value. False without such a
 * claim.
 */
export const adoptNodeDisks = async (tx: Tx, { allocation_id, node_id }: Stay): Promise<boolean> =>
  (
    await tx.query(
      `update allocation_resource_claims c set adopted_generation = floor(extract(epoch from clock_timestamp()))::integer
       where c.allocation_id = $1 and c.node_id = $2 and ${claimIsLive('c')} and c.claim_kind = 'node_exclusive'`,
      [allocation_id, node_id],
    )
  ).rowCount > 0;
