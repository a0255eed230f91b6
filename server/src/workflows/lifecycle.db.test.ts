import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DiskEvidence } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { DISK_BYTES } from '../../test/candidate.ts';
import { testDatabase } from '../../test/database.ts';
import { settle, truth } from '../../test/host.ts';
import { type AllocationFacts, aNode, anAllocation, type TestNode } from '../../test/placement.ts';
import { provenDisk } from '../../test/wipe-evidence.ts';
import { findAllocation } from '../db/allocation.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { INVARIANTS, listViolations } from '../db/invariant.ts';
import { RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { AppError } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { auditRun } from './allocation-transitions.ts';
import { retryRun, startRun } from './engine/run.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { restartCleanup, startRelease } from './start-cleanup.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  return { database, sql };
};

type World = Awaited<ReturnType<typeof world>>;

const allocate = async (w: World, facts: Partial<AllocationFacts> = {}, node?: TestNode) => {
  const on = node ?? (await aNode(w.sql));
  const made = await anAllocation(w.sql, { node: on, ...facts });
  await w.database.write(PLATFORM, (tx) => refreshSummary(tx, on.id));
  return made;
};

const provision = (
  database: Database,
  made: { id: string; organization_id: string; project_id: string },
  workflow = provisionSlice as typeof provisionSlice | typeof provisionBaremetal,
) =>
  database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow,
      subject_id: made.id,
      organization_id: made.organization_id,
      project_id: made.project_id,
      correlation_id: mintId('cor'),
    }),
  );

/** The service's addition to a change: the actor. */
const audited = async (tx: Tx, id: string, action: string, change: Promise<unknown>) => {
  await change;
  const row = await findAllocation(tx, id);
  assert.ok(row);
  auditRun(tx, row, action, 'test');
};

const release = (database: Database, id: string) =>
  database.write(PLATFORM, (tx) => audited(tx, id, 'release', startRelease(tx, { allocation_id: id, reason: 'test' })));

const cleanUp = (database: Database, id: string, runtime_verified_absent: boolean) =>
  database.write(PLATFORM, (tx) =>
    audited(tx, id, 'force_cleanup', restartCleanup(tx, { allocation_id: id, runtime_verified_absent })),
  );

type Facts = Readonly<{
  state: string;
  state_reason: string | null;
  slots: string[];
  occupancy: string;
  live_claims: number;
  proofs: number;
  gpu_used: number[];
  usage: { ended: boolean; cost: number | null; price: number }[];
  free_count: number;
}>;

const factsOf = async (sql: Client, id: string): Promise<Facts> => {
  const { rows } = await sql.query<Facts>(
    `select a.state, a.state_reason, n.occupancy,
       array(select s.status from node_resource_slots s where s.id = any (p.slot_ids) order by s.slot_index) as slots,
       (select count(*) from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null)::int as live_claims,
       (select count(*) from wipe_proofs w where w.allocation_id = a.id and w.is_verified)::int as proofs,
       array(select q.gpu_used from quotas q where q.organization_id = a.organization_id order by q.project_id) as gpu_used,
       coalesce((select jsonb_agg(jsonb_build_object('ended', u.ended_at is not null, 'cost', u.cost_minor, 'price', u.gpu_hourly_price_minor))
         from usage_records u where u.allocation_id = a.id), '[]') as usage,
       (select m.free_count from node_placement_summary m where m.node_id = n.id) as free_count
     from allocations a join nodes n on n.id = a.node_id join allocation_placements p on p.allocation_id = a.id where a.id = $1`,
    [id],
  );
  assert.ok(rows[0]);
  return rows[0];
};

/** In every case: quota used is the sum of live claims, and every other invariant holds too. */
const checkInvariants = async ({ database }: Pick<World, 'database'>): Promise<void> => {
  for (const invariant of INVARIANTS)
    assert.deepEqual(await database.read(PLATFORM, (reader) => listViolations(reader, invariant)), []);
};

