/** User data may hold secrets, so it is removed together with what the tasks that carried it to a host remember of it. */
import type { Tx } from '../client.ts';
import { ALLOCATION_ENDED, claimCounts, TASK_HANDED_OUT, taskKindIn } from '../predicates.ts';
import { statement } from '../statement.ts';

const CARRIES_USER_DATA = taskKindIn('slice.vm_start');

const DELETE_ENDED = statement(
  { limit: 'integer' },
  `with ended as materialized (
     select u.allocation_id from allocation_user_data u join allocations a on a.id = u.allocation_id
     where a.state ${ALLOCATION_ENDED} and not exists (
       select from allocation_resource_claims c where c.allocation_id = a.id and ${claimCounts('c')})
     limit :limit for update of u skip locked),
   task as (
     update node_tasks t set sealed_user_data = null from ended
     where t.allocation_id = ended.allocation_id and t.kind ${CARRIES_USER_DATA})
   delete from allocation_user_data u using ended where u.allocation_id = ended.allocation_id`,
);

/**
 * What a tenant gave to a guest that is no more: its user data may hold secrets, which neither we nor the tasks that carried
 * it have any use for after the end. Until a failed launch is wiped, it says whether the guest's report was the tenant's word.
 */
export const deleteEndedUserData = async (tx: Tx, limit: number): Promise<number> =>
  (await DELETE_ENDED.query(tx, { limit })).rowCount;

const REMOVE = statement(
  { allocation_id: 'text' },
  `with task as (
     update node_tasks set sealed_user_data = null
     where allocation_id = :allocation_id and kind ${CARRIES_USER_DATA} and state not ${TASK_HANDED_OUT}
       and sealed_user_data is not null)
   delete from allocation_user_data where allocation_id = :allocation_id`,
);

/**
 * It may hold secrets, so the tasks that carried it to a host forget it too: once its row is gone nothing leads to them any
 * more. What a host has in hand does not change.
 */
export const removeUserData = async (tx: Tx, allocation_id: string): Promise<void> => {
  await REMOVE.query(tx, { allocation_id });
};
