/** Nodes with a seen agent and a discovered host, without an agent process: for tests of later steps. */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import type { HostFacts, TaskOutput } from '@gpuaas/contract/node';
import { recordDiscovery } from '../src/agents/discovery.ts';
import type { Database } from '../src/db/client.ts';
import { PLATFORM } from '../src/db/client.ts';
import { insertTask } from '../src/db/node-task.ts';
import { lockSummary } from '../src/db/placement.ts';
import { restoreSlot } from '../src/db/slot-approval.ts';
import { REASONS } from '../src/domain/reasons.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { candidate } from './candidate.ts';
import { aNode, aProof, type NodeFacts, type Sql } from './placement.ts';
import { until } from './until.ts';

type Output = TaskOutput<'slice.topology_discover'>;
let hosts = 0;

const unread = { unreadable: 'Not looked at.' } as const;
const factsOf = (candidates: Output['map']['candidates']): HostFacts => ({
  schema: 1,
  observed_at: new Date().toISOString(),
  ...{ system: unread, pci: unread, iommu_groups: unread, gpus: unread, nics: unread, fabric: unread },
  ...{ network: unread, tools: unread, images: unread },
  disks: {
    value: candidates.map((found, index) => ({
      name: `nvme${index}n1`,
      serial: found.nvme_serial,
      model: 'Test',
      eui: null,
      device: found.nvme_device,
      major_minor: `259:${index}`,
      pci_address: null,
      size_bytes: found.nvme_size_bytes ?? 0,
      namespaces: 1,
      is_boot: index === 7,
      is_swap: false,
      mounts: found.nvme_mounts,
      holders: found.nvme_holders,
      filesystems: found.nvme_filesystems,
      partitions: [],
      erase: unread,
    })),
  },
});

/** A host's result of a discovery: eight slots of an H200 board, or those given. */
export const discovery = (candidates = eight(++hosts), over: Partial<Output['map']> = {}): Output => ({
  facts: factsOf(candidates),
  map: {
    candidates: [...candidates],
    partitions: HGX_PARTITIONS.map((module_ids, partition_id) => ({
      partition_id,
      module_ids: [...module_ids],
      is_active: false,
    })),
    prerequisites: [{ name: 'kvm', is_met: true, needs_reboot: false, message: 'KVM is available.' }],
    reboot_required: false,
    ...over,
  },
  map_hash: '0'.repeat(64),
});

export const eight = (host: number) => [0, 1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index, {}, host));

/** The host reports: the node has this discovery from now on. */
export const discover = (database: Database, nodeId: string, output: Output = discovery()): Promise<string> =>
  database.write(PLATFORM, async (tx) => {
    const { id } = await insertTask(tx, {
      node_id: nodeId,
      kind: 'slice.topology_discover',
      params: { accelerators: [], private_network: '10.100.0.0/24' },
      correlation_id: 'test-discovery',
    });
    await tx.query(
      "update node_tasks set state = 'completed', output = '{}', finished_at = clock_timestamp() where id = $1",
      [id],
    );
    await recordDiscovery(tx, { id, node_id: nodeId }, output);
    return id;
  });

/** False while a worker executes the run of one of the wipes: it could still create a task. */
const tryProveFirstWipes = (database: Database, nodeId: string): Promise<boolean> =>
  database.write(PLATFORM, async (tx) => {
    const runs = await tx.query<{ state: string }>(
      `select r.state from workflow_runs r join node_resource_slots s on s.id = r.subject_id
       where s.node_id = $1 and r.finished_at is null order by r.id for update of r`,
      [nodeId],
    );
    if (runs.rows.some(({ state }) => state === 'running')) return false;
    await lockSummary(tx, nodeId);
    const { rows } = await tx.query<{ id: string; generation: number; nvme_serial: string }>(
      'select id, generation, nvme_serial from node_resource_slots where node_id = $1 and status_reason = $2',
      [nodeId, REASONS.first_wipe],
    );
    for (const slot of rows) {
      const wipe_proof_id = await aProof(tx, { node_id: nodeId, slot_id: slot.id, serial: slot.nvme_serial });
      await restoreSlot(tx, slot, { wipe_proof_id, status: 'available', reason: null });
    }
    const ids = rows.map(({ id }) => id);
    await tx.query(
      `update workflow_runs set state = 'done', finished_at = clock_timestamp(), lease_owner = null, lease_until = null,
         waiting_for = null, signal_deadline_at = null where subject_id = any ($1) and finished_at is null`,
      [ids],
    );
    await tx.query(
      `update node_tasks set state = 'cancelled', finished_at = clock_timestamp() where node_id = $1 and kind = 'node.cleanup'
         and finished_at is null`,
      [nodeId],
    );
    await refreshSummary(tx, nodeId);
    return true;
  });

/** The first wipe of every newly approved slot is proven immediately, without a host; its run ends. */
export const proveFirstWipes = (database: Database, nodeId: string): Promise<void> =>
  until('no worker executes a first wipe', () => tryProveFirstWipes(database, nodeId));

/** A node without slots whose agent was seen just now. */
export const anEnrolledNode = async (database: Database, sql: Sql, facts: NodeFacts = {}): Promise<string> => {
  const { id } = await aNode(sql, { slots: false, partitions: false, ...facts });
  await sql.query(
    `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
     values ($1, clock_timestamp() + interval '1 day', '0.1.0', 'boot-1', clock_timestamp() - interval '1 hour', '{}')`,
    [id],
  );
  await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  return id;
};