const CLEAN = { live_claims: 0, occupancy: 'free', gpu_used: [0, 0], free_count: 8 };

test('a slice is provisioned step by step, charged at its launch price, and freed only by proof', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { gpu_count: 2, price_minor: 451, max_duration_s: 3600 });
  await provision(w.database, made);
  const kinds = await settle(w.database);
  assert.deepEqual(kinds, ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness']);
  const active = await factsOf(w.sql, made.id);
  assert.equal(active.state, 'active');
  assert.deepEqual(active.slots, ['in_use', 'in_use']);
  assert.deepEqual(active.usage, [{ ended: false, cost: null, price: 451 }]);
  const { rows } = await w.sql.query(
    `select release_at = activated_at + interval '1 hour' as timed, u.started_at = a.activated_at as same
     from allocations a join usage_records u on u.allocation_id = a.id where a.id = $1`,
    [made.id],
  );
  assert.deepEqual(rows, [{ timed: true, same: true }]);

  await release(w.database, made.id);
  const releasing = await factsOf(w.sql, made.id);
  assert.equal(releasing.state, 'releasing');
  assert.deepEqual(releasing.slots, ['cleaning', 'cleaning']);
  assert.deepEqual(
    releasing.usage.map((u) => u.ended),
    [true],
  );
  assert.deepEqual(await settle(w.database), ['slice.vm_stop', 'slice.cleanup']);
  const ended = await factsOf(w.sql, made.id);
  assert.equal(ended.state, 'released');
  assert.deepEqual(ended.slots, ['available', 'available']);
  assert.equal(ended.proofs, 2);
  const { live_claims, occupancy, gpu_used, free_count } = ended;
  assert.deepEqual({ live_claims, occupancy, gpu_used, free_count }, CLEAN);
  await checkInvariants(w);
});

test('a whole node is provisioned, released and wiped, both data disks and slots', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { shape: 'baremetal' });
  await provision(w.database, made, provisionBaremetal);
  assert.deepEqual(await settle(w.database), ['allocation.provision_user']);
  assert.equal((await factsOf(w.sql, made.id)).state, 'active');
  const { rows: told } = await w.sql.query(
    `select count(*)::int as slots, bool_and(g.generation = s.generation and s.generation > 0) as are_theirs
     from node_tasks t cross join jsonb_to_recordset(t.params -> 'slot_generations') as g (slot_id text, generation integer)
     join node_resource_slots s on s.id = g.slot_id and s.node_id = t.node_id where t.allocation_id = $1`,
    [made.id],
  );
  assert.deepEqual(told, [{ slots: 8, are_theirs: true }]);
  await release(w.database, made.id);
  assert.equal((await factsOf(w.sql, made.id)).occupancy, 'cleaning');
  assert.deepEqual(await settle(w.database), ['allocation.deprovision_user', 'node.cleanup']);
  const ended = await factsOf(w.sql, made.id);
  assert.equal(ended.state, 'released');
  // Eight slots, one data disk, and the node as a whole.
  assert.equal(ended.proofs, 10);
  const { live_claims, occupancy, gpu_used, free_count } = ended;
  assert.deepEqual({ live_claims, occupancy, gpu_used, free_count }, CLEAN);
});

