/** Nodes: their rows as operators see them, and every change of them. A change locks the node's row of the placement index first. */

import type { BootKind } from '@gpuaas/contract/node';
import type { HostSize } from '@gpuaas/scheduler';
import type { FoundGpus } from '../domain/gpu-model.ts';
import type { SourceOf } from '../domain/moves.ts';
import type { nodeMoves, occupancyMoves } from '../domain/node-state.ts';
import type { Reader, Tx } from './client.ts';
import type { NewHealth } from './health-report.ts';
import { NODE_HOST, type NodeHostView } from './node-host.ts';
import { agentIsConnected, CLOCK_TRUSTED, claimIsLive, NODE_OVER, unapprovedDisks } from './predicates.ts';
import { statement } from './statement.ts';
import type { Nodes } from './types.gen.ts';

/** An element of `disks_found`. */
export type FoundDisk = Readonly<{ name: string; serial: string | null }>;

/** An element of `data_disks`. A disk that an earlier build declared may have no size. */
export type DataDisk = Readonly<{ serial: string; device: string; size_bytes: number | null }>;

export type NodeState = Nodes['state'];
export type CapacityMode = Nodes['capacity_mode'];

export type NodeRow = Readonly<
  Pick<
    Nodes,
    | 'id'
    | 'name'
    | 'region_name'
    | 'gpu_model'
    | 'gpu_count'
    | 'host_role'
    | 'state'
    | 'state_reason'
    | 'state_since'
    | 'capacity_mode'
    | 'occupancy'
    | 'is_held'
    | 'held_reason'
    | 'health'
    | 'launch_failures'
    | 'launch_failed_at'
    | 'has_hardware_change'
    | 'gpu_model_conflict'
    | 'reboot_required'
    | 'reboot_reason'
    | 'version'
    | 'created_at'
  > & {
    gpus_found: FoundGpus[];
    unapproved_disks: (FoundDisk & { is_wipe_pending: boolean })[];
    pool_name: string;
    pool_organization_id: string | null;
    is_runtime_validated: boolean;
    reconciled_at: string | null;
    finding_count: number;
    host: NodeHostView;
    last_seen_at: string | null;
    is_connected: boolean;
    free_gpus: number;
    largest_set: number;
  }
>;

/**
 * What a launch could get of node `n` now, by its row `s` of the placement index: all of it at once, or in slices. The
 * index counts clean slots whatever their node is; a node that takes no launch has nothing free.
 */
const freeOf = (inSlices: string): string =>
  `case when s.key_node is not null then n.gpu_count when s.is_schedulable then s.${inSlices} else 0 end`;
export const FREE_OF_NODE = `${freeOf('free_count')} as free_gpus, ${freeOf('largest_set')} as largest_set`;

/** The prerequisite check counts while it is newer than the boot. */
const NODE = `n.id, n.name, n.region_name, p.name as pool_name, p.organization_id as pool_organization_id, n.gpu_model, n.gpu_count,
  n.host_role, n.state, n.state_reason, n.state_since, n.capacity_mode, n.occupancy, n.is_held, n.held_reason, n.health, n.launch_failures, n.launch_failed_at,
  n.is_runtime_passed and n.runtime_checked_at is not null and (n.booted_at is null or n.runtime_checked_at > n.booted_at) as is_runtime_validated,
  n.has_hardware_change, n.gpus_found, n.gpu_model_conflict, ${unapprovedDisks('n')} as unapproved_disks, n.reboot_required, n.reboot_reason, i.received_at as reconciled_at, coalesce(jsonb_array_length(i.findings), 0) as finding_count, ${NODE_HOST}, a.last_seen_at, ${agentIsConnected('a')} as is_connected,
  ${FREE_OF_NODE}, n.version, n.created_at
  from nodes n join pools p on p.id = n.pool_id left join node_placement_summary s on s.node_id = n.id
  left join node_agents a on a.node_id = n.id left join node_inventories i on i.node_id = n.id
  left join node_hosts h on h.node_id = n.id and h.ended_at is null`;

