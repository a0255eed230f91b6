/**
 * Nodes with their slots as tiles, a page in one statement: nodes by name from the index of names, then each one's
 * slots and claims by theirs, so that a page's cost does not depend on the fleet size.
 */
import type { Reader } from './client.ts';
import { FREE_OF_NODE, type NodeRow } from './node.ts';
import { queryByIndex } from './plan.ts';
import { agentIsConnected, claimIsLive, unapprovedDisks } from './predicates.ts';
import type { SlotRow } from './slot.ts';

/** Times as PostgreSQL writes them into JSON. */
export type SlotTileRow = Pick<
  SlotRow,
  | 'id'
  | 'slot_index'
  | 'approval'
  | 'status'
  | 'status_reason'
  | 'status_since'
  | 'health'
  | 'numa_node'
  | 'allocation_id'
  | 'wiped_at'
> &
  Readonly<{ has_hardware_change: boolean }>;

export type SlotMapNode = Pick<
  NodeRow,
  | 'name'
  | 'region_name'
  | 'pool_name'
  | 'gpu_model'
  | 'gpu_count'
  | 'state'
  | 'state_reason'
  | 'capacity_mode'
  | 'occupancy'
  | 'health'
  | 'is_held'
  | 'is_connected'
  | 'has_hardware_change'
  | 'gpu_model_conflict'
  | 'unapproved_disks'
  | 'reboot_required'
  | 'finding_count'
  | 'free_gpus'
  | 'largest_set'
> &
  Readonly<{ node_id: string; slots: SlotTileRow[] }>;

/** json rather than jsonb, which is built in half the time. */
const TILES = `select json_agg(json_build_object('id', t.id, 'slot_index', t.slot_index, 'approval', t.approval, 'status', t.status,
    'status_reason', t.status_reason, 'status_since', t.status_since, 'health', t.health, 'numa_node', t.numa_node,
    'has_hardware_change', t.drift is not null, 'allocation_id', coalesce(whole.allocation_id, (select c.allocation_id
      from allocation_resource_claims c where c.node_id = t.node_id and c.slot_id = t.id and ${claimIsLive('c')})), 'wiped_at', t.wiped_at)
    order by t.slot_index) as slots
  from node_resource_slots t where t.node_id = n.id`;

/** The parts of a node are looked up node by node: `limit 1` keeps the planner from reading all of them for a join. */
const ofNode = (columns: string, table: string, only = ''): string =>
  `left join lateral (select ${columns} from ${table} x where x.node_id = n.id ${only} limit 1)`;

export const listSlotMap = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number; region_name: string | null }>,
): Promise<SlotMapNode[]> =>
  (
    await queryByIndex<SlotMapNode>(
      reader,
      `select n.id as node_id, n.name, n.region_name, p.name as pool_name, n.gpu_model, n.gpu_count, n.state, n.state_reason, n.capacity_mode,
         n.occupancy, n.health, n.is_held, ${agentIsConnected('a')} as is_connected,
         n.has_hardware_change, n.gpu_model_conflict, ${unapprovedDisks('n')} as unapproved_disks, n.reboot_required, coalesce(jsonb_array_length(i.findings), 0) as finding_count,
         ${FREE_OF_NODE}, coalesce(tiles.slots, '[]') as slots
       from (select * from nodes where state <> 'deleted' and ($1::text is null or name > $1) and ($2::text is null or region_name = $2)
         order by name limit $3) n
       join pools p on p.id = n.pool_id
       ${ofNode('is_schedulable, free_count, largest_set, key_node', 'node_placement_summary')} s on true
       ${ofNode('last_seen_at', 'node_agents')} a on true
       ${ofNode('findings', 'node_inventories')} i on true
       ${ofNode('allocation_id', 'allocation_resource_claims', `and ${claimIsLive('x')} and x.claim_kind = 'node_exclusive'`)} whole on true
       left join lateral (${TILES}) tiles on true
       order by n.name`,
      [page.after, page.region_name, page.limit],
    )
  ).rows;