test('a whole node is not wiped with a data disk of an unapproved size, or without an approved size', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { shape: 'baremetal', state: 'active' });
  const ofOneByte = (output: Record<string, unknown>) => ({
    ...output,
    disks: (output['disks'] as DiskEvidence[]).map((disk) =>
      disk.slot_id === null ? provenDisk(disk, { size_bytes: 1 }) : disk,
    ),
  });
  const releaseTo = async (change: (output: Record<string, unknown>) => Record<string, unknown>) => {
    await release(w.database, made.id);
    await settle(w.database, {
      answer: (task) => (task.kind === 'node.cleanup' ? change({ ...truth(task) }) : truth(task)),
    });
    return factsOf(w.sql, made.id);
  };
  const reason = async (): Promise<string> =>
    (await w.sql.query('select status_reason from node_resource_slots limit 1')).rows[0].status_reason;
  const lied = await releaseTo(ofOneByte);
  assert.deepEqual([lied.state, lied.occupancy, lied.proofs], ['release_failed', 'cleanup_blocked', 0]);
  assert.match(await reason(), new RegExp(`approved with ${DISK_BYTES} bytes and the wipe result states 1`));

  const setSize = (size: number | null) =>
    w.sql.query("update nodes set data_disks = jsonb_set(data_disks, '{0,size_bytes}', $1)", [JSON.stringify(size)]);
  await setSize(null);
  const unsized = await releaseTo((output) => output);
  assert.equal(unsized.state, 'release_failed');
  assert.match(await reason(), /Approve the disk again/);
  await setSize(DISK_BYTES);
  assert.equal((await releaseTo((output) => output)).state, 'released');
  await checkInvariants(w);
});

test('the node stays sliced while it has another live allocation', async (t) => {
  const w = await world(t);
  const node = await aNode(w.sql);
  const first = await allocate(w, { state: 'active' }, node);
  const second = await allocate(w, { state: 'active' }, node);
  await release(w.database, first.id);
  await settle(w.database);
  assert.equal((await factsOf(w.sql, first.id)).state, 'released');
  assert.equal((await factsOf(w.sql, second.id)).occupancy, 'sliced');
  assert.equal((await factsOf(w.sql, second.id)).free_count, 7);
  await checkInvariants(w);
});

for (const kind of ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness'])
  test(`when ${kind} fails nothing is charged, and only a proof makes the slots available again`, async (t) => {
    const w = await world(t);
    const made = await allocate(w, { gpu_count: 4 });
    await provision(w.database, made);
    const kinds = await settle(w.database, {
      answer: (task) => (task.kind === kind ? null : truth(task)),
    });
    assert.equal(kinds.filter((name) => name === kind).length, 1, 'provisioning does not try twice');
    assert.deepEqual(kinds.slice(-2), ['slice.vm_stop', 'slice.cleanup'], 'cleanup starts without a request');
    const held = await factsOf(w.sql, made.id);
    assert.equal(held.state, 'failed');
    assert.deepEqual(held.usage, []);
    assert.deepEqual(held.slots, Array(4).fill('available'));
    assert.equal(held.proofs, 4);
    await checkInvariants(w);
  });

const liars: Record<string, (output: Record<string, unknown>) => Record<string, unknown>> = {
  'is empty': () => ({}),
  'leaves the network attached': (output) => ({ ...output, network_detached: false }),
  'misses a disk': (output) => ({ ...output, disks: (output['disks'] as unknown[]).slice(1) }),
  'found data': (output) => ({
    ...output,
    disks: (output['disks'] as object[]).map((disk) => ({ ...disk, bytes_not_erased: 512, is_verified: false })),
  }),
  // Half the disk, with the complete read-back of a disk of that size.
  'states another size of the disk than was approved': (output) => ({
    ...output,
    disks: (output['disks'] as DiskEvidence[]).map((disk) => provenDisk(disk, { size_bytes: DISK_BYTES / 2 })),
  }),
  'does not state what is left of the VM': ({ isolation: _, ...output }) => output,
  'reports a disk twice': (output) => ({
    ...output,
    disks: (output['disks'] as DiskEvidence[]).flatMap((disk) => [disk, { ...disk, bytes_not_erased: 512 }]),
  }),
  'is of an earlier wipe': (output) => ({
    ...output,
    disks: (output['disks'] as DiskEvidence[]).map((disk) => ({ ...disk, finished_at: disk.started_at })),
  }),
  'is of an older generation': (output) => ({
    ...output,
    disks: (output['disks'] as object[]).map((disk) => ({ ...disk, generation: 0 })),
  }),
};
for (const [name, lie] of Object.entries(liars))
  test(`evidence that ${name} frees nothing: bounded attempts, then blocked`, async (t) => {
    const w = await world(t);
    const made = await allocate(w, { gpu_count: 2, state: 'active' });
    await release(w.database, made.id);
    const kinds = await settle(w.database, {
      answer: (task) => (task.kind === 'slice.cleanup' ? lie({ ...truth(task) }) : truth(task)),
    });
    assert.deepEqual(kinds, ['slice.vm_stop', 'slice.cleanup', 'slice.cleanup', 'slice.cleanup']);
    const facts = await factsOf(w.sql, made.id);
    assert.equal(facts.state, 'release_failed');
    assert.ok(facts.state_reason);
    assert.deepEqual(facts.slots, ['cleanup_blocked', 'cleanup_blocked']);
    assert.deepEqual([facts.live_claims, facts.proofs, facts.free_count], [2, 0, 6]);
    await checkInvariants(w);

    await release(w.database, made.id);
    assert.equal((await factsOf(w.sql, made.id)).state, 'releasing');
    await settle(w.database);
    assert.equal((await factsOf(w.sql, made.id)).state, 'released');
    await checkInvariants(w);
  });

test('a VM that cannot be stopped blocks cleanup; an operator’s confirmation skips only the stop', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { state: 'active' });
  await release(w.database, made.id);
  const fail = { answer: (task: Parameters<typeof truth>[0]) => (task.kind === 'slice.vm_stop' ? null : truth(task)) };
  assert.deepEqual(await settle(w.database, fail), Array(3).fill('slice.vm_stop'));
  assert.equal((await factsOf(w.sql, made.id)).state, 'release_failed');

  await cleanUp(w.database, made.id, true);
  const cleaning = await factsOf(w.sql, made.id);
  assert.deepEqual([cleaning.slots, cleaning.live_claims], [['cleaning'], 1], 'nothing is freed by saying so');
  assert.deepEqual(await settle(w.database, fail), ['slice.cleanup']);
  assert.equal((await factsOf(w.sql, made.id)).state, 'released');
});