export const findNode = async (reader: Reader, id: string): Promise<NodeRow | undefined> =>
  (await reader.query<NodeRow>(`select ${NODE} where n.id = $1 and n.state <> 'deleted'`, [id])).rows[0];

export const listNodes = async (
  reader: Reader,
  page: Readonly<{
    after: string | null;
    limit: number;
    name: string | null;
    region_name: string | null;
    state: string | null;
  }>,
): Promise<NodeRow[]> =>
  (
    await reader.query<NodeRow>(
      `select ${NODE} where ($1::text is null or n.id > $1) and ($2::text is null or n.region_name = $2)
         and (n.state = $3 or ($3::text is null and n.state <> 'deleted')) and ($5::text is null or n.name = $5) order by n.id limit $4`,
      [page.after, page.region_name, page.state, page.limit, page.name],
    )
  ).rows;

/** Something that only a boot mends. It stands until the host has booted after now. */
export const wantReboot = async (tx: Tx, nodeId: string, reason: string): Promise<void> => {
  await tx.query(
    `update nodes set reboot_required = true, reboot_wanted_at = clock_timestamp(), reboot_reason = $2, version = version + 1
     where id = $1`,
    [nodeId, reason],
  );
};

export type NewNode = Readonly<
  Pick<
    Nodes,
    | 'id'
    | 'name'
    | 'region_name'
    | 'pool_id'
    | 'gpu_model'
    | 'gpu_count'
    | 'host_role'
    | 'state'
    | 'capacity_mode'
    | 'health'
    | 'booted_at'
    | 'runtime_checked_at'
    | 'is_runtime_passed'
  > & {
    data_disks: readonly DataDisk[];
  }
>;

const INSERT_NODE = statement(
  {
    id: 'text',
    name: 'text',
    region_name: 'text',
    pool_id: 'text',
    gpu_model: 'text',
    gpu_count: 'integer',
    host_role: 'text',
    state: 'text',
    capacity_mode: 'text',
    health: 'text',
    booted_at: 'timestamptz | null',
    runtime_checked_at: 'timestamptz | null',
    is_runtime_passed: 'boolean',
    data_disks: 'jsonb',
  },
  `insert into nodes (id, name, region_name, pool_id, gpu_model, gpu_count, host_role, state, capacity_mode, health, booted_at,
     runtime_checked_at, is_runtime_passed, data_disks, restore_hold_id)
   values (:id, :name, :region_name, :pool_id, :gpu_model, :gpu_count, :host_role, :state, :capacity_mode, :health, :booted_at,
     :runtime_checked_at, :is_runtime_passed, :data_disks,
     (select max(h.restore_hold_id) from nodes h where h.restore_hold_id is not null and h.state not ${NODE_OVER}))
   on conflict (id) do nothing`,
);

/**
 * False when the node is there already. While a restore holds others it is held too: it may be a host that the backup does
 * not know, with tenants.
 */
export const insertNode = async (tx: Tx, row: NewNode): Promise<boolean> =>
  (await INSERT_NODE.query(tx, row)).rowCount === 1;

export const holdNode = async (tx: Tx, id: string, heldReason: string | null): Promise<void> => {
  await tx.query(
    'update nodes set is_held = $2::text is not null, held_reason = $2, version = version + 1 where id = $1',
    [id, heldReason],
  );
};

/** Clean nodes that are eligible for bare metal and not held, locked; those for bare metal only come first. */
export const lockHoldable = async (
  tx: Tx,
  wanted: Readonly<{ region_name: string; gpu_model: string; node_count: number }>,
): Promise<string[]> =>
  (
    await tx.query<{ id: string }>(
      `select n.id from node_placement_summary s join nodes n on n.id = s.node_id
       where s.region_name = $1 and s.gpu_model = $2 and s.pool_organization_id = '' and s.key_node is not null and not n.is_held
       order by s.key_node, s.node_id limit $3 for update of s, n skip locked`,
      [wanted.region_name, wanted.gpu_model, wanted.node_count],
    )
  ).rows.map((row) => row.id);

