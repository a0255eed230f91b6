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

const ADOPT_OF_SLOTS = statement(
  { ids: 'text[]', generations: 'integer[]' },
  `update node_resource_slots s set generation = w.generation, version = s.version + 1
   from unnest(:ids, :generations) as w (id, generation) where s.id = w.id`,
);

const ADOPT_OF_CLAIMS = statement(
  { allocation_id: 'text', ids: 'text[]', generations: 'integer[]' },
  `update allocation_resource_claims c set adopted_generation = w.generation
   from unnest(:ids, :generations) as w (id, generation)
   where c.slot_id = w.id and c.allocation_id = :allocation_id and ${claimIsLive('c')}`,
);

export const adoptGenerations = async (
  tx: Tx,
  allocation_id: string,
  slots: readonly SlotBehindHost[],
): Promise<void> => {
  const adopted = {
    ids: slots.map(({ id }) => id),
    generations: slots.map(({ host_generation }) => host_generation + 1),
  };
  await ADOPT_OF_SLOTS.query(tx, adopted);
  await ADOPT_OF_CLAIMS.query(tx, { allocation_id, ...adopted });
};

const ADOPT_OF_NODE = statement(
  { allocation_id: 'text', node_id: 'text' },
  `update allocation_resource_claims c set adopted_generation = floor(extract(epoch from clock_timestamp()))::integer
   where c.allocation_id = :allocation_id and c.node_id = :node_id and ${claimIsLive('c')} and c.claim_kind = 'node_exclusive'`,
);

/**
 * The data disks of a whole node are adopted as of now, which is later than the host's value. False without such a
 * claim.
 */
export const adoptNodeDisks = async (tx: Tx, { allocation_id, node_id }: Stay): Promise<boolean> =>
  (await ADOPT_OF_NODE.query(tx, { allocation_id, node_id })).rowCount > 0;