test('a stop that no host has started is withdrawn once an operator confirms that nothing runs', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { state: 'active' });
  await release(w.database, made.id);
  await settle(w.database, { host: async () => 0, rounds: 3 });
  const stop = "select state from node_tasks where allocation_id = $1 and kind = 'slice.vm_stop'";
  assert.deepEqual((await w.sql.query(stop, [made.id])).rows, [{ state: 'queued' }]);
  await cleanUp(w.database, made.id, true);
  await settle(w.database, { host: async () => 0, rounds: 3 });
  assert.deepEqual((await w.sql.query(stop, [made.id])).rows, [{ state: 'cancelled' }]);
  assert.deepEqual(await settle(w.database), ['slice.cleanup']);
  assert.equal((await factsOf(w.sql, made.id)).state, 'released');
  await checkInvariants(w);
});

test('cleanup after a failure is blocked when it cannot be proven, and the state stays failed', async (t) => {
  const w = await world(t);
  const made = await allocate(w);
  await provision(w.database, made);
  await settle(w.database, { answer: (task) => (task.kind === 'slice.vm_stop' ? {} : null) });
  const blocked = await factsOf(w.sql, made.id);
  assert.deepEqual([blocked.state, blocked.slots, blocked.live_claims], ['failed', ['cleanup_blocked'], 1]);
  await assert.rejects(release(w.database, made.id), (err) => err instanceof AppError && err.code === 'conflict');
  await cleanUp(w.database, made.id, false);
  await settle(w.database);
  const clean = await factsOf(w.sql, made.id);
  assert.deepEqual([clean.state, clean.slots, clean.live_claims], ['failed', ['available'], 0]);
  await assert.rejects(cleanUp(w.database, made.id, false), /already clean/);
  await checkInvariants(w);
});