/** To a state, from some of those that may become it; a node that is rebound may be in it already. */
export type NodeMove = {
  [To in NodeState]: Readonly<{ from: readonly (SourceOf<typeof nodeMoves, To> | To)[]; to: To }>;
}[NodeState];

/** True when the node was in one of the from-states and is now in the new one. */
export const moveNode = async (tx: Tx, move: Readonly<{ id: string; reason: string }> & NodeMove): Promise<boolean> =>
  (
    await tx.query(
      `update nodes set state = $3, state_reason = $4, state_since = clock_timestamp(), state_deadline_at = null, version = version + 1
       where id = $1 and state = any ($2)`,
      [move.id, move.from, move.to, move.reason],
    )
  ).rowCount === 1;

/** True when nothing holds the node and it was still in the mode that the plan began with. */
export const convertNode = async (
  tx: Tx,
  change: Readonly<{ id: string; from: CapacityMode; to: CapacityMode }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update nodes set capacity_mode = $3, version = version + 1 where id = $1 and capacity_mode = $2 and occupancy = 'free'
         and not exists (select from allocation_resource_claims c where c.node_id = $1 and ${claimIsLive('c')})`,
      [change.id, change.from, change.to],
    )
  ).rowCount === 1;

/**
 * The check of its runtime counts no more once a node has booted. The time of the boot is that of the host's clock, less
 * its error. A reboot that was wanted before it is done; what the newest discovery asks for is left to the next one.
 */
export const noteBoot = async (tx: Tx, nodeId: string): Promise<void> => {
  await tx.query(
    `update nodes n set version = n.version + 1, booted_at = b.at,
       reboot_required = case when n.reboot_wanted_at < b.at then coalesce((select d.reboot_required from topology_discoveries d
         where d.node_id = n.id order by d.task_id desc limit 1), false) else n.reboot_required end,
       reboot_wanted_at = case when n.reboot_wanted_at < b.at then null else n.reboot_wanted_at end,
       reboot_reason = case when n.reboot_wanted_at < b.at then null else n.reboot_reason end
     from (select node_id, least(clock_timestamp(), booted_at - make_interval(secs => clock_skew_ms / 1000.0)) as at
       from node_agents where node_id = $1) b where n.id = b.node_id`,
    [nodeId],
  );
};

/** A disk the platform owns is one that bare-metal cleanup erases. An earlier declaration of it is replaced. */
export const declareDataDisk = async (tx: Tx, nodeId: string, disk: DataDisk): Promise<void> => {
  await tx.query(
    `update nodes set version = version + 1, data_disks = $2::jsonb ||
       coalesce((select jsonb_agg(d) from jsonb_array_elements(data_disks) d where d ->> 'serial' <> $3), '[]')
     where id = $1 and not data_disks @> $2::jsonb`,
    [nodeId, JSON.stringify([disk]), disk.serial],
  );
};

/** A disk that is in another place now is no data disk of the node. */
export const removeDataDisk = async (tx: Tx, nodeId: string, serial: string): Promise<void> => {
  await tx.query(
    `update nodes set version = version + 1,
       data_disks = coalesce((select jsonb_agg(d) from jsonb_array_elements(data_disks) d where d ->> 'serial' <> $2), '[]') where id = $1`,
    [nodeId, serial],
  );
};

/** Nothing is known of the host that the node gets next. */
export const resetHostFacts = async (tx: Tx, nodeId: string): Promise<void> => {
  await tx.query(
    `update nodes set version = version + 1, data_disks = '[]', health = 'unknown', health_detail = '{}', booted_at = null,
       runtime_checked_at = null, is_runtime_passed = false, has_hardware_change = false, reboot_required = false,
       reboot_wanted_at = null, reboot_reason = null,
       gpus_found = '[]', gpu_model_conflict = null, disks_found = '[]',
       host_vcpu_count = null, host_memory_mib = null, host_hugepages_mib = null, host_numa_nodes = null, host_pages = null,
       host_boot_kinds = null where id = $1`,
    [nodeId],
  );
};

export const setNodeHealth = async (tx: Tx, nodeId: string, to: NewHealth, fellIll: boolean): Promise<void> => {
  await tx.query(
    `update nodes set health = $2, health_detail = health_detail || jsonb_build_object('alerts', $3::jsonb),
       fell_ill_at = case when $4 then clock_timestamp() else fell_ill_at end, version = version + 1 where id = $1`,
    [nodeId, to.health, JSON.stringify(to.alerts), fellIll],
  );
};

/** Whether any slot still differs from what was approved. */
export const clearNodeDrift = async (tx: Tx, nodeId: string): Promise<void> => {
  await tx.query(
    `update nodes set version = version + 1, has_hardware_change = exists (
       select from node_resource_slots s where s.node_id = $1 and s.approval = 'needs_reapproval') where id = $1`,
    [nodeId],
  );
};

export type HeldNodeMove = {
  [To in 'cleaning' | 'cleanup_blocked']: Readonly<{ from: readonly SourceOf<typeof occupancyMoves, To>[]; to: To }>;
}['cleaning' | 'cleanup_blocked'];

/** Only between modes that the claim allows: `exclusive`, `cleaning` and `cleanup_blocked` are one to the claim. */
export const moveHeldNode = async (
  tx: Tx,
  move: Readonly<{
    allocation_id: string;
    node_id: string;
  }> &
    HeldNodeMove,
): Promise<number> => {
  const { rowCount } = await tx.query(
    `update nodes n set occupancy = $3, version = n.version + 1 from allocation_resource_claims c
     where c.allocation_id = $1 and c.node_id = $4 and ${claimIsLive('c')} and c.claim_kind = 'node_exclusive' and n.id = c.node_id
       and n.occupancy = any ($2)`,
    [move.allocation_id, move.from, move.to, move.node_id],
  );
  return rowCount;
};

export const setPrivateNetwork = async (tx: Tx, nodeId: string, network: string): Promise<void> => {
  await tx.query('update nodes set private_network = $2::cidr where id = $1', [nodeId, network]);
};

/**
 * What the prerequisite check of the discovery says; it counts while it is newer than the boot. A reboot that was wanted
 * for another reason is none of its business, unless the host has booted since.
 */
export const recordRuntimeCheck = async (
  tx: Tx,
  nodeId: string,
  found: Readonly<{ is_passed: boolean; reboot_required: boolean; has_hardware_change: boolean }>,
): Promise<void> => {
  await tx.query(
    `update nodes n set runtime_checked_at = clock_timestamp(), is_runtime_passed = $2, has_hardware_change = $4, version = n.version + 1,
       reboot_required = $3 or w.stands, reboot_wanted_at = case when w.stands then n.reboot_wanted_at end,
       reboot_reason = case when w.stands then n.reboot_reason end
     from (select id, reboot_wanted_at is not null and (booted_at is null or booted_at <= reboot_wanted_at) as stands
       from nodes where id = $1) w where n.id = w.id`,
    [nodeId, found.is_passed, found.reboot_required, found.has_hardware_change],
  );
};

export type JudgedNode = Readonly<Pick<Nodes, 'id' | 'name' | 'gpu_model'> & { gpus_found: FoundGpus[] }>;

/** In the order of locks. */
export const listNodesWithGpus = async (reader: Reader, gpuIds: readonly string[]): Promise<JudgedNode[]> =>
  (
    await reader.query<JudgedNode>(
      `select id, name, gpu_model, gpus_found from nodes n where exists (select from jsonb_array_elements(n.gpus_found) f
         where f ->> 'vendor_device' = any ($1)) order by id`,
      [gpuIds],
    )
  ).rows;

export const setFoundGpus = async (
  tx: Tx,
  nodeId: string,
  gpus: Readonly<{ gpus_found: readonly FoundGpus[]; gpu_model_conflict: string | null }>,
): Promise<void> => {
  await tx.query(
    `update nodes set gpus_found = $2, gpu_model_conflict = $3, version = version + 1
     where id = $1 and (gpus_found, gpu_model_conflict) is distinct from ($2::jsonb, $3)`,
    [nodeId, JSON.stringify(gpus.gpus_found), gpus.gpu_model_conflict],
  );
};

export const setFoundDisks = async (tx: Tx, nodeId: string, disks: readonly FoundDisk[]): Promise<void> => {
  await tx.query(
    'update nodes set disks_found = $2, version = version + 1 where id = $1 and disks_found is distinct from $2::jsonb',
    [nodeId, JSON.stringify(disks)],
  );
};

/** What the discovery measured; placement compares VMs with it. */
export const recordHostSize = async (tx: Tx, nodeId: string, size: Omit<HostSize, 'gpu_count'>): Promise<void> => {
  await tx.query(
    'update nodes set host_vcpu_count = $2, host_memory_mib = $3, host_hugepages_mib = $4, host_numa_nodes = $5, host_pages = $6 where id = $1',
    [
      nodeId,
      size.vcpu_count,
      size.memory_mib,
      size.hugepages_mib,
      size.numa_nodes,
      size.pages_mib == null ? null : JSON.stringify(size.pages_mib),
    ],
  );
};

/** The boot kinds whose files the discovery found; placement puts no other image on the host. */
export const recordBootKinds = async (tx: Tx, nodeId: string, kinds: readonly BootKind[]): Promise<void> => {
  await tx.query('update nodes set host_boot_kinds = $2 where id = $1', [nodeId, kinds]);
};

/** False when the node changed since that version. */
export const moveNodeToPool = async (tx: Tx, id: string, version: number, poolId: string): Promise<boolean> =>
  (
    await tx.query('update nodes set pool_id = $3, version = version + 1 where id = $1 and version = $2', [
      id,
      version,
      poolId,
    ])
  ).rowCount === 1;

export type LaunchFailures = Readonly<
  Pick<Nodes, 'id' | 'name' | 'launch_failures'> & {
    /** The time of the database. */
    at: string;
  }
>;

/** Counts one more failed launch. */
export const addLaunchFailure = async (tx: Tx, nodeId: string): Promise<LaunchFailures | undefined> =>
  (
    await tx.query<LaunchFailures>(
      `update nodes set launch_failures = launch_failures + 1, launch_failed_at = clock_timestamp(), version = version + 1
       where id = $1 returning id, name, launch_failures, clock_timestamp() as at`,
      [nodeId],
    )
  ).rows[0];

/** Undefined when there are none. */
export const clearLaunchFailures = async (tx: Tx, nodeId: string): Promise<LaunchFailures | undefined> =>
  (
    await tx.query<LaunchFailures>(
      `update nodes set launch_failures = 0, version = version + 1 where id = $1 and launch_failures > 0
       returning id, name, launch_failures, clock_timestamp() as at`,
      [nodeId],
    )
  ).rows[0];

type Cooldown = Readonly<{ cooldown_min: number; failures_max: number }>;
const COOLED = `launch_failures > 0 and launch_failures < $1 and launch_failed_at < clock_timestamp() - make_interval(mins => $2)
  and ${CLOCK_TRUSTED}`;

/** Nodes whose last failed launch is long enough ago, and on which placement has not stopped. */
export const listCooledNodes = async (reader: Reader, rule: Cooldown): Promise<string[]> =>
  (
    await reader.query<{ id: string }>(`select id from nodes where ${COOLED} order by id limit 100`, [
      rule.failures_max,
      rule.cooldown_min,
    ])
  ).rows.map(({ id }) => id);

export const isNodeCooled = async (reader: Reader, nodeId: string, rule: Cooldown): Promise<boolean> =>
  (await reader.query(`select from nodes where ${COOLED} and id = $3`, [rule.failures_max, rule.cooldown_min, nodeId]))
    .rowCount === 1;
