/** Facts besides a slot's own row that decide its actions; all slots of a node in one statement. */
import type { Candidate } from '@gpuaas/contract/node';
import type { AllocationState } from '../domain/allocation.ts';
import type { Reader } from './client.ts';
import { claimHoldsSlot, RUN_LIVE } from './predicates.ts';

export type SlotUseRow = Readonly<{
  id: string;
  /** Of the allocation that holds it, by the live claim on the slot or on its whole node; a launch that moved on failed here. */
  holder_state: AllocationState | null;
  is_whole_node: boolean;
  is_repairing: boolean;
  /** Who requested the two-person override that waits for confirmation. */
  override_by: string | null;
  /** Its approval before it was disabled. */
  disabled_content: Candidate | null;
}>;

export const listSlotUse = async (reader: Reader, nodeId: string, repairWorkflow: string): Promise<SlotUseRow[]> =>
  (
    await reader.query<SlotUseRow>(
      `select s.id, case when c.move_id is null then a.state else 'failed' end as holder_state, coalesce(c.claim_kind = 'node_exclusive', false) as is_whole_node,
         exists (select from workflow_runs r where r.workflow = $2 and r.subject_id = s.id and r.state ${RUN_LIVE}) as is_repairing,
         (select o.requested_by from slot_overrides o where o.slot_id = s.id and o.generation = s.generation and o.confirmed_at is null
            and o.expires_at > clock_timestamp() order by o.id desc limit 1) as override_by,
         case when s.approval = 'disabled' then s.content end as disabled_content
       from node_resource_slots s
       left join allocation_resource_claims c on ${claimHoldsSlot('c', 's')}
       left join allocations a on a.id = c.allocation_id
       where s.node_id = $1`,
      [nodeId, repairWorkflow],
    )
  ).rows;