test('a guest OS that sees fewer GPUs than allocated is stopped, and its slots wait for an operator', async (t) => {
  const w = await world(t);
  const made = await allocate(w);
  await provision(w.database, made);
  const boots = (task: Parameters<typeof truth>[0]) => (task.kind === 'slice.vm_readiness' ? null : truth(task));
  await settle(w.database, { answer: boots, rounds: 4 });
  await w.sql.query(
    "update node_tasks set error_code = 'drift' where allocation_id = $1 and kind = 'slice.vm_readiness'",
    [made.id],
  );
  await settle(w.database);
  const blocked = await factsOf(w.sql, made.id);
  assert.deepEqual([blocked.state, blocked.slots, blocked.live_claims], ['failed', ['cleanup_blocked'], 1]);
  await cleanUp(w.database, made.id, false);
  await settle(w.database);
  const clean = await factsOf(w.sql, made.id);
  assert.deepEqual([clean.state, clean.slots, clean.live_claims], ['failed', ['available'], 0]);
  await checkInvariants(w);
});

test('a stuck cleanup retried by an operator resumes the allocation’s cleanup with new attempts', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { state: 'active' });
  await release(w.database, made.id);
  await settle(w.database, { answer: (task) => (task.kind === 'slice.cleanup' ? null : truth(task)) });
  const { rows } = await w.sql.query(
    "select id from workflow_runs where subject_id = $1 and workflow = 'release-allocation' and state = 'stuck'",
    [made.id],
  );
  await w.database.write(PLATFORM, (tx) => retryRun(tx, { run_id: rows[0].id, step: 'wipe' }));
  assert.deepEqual(await settle(w.database), ['slice.cleanup']);
  assert.equal((await factsOf(w.sql, made.id)).state, 'released');
});

for (const state of ['requested', 'provisioning', 'active', 'releasing', 'release_failed'] as const)
  test(`a release is accepted when ${state}, once or twice`, async (t) => {
    const w = await world(t);
    const made = await allocate(w, { state: state === 'provisioning' ? 'requested' : state });
    if (state === 'provisioning') {
      await provision(w.database, made);
      await settle(w.database, { rounds: 3 });
      assert.equal((await factsOf(w.sql, made.id)).state, 'provisioning');
    }
    await release(w.database, made.id);
    await release(w.database, made.id);
    assert.equal((await factsOf(w.sql, made.id)).state, 'releasing');
    const { rows } = await w.sql.query(
      "select count(*)::int as live from workflow_runs where subject_id = $1 and workflow = 'release-allocation'",
      [made.id],
    );
    assert.deepEqual(rows, [{ live: 1 }]);
    await settle(w.database);
    const ended = await factsOf(w.sql, made.id);
    assert.equal(ended.state, 'released');
    assert.deepEqual(ended.slots, ['available']);
    assert.equal(ended.usage.length, state === 'requested' || state === 'provisioning' ? 0 : 1);
    await assert.rejects(release(w.database, made.id), /nothing to release/);
    await checkInvariants(w);
  });

test('a release during provisioning queues nothing beside the host’s current task, and never activates', async (t) => {
  const w = await world(t);
  const other = await allocate(w);
  await provision(w.database, other);
  await w.sql.query(
    `insert into node_tasks (id, node_id, allocation_id, kind, params, state, correlation_id, expires_at)
     values ($1, $2, $3, 'slice.bundle_lease', '{}', 'running', 'c', now() + interval '1 hour')`,
    [mintId('tsk'), other.node_id, other.id],
  );
  await release(w.database, other.id);
  assert.deepEqual(await settle(w.database), [], 'the host is left to finish first');
  await w.sql.query("update node_tasks set state = 'failed', finished_at = now() where allocation_id = $1", [other.id]);
  assert.deepEqual(await settle(w.database), ['slice.vm_stop', 'slice.cleanup']);
  const ended = await factsOf(w.sql, other.id);
  assert.deepEqual([ended.state, ended.usage], ['released', []]);
  const { rows } = await w.sql.query('select state from workflow_runs where subject_id = $1 order by id limit 1', [
    other.id,
  ]);
  assert.equal(rows[0].state, 'cancelled', 'the provisioning run ends');
});

