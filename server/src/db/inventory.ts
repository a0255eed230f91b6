/** The latest inventory reports of hosts, and the control plane's data they are compared with. */
import type { Inventory, TaskKind } from '@gpuaas/contract/node';
import type { Finding, Holding, SlotDevices } from '../domain/inventory.ts';
import { PROVISION_SLICE } from '../domain/workflow-steps.ts';
import type { Reader, Tx } from './client.ts';
import { claimIsLive, NODE_OVER, TASK_OPEN } from './predicates.ts';
import { statement } from './statement.ts';
import type { NodeInventories } from './types.gen.ts';

export type DatedFinding = Finding & Readonly<{ since: string }>;
export type InventoryContent = Omit<Inventory, 'observed_at' | 'boot_id'>;
export type InventoryRow = Readonly<
  Pick<NodeInventories, 'node_id' | 'observed_at' | 'received_at' | 'boot_id' | 'changed_at'> & {
    age_s: number;
    content: InventoryContent;
    findings: readonly DatedFinding[];
  }
>;

const INVENTORY = `node_id, observed_at, received_at, extract(epoch from clock_timestamp() - received_at)::float8 as age_s, boot_id,
  content, findings, changed_at`;

export const findInventory = async (reader: Reader, nodeId: string): Promise<InventoryRow | undefined> =>
  (await reader.query<InventoryRow>(`select ${INVENTORY} from node_inventories where node_id = $1`, [nodeId])).rows[0];

/** Serializes two reports of one node. */
export const lockInventory = async (tx: Tx, nodeId: string): Promise<InventoryRow | undefined> =>
  (await tx.query<InventoryRow>(`select ${INVENTORY} from node_inventories where node_id = $1 for update`, [nodeId]))
    .rows[0];

/** The same report again: only its time is updated. */
export const touchInventory = async (tx: Tx, nodeId: string, observedAt: string): Promise<void> => {
  await tx.query('update node_inventories set observed_at = $2, received_at = clock_timestamp() where node_id = $1', [
    nodeId,
    observedAt,
  ]);
};

const PUT_INVENTORY = statement(
  {
    node_id: 'text',
    observed_at: 'timestamptz',
    boot_id: 'text',
    content: 'jsonb',
    findings: 'jsonb',
    is_news: 'boolean',
  },
  `insert into node_inventories as i (node_id, observed_at, boot_id, content, findings)
   values (:node_id, :observed_at, :boot_id, :content, :findings)
   on conflict (node_id) do update set observed_at = excluded.observed_at, received_at = clock_timestamp(),
     boot_id = excluded.boot_id, content = excluded.content, findings = excluded.findings,
     changed_at = case when :is_news then clock_timestamp() else i.changed_at end`,
);

export const putInventory = async (
  tx: Tx,
  row: Pick<InventoryRow, 'node_id' | 'observed_at' | 'boot_id' | 'content' | 'findings'> &
    Readonly<{ is_news: boolean }>,
): Promise<void> => {
  await PUT_INVENTORY.query(tx, row);
};

/** A claim counts for this long after its release: a report from just before it may still be in transit. */
const AFTER_RELEASE = "interval '90 s'";
/** A task counts as in progress for this long after its end, for the same reason. */
const AFTER_TASK = "interval '60 s'";

/** Automatic starts are recognized by their correlation id; those of a tenant do not count against a VM. */
export const FOUND_DOWN = 'c-found-down-';

/**
 * Of an allocation called `a`. An automatic start that failed within the hour is retried, unless its tenant requested
 * something since, or the VM was left off since: it is off since the end of that start, or for another reason.
 */
const SHOULD_RUN = `coalesce(a.power_state = 'on' or a.power_state = 'off' and (
    select starts_with(r.correlation_id, '${FOUND_DOWN}') and r.state = 'stuck' and r.created_at > clock_timestamp() - interval '1 hour'
      and a.power_since <= r.finished_at
    from workflow_runs r where r.subject_id = a.id and r.workflow <> '${PROVISION_SLICE.name}' order by r.id desc limit 1), false)`;

