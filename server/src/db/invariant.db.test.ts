import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestAllocation, type TestNode } from '../../test/placement.ts';
import { refreshSummary } from '../placement/summary.ts';
import { type Database, PLATFORM, type Reader } from './client.ts';
import { INVARIANTS, listViolations } from './invariant.ts';

/** Checks, unique indexes and exclusions that would refuse the intended damage of these tests. */
const WALLS = `do $$ declare wall record; begin
  for wall in select conrelid::regclass::text as t, conname as c from pg_constraint
    where connamespace = 'public'::regnamespace and contype in ('c', 'x') and conrelid <> 0 and coninhcount = 0 loop
    execute format('alter table %s drop constraint %I', wall.t, wall.c);
  end loop;
  for wall in select indexrelid::regclass::text as i from pg_index x join pg_class k on k.oid = x.indrelid
    where k.relnamespace = 'public'::regnamespace and x.indisunique and not x.indisprimary
      and not exists (select from pg_constraint c where c.conindid = x.indexrelid)
      and not exists (select from pg_inherits i where i.inhrelid = x.indexrelid) loop
    execute format('drop index %s', wall.i);
  end loop; end $$`;

describe('invariants', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let database: Database;
  let sql: Client;
  let nodes: { sliced: TestNode; whole: TestNode; empty: TestNode };
  let active: TestAllocation;
  let metal: TestAllocation;
  let releasing: TestAllocation;

  before(async () => {
    const db = await testDatabase(t);
    database = db.database;
    sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    t.after(() => sql.end());
    nodes = { sliced: await aNode(sql), whole: await aNode(sql), empty: await aNode(sql) };
    active = await anAllocation(sql, { node: nodes.sliced, gpu_count: 4, state: 'active' });
    releasing = await anAllocation(sql, { node: nodes.sliced, state: 'releasing' });
    await anAllocation(sql, { node: nodes.sliced, state: 'failed', tenant: active });
    metal = await anAllocation(sql, { node: nodes.whole, shape: 'baremetal', state: 'provisioning' });
    for (const node of Object.values(nodes)) await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  });
  after(async () => {
    for (const close of closers) await close();
  });

  it('none is violated on a database in use', () => assertInvariants(database));

  /** Makes the damage with every constraint disabled, checks one invariant, and rolls everything back. */
  const damage = async (name: string, statements: readonly (readonly [string, ...unknown[]])[]) => {
    const invariant = INVARIANTS.find((known) => known.name === name);
    assert.ok(invariant, name);
    await sql.query('begin');
    try {
      await sql.query("set local session_replication_role = 'replica'");
      await sql.query(WALLS);
      for (const [text, ...values] of statements) await sql.query(text, values);
      const reader: Reader = {
        query: async <R extends object>(text: string, values?: readonly unknown[]) => {
          const { rows, rowCount } = await sql.query<R>(text, values === undefined ? [] : [...values]);
          return { rows, rowCount: rowCount ?? 0 };
        },
      };
      return (await listViolations(reader, invariant)).map((violation) => violation.subject_id);
    } finally {
      await sql.query('rollback');
    }
  };

  const machineOf = (allocation_id: string | null) => ({
    name: allocation_id === null ? 'somebodys' : `gpuaas-${allocation_id}`,
    allocation_id,
    is_managed: allocation_id !== null,
  });
  /** A host report, and its evaluation. */
  const found = (node: TestNode, machine: object, findings: readonly object[]) =>
    [
      'insert into node_inventories (node_id, observed_at, boot_id, content, findings) values ($1, now(), $2, $3, $4)',
      node.id,
      'boot-1',
      JSON.stringify({ vms: [machine] }),
      JSON.stringify(findings),
    ] as const;

  const proof = (slot: string | null, allocation: string, node: string, verified = true) =>
    [
      `insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id, sequence, previous_hash, proof_hash)
       select 'wpf_test', $1, $2, $3, 'tsk_test', 'blkdiscard', $4, '{}', 'test', coalesce(max(w.sequence), 0) + 1,
         coalesce((array_agg(w.proof_hash order by w.sequence desc))[1], wipe_chain_genesis(coalesce($2, $1))), ''
       from wipe_proofs w where w.target_id = coalesce($2, $1)`,
      node,
      slot,
      allocation,
      verified,
    ] as const;

  /** As the trigger would have set it, which does not fire for the damage. */
  const hashed = ["update wipe_proofs p set proof_hash = wipe_proof_hash(p) where id = 'wpf_test'"] as const;

  const leave = (allocation: TestAllocation) =>
    ["update allocation_resource_claims set move_id = 'mov_test' where slot_id = $1", slotOf(allocation)] as const;
  const away = (allocation: TestAllocation) =>
    ['update allocations set node_id = $2 where id = $1', allocation.id, nodes.empty.id] as const;
  const cleanup = [
    `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, deadline_ms, deadline_at)
     values ('wfr_test', 'clean-left-host', 1, 'mov_test', 'test', '{wipe}', 'wipe', 1, now())`,
  ] as const;
  const slotOf = (allocation: TestAllocation) => allocation.slot_ids[0] ?? '';
  const told = (allocation: TestAllocation, state: string, order: number) =>
    [
      `insert into outbox_events (id, event_type, subject, data, correlation_id, created_at)
       values ('evt_' || $3::integer, 'allocation.changed', $1, jsonb_build_object('state', $2::text), 'test', now() + $3 * interval '1 second')`,
      allocation.id,
      state,
      order,
    ] as const;

  type TaskFacts = Readonly<{
    allocation?: TestAllocation;
    attempt?: number;
    state?: string;
    created_at?: string;
    finished_at?: string;
    expires_at?: string;
    slots?: string;
  }>;
  /** A cleanup requested ten minutes ago with a result just now; `facts` are SQL. */
  const task = (id: string, facts: TaskFacts = {}) => {
    const { id: allocationId, node_id } = facts.allocation ?? releasing;
    return [
      `insert into node_tasks (id, node_id, allocation_id, kind, params, attempt, state, output, correlation_id, created_at, finished_at, expires_at)
       values ($1, $2, $3, 'slice.cleanup', jsonb_build_object('slots', ${facts.slots ?? "'[]'::jsonb"}), $4, $5, '{}', 'test',
         ${facts.created_at ?? "now() - interval '10 minutes'"}, ${facts.finished_at ?? "now() - interval '1 second'"},
         ${facts.expires_at ?? "now() + interval '1 hour'"})`,
      id,
      node_id,
      allocationId,
      facts.attempt ?? 1,
      facts.state ?? 'completed',
    ] as const;
  };
  /** The slot as its task named it, in this generation or another. */
  const erased = (older = 0) =>
    `(select jsonb_agg(jsonb_build_object('slot_id', slot_id, 'generation', slot_generation + ${older}))
      from allocation_resource_claims where allocation_id = '${releasing.id}')`;
  const released = () =>
    [
      "update allocation_resource_claims set released_at = clock_timestamp(), wipe_proof_id = 'wpf_test' where slot_id = $1",
      slotOf(releasing),
    ] as const;

  const deletedProject = [
    `insert into projects (id, organization_id, name, display_name, deleted_at) select 'prj_gone', id, 'gone', 'Gone', now()
     from organizations limit 1`,
  ] as const;
  const openSession = (project_id: string) =>
    [
      `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, is_writable, state, principal_id,
         principal_kind, principal_name, ticket_expires_at, correlation_id, expires_at)
       values ('ses_left', $2, $3, $1, $4, 'ssh', true, 'open', 'usr_x', 'user', 'x', now(), 'test', now())`,
      releasing.id,
      releasing.organization_id,
      project_id,
      releasing.node_id,
    ] as const;

  type Damage = Readonly<{
    what: string;
    do: () => readonly (readonly [string, ...unknown[]])[];
    finds: () => readonly string[];
  }>;
  const FORCED: Readonly<Record<string, readonly Damage[]>> = {
    one_claim_per_slot: [
      {
        what: 'a second claim on a slot',
        do: () => [
          [
            `insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count, slot_generation)
             select 'clm_second', allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, 1, 1
             from allocation_resource_claims where slot_id = $1`,
            slotOf(active),
          ],
        ],
        finds: () => [slotOf(active)],
      },
    ],
    claim_released_with_proof: [
      {
        what: 'a claim released without any proof',
        do: () => [
          [
            "update allocation_resource_claims set released_at = now(), id = 'clm_released' where slot_id = $1",
            slotOf(active),
          ],
        ],
        finds: () => ['clm_released'],
      },
      {
        what: 'a claim released by a wipe that failed its check',
        do: () => [
          proof(slotOf(active), active.id, active.node_id, false),
          [
            "update allocation_resource_claims set released_at = now(), wipe_proof_id = 'wpf_test', id = 'clm_released' where slot_id = $1",
            slotOf(active),
          ],
        ],
        finds: () => ['clm_released'],
      },
      {
        what: "a claim released by another allocation's proof",
        do: () => [
          proof(slotOf(active), releasing.id, active.node_id),
          [
            "update allocation_resource_claims set released_at = now(), wipe_proof_id = 'wpf_test', id = 'clm_released' where slot_id = $1",
            slotOf(active),
          ],
        ],
        finds: () => ['clm_released'],
      },
    ],
    available_slot_is_unclaimed: [
      {
        what: 'an available slot that a slice holds',
        do: () => [["update node_resource_slots set status = 'available' where id = $1", slotOf(active)]],
        finds: () => [slotOf(active)],
      },
      {
        what: 'an available slot on a node that an allocation holds whole',
        do: () => [["update node_resource_slots set status = 'available' where id = $1", slotOf(metal)]],
        finds: () => [slotOf(metal)],
      },
    ],
    available_slot_is_complete: [
      {
        what: 'an available slot without a fabric function',
        do: () => [
          ['update node_resource_slots set fabric_vf_pci_address = null where id = $1', nodes.empty.slot_ids[0]],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
    ],
    available_slot_is_wiped: [
      {
        what: 'a slot available again without a wipe',
        do: () => [['update node_resource_slots set last_claimed_at = now() where id = $1', nodes.empty.slot_ids[0]]],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot available again by a wipe from before the last claim',
        do: () => [
          proof(nodes.empty.slot_ids[0] ?? '', active.id, nodes.empty.id),
          [
            "update node_resource_slots set wipe_proof_id = 'wpf_test', wiped_at = now(), last_claimed_at = clock_timestamp() + interval '1 minute' where id = $1",
            nodes.empty.slot_ids[0],
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot of a failed launch available again by a wipe that failed its check',
        do: () => [
          [
            "update node_resource_slots set last_claimed_at = now() - interval '1 hour' where id = $1",
            nodes.empty.slot_ids[0],
          ],
          proof(nodes.empty.slot_ids[0] ?? '', active.id, nodes.empty.id, false),
          [
            "update node_resource_slots set wipe_proof_id = 'wpf_test', wiped_at = now() where id = $1",
            nodes.empty.slot_ids[0],
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot that was never wiped',
        do: () => [
          [
            'update node_resource_slots set wipe_proof_id = null, wiped_at = null, wipe_outcome = null where id = $1',
            nodes.empty.slot_ids[0],
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot with a wipe of another disk',
        do: () => [["update node_resource_slots set nvme_serial = 'OTHER' where id = $1", nodes.empty.slot_ids[0]]],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot whose GPU was not reset',
        do: () => [
          [
            "update wipe_proofs set evidence = evidence - 'gpu_reset' where slot_id = $1 and sequence = 1",
            nodes.empty.slot_ids[0],
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      ...['nvme_serial', 'gpu_uuid'].map((device) => ({
        what: `a slot whose ${device} was claimed later on another node`,
        do: () => [
          [
            `update node_resource_slots s set ${device} = o.${device} from node_resource_slots o where o.id = $1 and s.id = $2`,
            nodes.empty.slot_ids[0],
            slotOf(active),
          ] as const,
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      })),
      {
        what: 'a slot whose disk was claimed later as a data disk of another node',
        do: () => [
          [
            `update node_resource_slots set nvme_serial = (select data_disks -> 0 ->> 'serial' from nodes where id = $2) where id = $1`,
            nodes.empty.slot_ids[0],
            nodes.whole.id,
          ],
          [
            `update wipe_proofs set disk_serial = (select nvme_serial from node_resource_slots where id = $1) where slot_id = $1`,
            nodes.empty.slot_ids[0],
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
      {
        what: 'a slot whose disk was claimed later with a whole node where it was excluded',
        do: () => [
          [
            `insert into disk_ownerships (id, node_id, region_name, serial, device, state, approved_by, reason, correlation_id)
             select 'dsk_test', $2, s.region_name, s.nvme_serial, '/dev/disk/by-id/nvme-x', 'excluded', 'usr_1', 'test', 'test'
             from node_resource_slots s where s.id = $1`,
            nodes.empty.slot_ids[0],
            nodes.whole.id,
          ],
        ],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
    ],
    proof_is_in_its_chain: [
      {
        what: 'nothing about the first proof of a slot',
        do: () => [proof(slotOf(active), active.id, active.node_id), hashed],
        finds: () => [],
      },
      {
        what: 'a proof that was edited',
        do: () => [
          proof(slotOf(active), active.id, active.node_id, false),
          hashed,
          ["update wipe_proofs set is_verified = true where id = 'wpf_test'"],
        ],
        finds: () => ['wpf_test'],
      },
      {
        what: 'a proof that follows nothing',
        do: () => [
          proof(slotOf(active), active.id, active.node_id),
          ["update wipe_proofs set sequence = sequence + 1 where id = 'wpf_test'"],
          hashed,
        ],
        finds: () => ['wpf_test'],
      },
    ],
    taken_slot_has_claim: [
      {
        what: 'a slot in use without a claim',
        do: () => [["update node_resource_slots set status = 'in_use' where id = $1", nodes.empty.slot_ids[0]]],
        finds: () => [nodes.empty.slot_ids[0] ?? ''],
      },
    ],
    claims_match_allocation: [
      {
        what: 'a slice over two nodes',
        do: () => [
          ['update allocation_resource_claims set node_id = $2 where slot_id = $1', slotOf(active), nodes.empty.id],
        ],
        finds: () => [active.id],
      },
      {
        what: 'a slice with a GPU fewer than sold',
        do: () => [['delete from allocation_resource_claims where slot_id = $1', slotOf(active)]],
        finds: () => [active.id],
      },
      {
        what: 'bare metal that claims one slot',
        do: () => [["update allocation_resource_claims set claim_kind = 'slot' where allocation_id = $1", metal.id]],
        finds: () => [metal.id],
      },
    ],
    left_host_is_cleaned: [
      {
        what: 'a claim left on the node where its allocation is',
        do: () => [leave(releasing), cleanup],
        finds: () => [slotOf(releasing)],
      },
      {
        what: 'a left slot that is in use',
        do: () => [leave(active), away(active), cleanup],
        finds: () => [slotOf(active)],
      },
      {
        what: 'a left slot that no run cleans up',
        do: () => [leave(releasing), away(releasing)],
        finds: () => [slotOf(releasing)],
      },
    ],
    slice_is_legal_set: [
      {
        what: 'a slice whose GPUs are no fabric partition',
        do: () => [['update node_resource_slots set module_id = 9 where id = $1', slotOf(active)]],
        finds: () => [active.id],
      },
    ],
    exclusive_excludes_slots: [
      {
        what: 'a whole node claimed beside a slice on it',
        do: () => [
          [
            "update allocation_resource_claims set claim_kind = 'node_exclusive', slot_id = null where slot_id = $1",
            slotOf(active),
          ],
        ],
        finds: () => [nodes.sliced.id],
      },
    ],
    occupancy_matches_claims: [
      {
        what: 'a claimed node that says it is free',
        do: () => [["update nodes set occupancy = 'free' where id = $1", nodes.whole.id]],
        finds: () => [nodes.whole.id],
      },
      {
        what: 'a node that is being cleaned without a claim',
        do: () => [["update nodes set occupancy = 'cleaning' where id = $1", nodes.empty.id]],
        finds: () => [nodes.empty.id],
      },
    ],
    bindings_are_unique: ['gpu_pci_address', 'fabric_vf_pci_address', 'nvme_serial', 'mac_address', 'private_ip'].map(
      (column) => ({
        what: `two approved slots with one ${column}`,
        do: () => [
          [
            `update node_resource_slots s set ${column} = o.${column} from node_resource_slots o where s.id = $1 and o.id = $2`,
            nodes.empty.slot_ids[0],
            nodes.empty.slot_ids[1],
          ],
        ],
        finds: () => [[...nodes.empty.slot_ids.slice(0, 2)].sort()[0] ?? ''],
      }),
    ),
    approval_is_named: [
      {
        what: 'a slot without an approval',
        do: () => [['update node_resource_slots set approved_by = null where id = $1', slotOf(active)]],
        finds: () => [slotOf(active)],
      },
      {
        what: 'slots on a host that is not for compute',
        do: () => [["update nodes set host_role = 'app_control' where id = $1", nodes.empty.id]],
        finds: () => [...nodes.empty.slot_ids].sort(),
      },
    ],
    index_has_every_node: [
      {
        what: 'a node that the index does not know',
        do: () => [['delete from node_placement_summary where node_id = $1', nodes.empty.id]],
        finds: () => [nodes.empty.id],
      },
      {
        what: 'an index row of a node that is gone',
        do: () => [["update node_placement_summary set node_id = 'nod_gone' where node_id = $1", nodes.empty.id]],
        finds: () => [nodes.empty.id, 'nod_gone'],
      },
      {
        what: 'a node that is offered in another region',
        do: () => [["update node_placement_summary set region_name = 'moon-1' where node_id = $1", nodes.empty.id]],
        finds: () => [nodes.empty.id],
      },
    ],
    index_matches_slots: [
      {
        what: 'an index that offers a quarantined slot',
        do: () => [["update node_resource_slots set status = 'quarantined' where id = $1", nodes.empty.slot_ids[0]]],
        finds: () => [nodes.empty.id],
      },
      {
        what: 'an index that offers a slot whose approval was withdrawn',
        do: () => [
          ["update node_resource_slots set approval = 'needs_reapproval' where id = $1", nodes.empty.slot_ids[0]],
        ],
        finds: () => [nodes.empty.id],
      },
    ],
    index_offers_ready_nodes: [
      ...["state = 'draining'", "health = 'unhealthy'", "occupancy = 'exclusive'", 'is_runtime_passed = false'].map(
        (change) => ({
          what: `an index that offers a node with ${change}`,
          do: () => [[`update nodes set ${change} where id = $1`, nodes.empty.id] as const],
          finds: () => [nodes.empty.id],
        }),
      ),
      {
        what: 'an index that offers a held node for slices',
        do: () => [["update nodes set is_held = true, held_reason = 'x' where id = $1", nodes.empty.id]],
        finds: () => [nodes.empty.id],
      },
    ],
    claims_end_with_allocation: [
      {
        what: 'a released allocation that still holds claims',
        do: () => [["update allocations set state = 'released', released_at = now() where id = $1", releasing.id]],
        finds: () => [releasing.id],
      },
      {
        what: 'a running allocation whose claims were released',
        do: () => [['update allocation_resource_claims set released_at = now() where slot_id = $1', slotOf(active)]],
        finds: () => [active.id],
      },
    ],
    allocation_is_whole: [
      {
        what: 'an allocation without claims',
        do: () => [['delete from allocation_resource_claims where allocation_id = $1', active.id]],
        finds: () => [active.id],
      },
      {
        what: 'an allocation without the terms of its sale',
        do: () => [['delete from allocation_placements where allocation_id = $1', active.id]],
        finds: () => [active.id],
      },
    ],
    change_has_deadline_and_owner: [
      {
        what: 'a release without a deadline and without a run',
        do: () => [["update allocations set state_since = now() - interval '1 hour' where id = $1", releasing.id]],
        finds: () => [releasing.id],
      },
      {
        what: 'a release without a run',
        do: () => [
          [
            "update allocations set state_since = now() - interval '1 hour', state_deadline_at = now() + interval '1 hour' where id = $1",
            releasing.id,
          ],
        ],
        finds: () => [releasing.id],
      },
      {
        what: 'a failure without a reason',
        do: () => [
          [
            "update allocations set state_since = now() - interval '1 hour', state = 'release_failed' where id = $1",
            releasing.id,
          ],
        ],
        finds: () => [releasing.id],
      },
    ],
    power_change_has_run: [
      {
        what: 'a stop without a run',
        do: () => [["update allocations set power_state = 'stopping' where id = $1", active.id]],
        finds: () => [active.id],
      },
      {
        what: 'a reboot whose run has ended',
        do: () => [
          ["update allocations set power_state = 'rebooting', power_run_id = 'wfr_test' where id = $1", active.id],
          [
            `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, state, deadline_ms, deadline_at, finished_at)
             values ('wfr_test', 'reboot-slice', 1, $1, 'test', '{rebootVm}', 'rebootVm', 'stuck', 1, now(), now())`,
            active.id,
          ],
        ],
        finds: () => [active.id],
      },
      {
        what: 'a start by the run of another allocation',
        do: () => [
          ["update allocations set power_state = 'starting', power_run_id = 'wfr_test' where id = $1", active.id],
          [
            `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, state, deadline_ms, deadline_at)
             values ('wfr_test', 'start-slice', 1, $1, 'test', '{startVm}', 'startVm', 'pending', 1, now())`,
            releasing.id,
          ],
        ],
        finds: () => [active.id],
      },
    ],
    power_is_of_active_slices: [
      {
        what: 'a running slice without power',
        do: () => [['update allocations set power_state = null where id = $1', active.id]],
        finds: () => [active.id],
      },
      {
        what: 'power of what is being released',
        do: () => [["update allocations set power_state = 'off' where id = $1", releasing.id]],
        finds: () => [releasing.id],
      },
      {
        what: 'unknown power without a reason',
        do: () => [["update allocations set power_state = 'unknown' where id = $1", active.id]],
        finds: () => [active.id],
      },
    ],
    state_matches_times: [
      {
        what: 'a running allocation whose release was accepted',
        do: () => [['update allocations set release_requested_at = now() where id = $1', active.id]],
        finds: () => [active.id],
      },
      {
        what: 'an allocation without a correlation id',
        do: () => [["update allocations set correlation_id = '' where id = $1", active.id]],
        finds: () => [active.id],
      },
    ],
    one_task_per_slot: [
      {
        what: 'two tasks that run on one slot',
        do: () => [
          [
            `insert into node_tasks (id, node_id, slot_id, kind, params, state, correlation_id, expires_at)
             select 'tsk_' || n, $1, $2, 'slot.wipe', '{}', 'running', 'test', now() from generate_series(1, 2) n`,
            nodes.sliced.id,
            slotOf(active),
          ],
        ],
        finds: () => [slotOf(active)],
      },
      {
        what: 'two tasks that name one slot among others',
        do: () => [
          [
            `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at)
             select 'tsk_' || n, $1, 'slice.cleanup', jsonb_build_object('slots', jsonb_build_array(jsonb_build_object('slot_id', $2::text))),
               'running', 'test', now() from generate_series(1, 2) n`,
            nodes.sliced.id,
            slotOf(active),
          ],
        ],
        finds: () => [slotOf(active)],
      },
      {
        what: 'a task of a generation that the slot has left behind',
        do: () => [
          [
            `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at)
             select 'tsk_1', $1, 'slice.vm_stop', jsonb_build_object('slots', jsonb_build_array(
               jsonb_build_object('slot_id', id, 'generation', generation - 1))), 'queued', 'test', now() from node_resource_slots where id = $2`,
            nodes.sliced.id,
            slotOf(active),
          ],
        ],
        finds: () => ['tsk_1'],
      },
      {
        what: 'a task of a generation that the slot has not reached',
        do: () => [
          [
            `insert into node_tasks (id, node_id, slot_id, kind, params, state, correlation_id, expires_at, slot_generation)
             values ('tsk_1', $1, $2, 'slot.wipe', '{}', 'queued', 'test', now(), 99)`,
            nodes.sliced.id,
            slotOf(active),
          ],
        ],
        finds: () => ['tsk_1'],
      },
    ],
    change_has_event: [
      {
        what: 'a state that was changed by hand',
        do: () => [["update allocations set state = 'failed', state_since = now() where id = $1", active.id]],
        finds: () => [active.id],
      },
      {
        what: 'a release that ended without an event',
        do: () => [["update allocations set state = 'released', released_at = now() where id = $1", releasing.id]],
        finds: () => [releasing.id],
      },
      {
        what: 'a launch whose event is missing',
        do: () => [["delete from outbox_events where subject = $1 and data ->> 'state' = 'provisioning'", metal.id]],
        finds: () => [metal.id],
      },
    ],
    change_is_audited: [
      {
        what: 'a launch without an audit row',
        do: () => [['delete from audit_logs where target_id = $1', active.id]],
        finds: () => [active.id],
      },
      {
        what: 'a launch whose audit row was written apart from it',
        do: () => [["update audit_logs set xid = '1' where target_id = $1", active.id]],
        finds: () => [active.id],
      },
      {
        what: 'a launch with only the audit row of an attempt that was refused',
        do: () => [["update audit_logs set result = 'failure' where target_id = $1", active.id]],
        finds: () => [active.id],
      },
    ],
    states_follow_the_graph: [
      {
        what: 'a move that the graph does not know',
        do: () => [["delete from outbox_events where subject = $1 and data ->> 'state' = 'provisioning'", active.id]],
        finds: () => [active.id],
      },
      {
        what: 'a life that goes on after its end',
        do: () => [told(active, 'releasing', 1), told(active, 'released', 2), told(active, 'active', 3)],
        finds: () => [active.id],
      },
      {
        what: 'an allocation that began in the middle',
        do: () => [
          [
            "delete from outbox_events where subject = $1 and data ->> 'state' in ('requested', 'provisioning')",
            active.id,
          ],
        ],
        finds: () => [active.id],
      },
      {
        what: 'a move without a correlation id',
        do: () => [["update outbox_events set correlation_id = '' where subject = $1", active.id]],
        finds: () => [active.id],
      },
    ],
    late_results_do_not_count: [
      {
        what: 'an answer that was heard after its task had expired',
        do: () => [task('tsk_1', { expires_at: "now() - interval '1 minute'" })],
        finds: () => ['tsk_1'],
      },
      {
        what: 'an answer of an attempt that another had taken over from',
        do: () => [
          task('tsk_1'),
          task('tsk_2', {
            attempt: 2,
            created_at: "now() - interval '5 minutes'",
            state: 'running',
            finished_at: 'null',
          }),
        ],
        finds: () => ['tsk_1'],
      },
      {
        what: 'output of a task that was called off',
        do: () => [task('tsk_1', { state: 'cancelled' })],
        finds: () => ['tsk_1'],
      },
    ],
    proof_is_of_its_task: [
      {
        what: 'a proof that no task gave',
        do: () => [proof(slotOf(releasing), releasing.id, releasing.node_id), released()],
        finds: () => ['wpf_test'],
      },
      {
        what: 'a proof of a task that failed',
        do: () => [
          task('tsk_test', { state: 'failed', slots: erased() }),
          proof(slotOf(releasing), releasing.id, releasing.node_id),
          released(),
        ],
        finds: () => ['wpf_test'],
      },
      {
        what: 'a proof by the task of another allocation',
        do: () => [
          task('tsk_test', { slots: erased(), allocation: active }),
          proof(slotOf(releasing), releasing.id, releasing.node_id),
          released(),
        ],
        finds: () => ['wpf_test'],
      },
      {
        what: 'a proof of an attempt that another had taken over from',
        do: () => [
          task('tsk_test', { slots: erased() }),
          task('tsk_2', { attempt: 2, state: 'running', finished_at: 'null' }),
          proof(slotOf(releasing), releasing.id, releasing.node_id),
          released(),
        ],
        finds: () => ['wpf_test'],
      },
      {
        what: 'a proof of an earlier generation of the slot',
        do: () => [
          task('tsk_test', { slots: erased(-1) }),
          proof(slotOf(releasing), releasing.id, releasing.node_id),
          released(),
        ],
        finds: () => ['wpf_test'],
      },
      {
        what: 'nothing about a proof as it should be',
        do: () => [
          task('tsk_test', { slots: erased() }),
          proof(slotOf(releasing), releasing.id, releasing.node_id),
          released(),
        ],
        finds: () => [],
      },
    ],
    vm_has_claim_or_finding: [
      {
        what: 'a machine of ours that no claim holds, reported and not told',
        do: () => [found(nodes.empty, machineOf('alc_gone'), [])],
        finds: () => [nodes.empty.id],
      },
      {
        what: 'nothing about one that is reported, nor about one that is claimed',
        do: () => [
          found(nodes.empty, machineOf('alc_gone'), [{ code: 'orphan_vm', vm: 'gpuaas-alc_gone', slot_ids: [] }]),
          found(nodes.sliced, machineOf(active.id), []),
        ],
        finds: () => [],
      },
    ],
    held_tasks_are_not_sent: [
      {
        what: 'a wipe sent to a host that was not compared with the restored database',
        do: () => [
          [
            `insert into restores (id, began_by, reason, older_than, ended, lost_changes, correlation_id)
             select 'rst_zz', 'usr_a', 'Restored', now() - interval '1 day', '{}', '[]', $1`,
            nodes.empty.id,
          ],
          ["update nodes set restore_hold_id = 'rst_zz' where id = $1", nodes.empty.id],
          [
            `insert into node_tasks (id, node_id, kind, params, state, dispatched_at, expires_at, correlation_id)
             select 'tsk_zz', $1, 'node.cleanup', '{}', 'dispatched', clock_timestamp(), now() + interval '1 hour', 'c'`,
            nodes.empty.id,
          ],
        ],
        finds: () => ['tsk_zz'],
      },
    ],
    host_has_live_node: [
      {
        what: 'a schedulable node whose host ended',
        do: () => [
          [
            `insert into node_hosts (node_id, product_serial, bound_at, ended_at, ended_reason)
             select $1, 'SN-ENDED', now(), now(), 'replaced'`,
            nodes.empty.id,
          ],
          ['update node_placement_summary set is_schedulable = true where node_id = $1', nodes.empty.id],
        ],
        finds: () => [nodes.empty.id],
      },
      {
        what: 'a retired node that keeps its host',
        do: () => [
          ["insert into node_hosts (node_id, product_serial, bound_at) select $1, 'SN-KEPT', now()", nodes.empty.id],
          ["update nodes set state = 'retired' where id = $1", nodes.empty.id],
        ],
        finds: () => [nodes.empty.id],
      },
    ],
    unclaimed_vm_blocks_slots: [
      {
        what: 'an available slot whose devices a foreign VM has',
        do: () => [
          found(nodes.empty, machineOf(null), [
            { code: 'unknown_vm', vm: 'somebodys', slot_ids: nodes.empty.slot_ids.slice(0, 1) },
          ]),
        ],
        finds: () => nodes.empty.slot_ids.slice(0, 1),
      },
    ],
    charged_by_one_record: [
      {
        what: 'a second record of the same hour',
        do: () => [
          [
            `insert into usage_records select 'usg_zz', allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor,
               currency, ended_at, ended_at, 0, correlation_id, created_at from usage_records where allocation_id = $1`,
            releasing.id,
          ],
        ],
        finds: () => [releasing.id],
      },
    ],
    usage_never_overlaps: [
      {
        what: 'an hour charged twice',
        do: () => [
          [
            `insert into usage_records select 'usg_zz', allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor,
               currency, started_at + interval '1 minute', null, null, correlation_id, created_at from usage_records where allocation_id = $1`,
            active.id,
          ],
        ],
        finds: () => [active.id],
      },
      {
        what: 'a record that ends before it starts',
        do: () => [
          [
            "update usage_records set ended_at = started_at - interval '1 second' where allocation_id = $1",
            releasing.id,
          ],
        ],
        finds: () => [releasing.id],
      },
    ],
    charged_time_is_active_time: [
      {
        what: 'an hour before active that is charged',
        do: () => [
          ["update usage_records set started_at = started_at - interval '1 hour' where allocation_id = $1", active.id],
        ],
        finds: () => [active.id],
      },
      {
        what: 'charging that went on after the release was accepted',
        do: () => [
          ['update usage_records set ended_at = null, cost_minor = null where allocation_id = $1', releasing.id],
        ],
        finds: () => [releasing.id],
      },
      {
        what: 'an active allocation that is not charged',
        do: () => [['delete from usage_records where allocation_id = $1', active.id]],
        finds: () => [active.id],
      },
    ],
    closed_cost_is_right: [
      {
        what: 'a cost that is a cent too low',
        do: () => [
          [
            "update usage_records set cost_minor = cost_minor - 1, id = 'usg_wrong' where allocation_id = $1",
            releasing.id,
          ],
        ],
        finds: () => ['usg_wrong'],
      },
    ],
    price_matches_launch: [
      {
        what: "today's price on yesterday's sale",
        do: () => [
          [
            "update usage_records set gpu_hourly_price_minor = 999, id = 'usg_wrong' where allocation_id = $1",
            active.id,
          ],
        ],
        finds: () => ['usg_wrong'],
      },
    ],
    deleted_project_holds_nothing: [
      {
        what: 'a deleted project with a claim',
        do: () => [['update projects set deleted_at = now() where id = $1', metal.project_id]],
        finds: () => [metal.project_id],
      },
      {
        what: 'a deleted project with a live run',
        do: () => [
          deletedProject,
          [
            `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at)
             values ('run_left', 'provision-slice', 1, $1, $2, 'prj_gone', 'test', '{x}', 'x', 1000, now())`,
            releasing.id,
            releasing.organization_id,
          ],
        ],
        finds: () => ['prj_gone'],
      },
      {
        what: 'a deleted project with an open session',
        do: () => [deletedProject, openSession('prj_gone')],
        finds: () => ['prj_gone'],
      },
    ],
    session_ends_with_allocation: [
      {
        what: 'a session on an allocation that is being released',
        do: () => [
          ["update allocations set state_since = now() - interval '1 minute' where id = $1", releasing.id],
          openSession(releasing.project_id),
        ],
        finds: () => ['ses_left'],
      },
    ],
    grant_ends_with_allocation: [
      {
        what: 'a key that still opens what is being released',
        do: () => [
          [
            `insert into allocation_access_grants (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id, public_key,
               fingerprint, state, granted_by, correlation_id)
             values ('grt_left', $2, $3, $1, 'usr_x', 'x', 'key_x', 'x', 'SHA256:x', 'installed', 'usr_x', 'test')`,
            releasing.id,
            releasing.organization_id,
            releasing.project_id,
          ],
        ],
        finds: () => ['grt_left'],
      },
    ],
    quota_matches_claims: [
      {
        what: 'quota that was not taken',
        do: () => [
          [
            'update quotas set gpu_used = gpu_used - 1 where organization_id = $1 and project_id = $2',
            active.organization_id,
            active.project_id,
          ],
        ],
        finds: () => [active.project_id],
      },
      {
        what: 'claims without any quota row',
        do: () => [["delete from quotas where organization_id = $1 and project_id = ''", metal.organization_id]],
        finds: () => [metal.organization_id],
      },
    ],
    organization_has_gpu_limit: [
      {
        what: 'an organization without a limit row',
        do: () => [["delete from quotas where organization_id = $1 and project_id = ''", metal.organization_id]],
        finds: () => [metal.organization_id],
      },
    ],
  };

  for (const { name, rule } of INVARIANTS)
    for (const { what, do: act, finds } of FORCED[name] ?? [])
      it(`${name} finds ${what}`, async () => {
        assert.deepEqual([...new Set(await damage(name, act()))], finds(), rule);
      });

  it('every invariant has a case that it finds', () =>
    assert.deepEqual(Object.keys(FORCED).toSorted(), INVARIANTS.map(({ name }) => name).toSorted()));
});