test('a slot that became unhealthy meanwhile is wiped, and its health keeps it unschedulable', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { gpu_count: 2, state: 'active' });
  await w.sql.query("update node_resource_slots set health = 'unhealthy' where id = $1", [made.slot_ids[0]]);
  await release(w.database, made.id);
  await settle(w.database);
  const facts = await factsOf(w.sql, made.id);
  assert.deepEqual([facts.state, [...facts.slots].sort()], ['released', ['available', 'available']]);
  const { rows } = await w.sql.query('select free_count from node_placement_summary where node_id = $1', [
    made.node_id,
  ]);
  assert.equal(rows[0].free_count, 7);
});

test('a slot whose GPU was not reset is quarantined, its node needs a reboot, and the release completes', async (t) => {
  const w = await world(t);
  const made = await allocate(w, { gpu_count: 2, state: 'active' });
  await release(w.database, made.id);
  await settle(w.database, {
    answer: (task) => {
      const said = truth(task);
      if (task.kind !== 'slice.cleanup') return said;
      const resets = said['gpu_resets'] as readonly object[];
      return { ...said, gpu_resets: resets.map((reset, index) => ({ ...reset, is_ok: index > 0 })) };
    },
  });
  const facts = await factsOf(w.sql, made.id);
  assert.deepEqual([facts.state, [...facts.slots].sort()], ['released', ['available', 'quarantined']]);
  const { rows } = await w.sql.query(
    `select n.reboot_required, n.reboot_reason, s.status_reason from nodes n join node_resource_slots s on s.node_id = n.id and s.status = 'quarantined'
     where n.id = $1`,
    [made.node_id],
  );
  assert.deepEqual(rows, [
    {
      reboot_required: true,
      reboot_reason: 'A GPU could not be reset.',
      status_reason: 'The GPU or its fabric function could not be reset. Reboot the host.',
    },
  ]);
});

test('a slot records the faults of its last allocation, beside its health alerts', async (t) => {
  const w = await world(t);
  const made = await allocate(w);
  const [slotId] = made.slot_ids;
  const alert = { alerts: [{ id: 'gpu_temperature' }] };
  await w.sql.query('update node_resource_slots set health_detail = $2 where id = $1', [slotId, JSON.stringify(alert)]);
  const remembered = async () => {
    const { rows } = await w.sql.query(
      `select health_detail - 'at' as told, health_detail ->> 'at' as at, wipe_proof_id from node_resource_slots where id = $1`,
      [slotId],
    );
    assert.ok(Date.parse(rows[0].at) > 0);
    return rows[0];
  };
  const told = { ...alert, allocation_id: made.id };
  await provision(w.database, made);
  await settle(w.database);
  assert.deepEqual((await remembered()).told, { ...told, event: 'provisioned', reason: null });

  await release(w.database, made.id);
  await settle(w.database, { answer: (task) => (task.kind === 'slice.cleanup' ? null : truth(task)) });
  const reason = `${RELEASE_ALLOCATION.steps.wipe.failed} The test host failed. Next: fix the cause, then run gpuaas admin allocation force-cleanup ${made.id}.`;
  assert.deepEqual((await remembered()).told, { ...told, event: 'cleanup_blocked', reason });

  await release(w.database, made.id);
  await settle(w.database);
  const cleaned = await remembered();
  const { wipe_proof_id } = cleaned;
  assert.deepEqual(cleaned.told, { ...told, event: 'cleaned', reason: null, wipe_proof_id });
  assert.ok(wipe_proof_id);
  await checkInvariants(w);
});
