/** Facts besides a node's own row that decide its actions; a page of nodes in one statement. */
import type { Reader } from './client.ts';
import { ALLOCATION_OCCUPYING, claimIsLive, DISK_OPEN } from './predicates.ts';
import type { SlotFact } from './slot.ts';
import { isOfHost } from './topology.ts';
import type { AllocationResourceClaims } from './types.gen.ts';

export type LiveClaimRow = Readonly<
  Pick<AllocationResourceClaims, 'id' | 'allocation_id' | 'claim_kind' | 'gpu_count'>
>;

export const listLiveClaims = async (reader: Reader, nodeId: string): Promise<LiveClaimRow[]> =>
  (
    await reader.query<LiveClaimRow>(
      `select c.id, c.allocation_id, c.claim_kind, c.gpu_count from allocation_resource_claims c
       where c.node_id = $1 and ${claimIsLive('c')} order by c.id`,
      [nodeId],
    )
  ).rows;

export type NodeFactsRow = Readonly<{
  node_id: string;
  claims: LiveClaimRow[];
  slots: SlotFact[];
  /** Allocations with any part of it, including those older than claims. */
  holders: string[];
  /** Disks whose wipe is pending, running or failed. */
  disks: Readonly<{ serial: string; state: string }>[];
  has_discovery: boolean;
}>;

export const listNodeFacts = async (reader: Reader, nodeIds: readonly string[]): Promise<NodeFactsRow[]> =>
  (
    await reader.query<NodeFactsRow>(
      `select n.node_id,
         coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'allocation_id', c.allocation_id, 'claim_kind', c.claim_kind,
           'gpu_count', c.gpu_count) order by c.id) from allocation_resource_claims c where c.node_id = n.node_id and ${claimIsLive('c')}), '[]') as claims,
         coalesce((select jsonb_agg(jsonb_build_object('slot_index', s.slot_index, 'approval', s.approval, 'status', s.status) order by s.slot_index)
           from node_resource_slots s where s.node_id = n.node_id), '[]') as slots,
         array(select c.allocation_id from allocation_resource_claims c where c.node_id = n.node_id and ${claimIsLive('c')}
           union select a.id from allocations a where a.node_id = n.node_id and a.state ${ALLOCATION_OCCUPYING} order by 1) as holders,
         coalesce((select jsonb_agg(jsonb_build_object('serial', d.serial, 'state', d.state) order by d.id) from disk_ownerships d
           where d.node_id = n.node_id and d.state ${DISK_OPEN}), '[]') as disks,
         exists (select from topology_discoveries t where t.node_id = n.node_id and ${isOfHost('t')}) as has_discovery
       from unnest($1::text[]) as n (node_id)`,
      [nodeIds],
    )
  ).rows;