export const shouldRun = async (reader: Reader, allocationId: string): Promise<boolean> =>
  (
    await reader.query<{ should_run: boolean }>(
      `select ${SHOULD_RUN} as should_run from allocations a where a.id = $1 and a.state = 'active'`,
      [allocationId],
    )
  ).rows[0]?.should_run ?? false;

export const listHoldings = async (reader: Reader, nodeId: string): Promise<Holding[]> =>
  (
    await reader.query<Holding>(
      `with held as materialized (
         select c.allocation_id, c.claim_kind, c.move_id from allocation_resource_claims c where c.node_id = $1 and ${claimIsLive('c')}
         union select c.allocation_id, c.claim_kind, c.move_id from allocation_resource_claims c
           where c.node_id = $1 and c.released_at > statement_timestamp() - ${AFTER_RELEASE})
       select h.allocation_id, h.claim_kind, case when h.move_id is null then a.state else 'failed' end as state,
         case when h.move_id is null then a.power_state end as power_state, h.move_id is null and ${SHOULD_RUN} as should_run,
         (a.power_run_id is null or h.move_id is not null) and not exists (select from node_tasks t
         where t.allocation_id = h.allocation_id and t.node_id = $1 and (t.state ${TASK_OPEN}
           or t.finished_at > statement_timestamp() - ${AFTER_TASK})) as is_idle
       from held h join allocations a on a.id = h.allocation_id order by h.allocation_id`,
      [nodeId],
    )
  ).rows;

export const listSlotDevices = async (reader: Reader, nodeId: string): Promise<SlotDevices[]> =>
  (
    await reader.query<SlotDevices>(
      `select id, slot_index, status, gpu_pci_address, nvme_serial, fabric_vf_pci_address from node_resource_slots
       where node_id = $1 order by slot_index`,
      [nodeId],
    )
  ).rows;

export type FindingCount = Readonly<{ code: string; count: number }>;

export const countFindings = async (reader: Reader): Promise<FindingCount[]> =>
  (
    await reader.query<FindingCount>(
      `select f ->> 'code' as code, count(*) as count from node_inventories i
         join nodes n on n.id = i.node_id and not n.state ${NODE_OVER}
         cross join lateral jsonb_array_elements(i.findings) f where i.findings <> '[]' group by 1 order by 1`,
    )
  ).rows;

const COMPARES = 'slice.reconcile' satisfies TaskKind;

/** Of active nodes whose agent sends inventory reports: the oldest report, and how many are older than this. */
export const inventoryAges = async (
  reader: Reader,
  lateS: number,
): Promise<Readonly<{ oldest_s: number; late: number }>> =>
  (
    await reader.query<{ oldest_s: number; late: number }>(
      `select coalesce(max(x.age_s), 0)::float8 as oldest_s, count(*) filter (where x.age_s > $1) as late from (
         select extract(epoch from clock_timestamp() - greatest(i.received_at, n.state_since)) as age_s
         from nodes n join node_agents a on a.node_id = n.id and '${COMPARES}' = any (a.kinds)
         left join node_inventories i on i.node_id = n.id where n.state = 'active') x`,
      [lateS],
    )
  ).rows[0] ?? { oldest_s: 0, late: 0 };

/** The number of automatic starts of its VM within the last hour. */
export const countRecentStarts = async (reader: Reader, allocationId: string, workflow: string): Promise<number> =>
  (
    await reader.query<{ count: number }>(
      `select count(*) as count from workflow_runs where subject_id = $1 and workflow = $2 and starts_with(correlation_id, $3)
         and created_at > clock_timestamp() - interval '1 hour'`,
      [allocationId, workflow, FOUND_DOWN],
    )
  ).rows[0]?.count ?? 0;
