/**
 * `kill -9` of the provisioning worker at every boundary of provision, power, keys, move, release, repair and disk
 * wipes, with real agents on simulated hosts. Many runs are each held at a boundary and die with one process: the next
 * worker finds each of them at another boundary. The state of the runs is read from the database before the next worker
 * starts.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Client as SqlClient } from 'pg';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { addFault } from '../../node-agent/src/host/sim/fault.ts';
import type { State } from '../../node-agent/src/host/sim/state.ts';
import {
  INSTALL_KEYS,
  REBOOT_SLICE,
  REINSTALL_SLICE,
  REPAIR_SLOT,
  START_SLICE,
  STOP_SLICE,
  WIPE_DISK,
} from '../../server/src/domain/workflow-steps.ts';
import { provisionBaremetal } from '../../server/src/workflows/provision-baremetal.ts';
import { provisionSlice } from '../../server/src/workflows/provision-slice.ts';
import { releaseAllocation } from '../../server/src/workflows/release-allocation.ts';
import { emptyDatabase } from '../../server/test/database.ts';
import { newSshKey } from '../../server/test/tenants.ts';
import { createStory, failureReport } from '../story.ts';
import { boundariesOf, PATHS } from './boundaries.ts';
import type { Boundary } from './paused-worker.ts';
import { eventually, type Platform, startPlatform } from './platform.ts';
import { createStriker, PATIENCE_MS, type Striker, strikesOf } from './striker.ts';

const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-killed-'));
const fleetDir = join(scratch, 'fleet');
/** As many whole hosts as release has boundaries, and enough slots for a slice per boundary of its provisioning. */
const WHOLE = boundariesOf(PATHS.releaseBaremetal).length;
const SLICES = boundariesOf(PATHS.provisionSlice).length;
/** More slices, for boundaries of power changes. */
const MORE = 3;
const HOSTS = WHOLE + Math.ceil((SLICES + MORE) / 8);
const HOST_NAMES = Array.from({ length: HOSTS }, (_, index) => `mixed-${String(index + 1).padStart(4, '0')}`);

let platform: Platform;
let sql: SqlClient;
let striker: Striker;
let project_id: string;
let slices: readonly string[] = [];
let wholes: readonly string[] = [];
const cleanups: (() => Promise<void>)[] = [];

const test = createStory(() => failureReport(platform.client));

before(async () => {
  const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  platform = await startPlatform({
    database_url,
    dir: scratch,
    processes: ['gpuaas-api,gpuaas-outbox-relay,gpuaas-node-api'],
  });
  sql = new SqlClient({ connectionString: database_url });
  await sql.connect();
  striker = createStriker({ platform, sql, scratch });
  const words = ['--nodes', `${HOSTS}`, '--prefix', 'mixed-', '--mode', 'flexible', '--dir', fleetDir];
  // New slots are wiped before their first use, which takes a worker.
  const { worker } = striker.startWorker([]);
  await platform.ready(platform.hosts(words), HOSTS, PATIENCE_MS);
  await worker.kill('SIGTERM');
  const [project] = (await platform.client.meGet()).projects;
  project_id = project?.id ?? '';
});

after(async () => {
  await platform?.stop();
  await sql?.end();
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

const launch = async (name: string, sku_name: string, gpu_count: number): Promise<string> => {
  const body = { name, sku_name, region_name: 'us-buffalo-1', gpu_count };
  return (await platform.client.allocationCreate({ params: { project_id }, body })).id;
};
const release = async (id: string): Promise<void> => {
  await platform.client.allocationRelease({ params: { project_id, allocation_id: id }, body: {} });
};

const statesOf = async (ids: readonly string[]) =>
  (
    await sql.query<{ id: string; state: string; state_reason: string | null }>(
      'select id, state, state_reason from allocations where id = any ($1)',
      [ids],
    )
  ).rows;
const allReach = (ids: readonly string[], state: string): Promise<true> =>
  eventually(
    `${ids.length} allocations are ${state}`,
    async () => {
      const found = await statesOf(ids);
      const over = found.filter((row) => /failed|released/.test(row.state) && row.state !== state);
      assert.deepEqual(over, []);
      return found.every((row) => row.state === state) || undefined;
    },
    PATIENCE_MS,
  );

const machines = (): State[] =>
  HOST_NAMES.map((name) => JSON.parse(readFileSync(join(machineDir(fleetDir, name), 'state.json'), 'utf8')));
const domains = () => machines().flatMap((machine) => machine.domains);
const users = () => machines().flatMap((machine) => Object.keys(machine.users));

/** Disks of hosts that were discovered and whose slots nobody approved. */
const unownedDisks = async (): Promise<{ node_id: string; serial: string }[]> =>
  (
    await sql.query<{ node_id: string; serial: string }>(
      `select n.id as node_id, d.disk ->> 'serial' as serial
       from nodes n cross join lateral (select facts from topology_discoveries where node_id = n.id order by task_id desc limit 1) t
         cross join jsonb_array_elements(t.facts -> 'disks' -> 'value') as d (disk)
       where n.name like 'bare-%' and not (d.disk ->> 'is_boot')::boolean and d.disk ->> 'device' is not null order by 1, 2`,
    )
  ).rows;

const isClean = async (): Promise<void> => {
  const { violations, checks } = await platform.client.adminInvariantCheck({});
  assert.deepEqual(violations, []);
  assert.ok(checks > 0);
};

const heldBy = async (ids: readonly string[]): Promise<number> =>
  (
    await sql.query<{ count: number }>(
      'select count(*)::integer as count from allocation_resource_claims where allocation_id = any ($1) and released_at is null',
      [ids],
    )
  ).rows[0]?.count ?? -1;

test('every workflow step is covered, except those that a successful run never executes', () => {
  const steps = [
    { path: PATHS.provisionSlice, all: provisionSlice.steps, unwinding: ['abort'] },
    { path: PATHS.provisionBaremetal, all: provisionBaremetal.steps, unwinding: ['abort'] },
    { path: PATHS.releaseSlice, all: releaseAllocation.steps, unwinding: ['block'] },
    { path: PATHS.releaseBaremetal, all: releaseAllocation.steps, unwinding: ['block'] },
    { path: PATHS.stop, all: STOP_SLICE.steps, unwinding: ['markUnknown'] },
    { path: PATHS.start, all: START_SLICE.steps, unwinding: ['markUnknown'] },
    { path: PATHS.reboot, all: REBOOT_SLICE.steps, unwinding: ['markUnknown'] },
    { path: PATHS.reinstall, all: REINSTALL_SLICE.steps, unwinding: ['markUnknown'] },
    { path: PATHS.installKeys, all: INSTALL_KEYS.steps, unwinding: ['abort'] },
    { path: PATHS.repairSlot, all: REPAIR_SLOT.steps, unwinding: [] },
    { path: PATHS.wipeDisk, all: WIPE_DISK.steps, unwinding: ['abort', 'awaitFree'] },
  ];
  for (const { path, all, unwinding } of steps) {
    const taken = new Set<string>(path.executions.map(({ step }) => step));
    assert.deepEqual([...taken, ...unwinding].sort(), Object.keys(all).sort(), path.workflow);
  }
});

test('a worker killed at any step of provisioning: each allocation is activated once or released', async () => {
  const whole = await Promise.all(
    Array.from({ length: WHOLE }, (_, index) => launch(`whole-${index}`, 'h200-sxm-baremetal-8g', 8)),
  );
  const slice = await Promise.all(
    Array.from({ length: SLICES + MORE }, (_, index) => launch(`slice-${index}`, 'h200-sxm-slice', 1)),
  );
  const strikes = [...strikesOf(PATHS.provisionSlice, slice), ...strikesOf(PATHS.provisionBaremetal, whole)];
  assert.equal(strikes.length, SLICES + boundariesOf(PATHS.provisionBaremetal).length);
  await striker.strike(strikes);

  // No worker is running: a release requested now finds them in the middle of a step.
  const given = strikes.filter(({ path, boundary }) => path === PATHS.provisionSlice && boundary.point === 'acted');
  const unused = given.map(({ boundary }) => boundary.subject_id);
  for (const id of unused) await release(id);

  slices = slice.filter((id) => !unused.includes(id));
  wholes = whole;
  const { worker } = striker.startWorker([]);
  await Promise.all([allReach([...slices, ...wholes], 'active'), allReach(unused, 'released')]);
  await striker.checkTraces([...slice, ...whole]);
  assert.deepEqual(
    domains()
      .map(({ name, state }) => `${name} ${state}`)
      .sort(),
    slices.map((id) => `gpuaas-${id.replace('_', '-')} running`).sort(),
  );
  assert.equal(users().length, WHOLE);
  assert.equal(await heldBy([...slices, ...wholes]), slices.length + wholes.length);
  assert.equal(await heldBy(unused), 0);
  const { rows } = await sql.query('select allocation_id from usage_records order by allocation_id');
  assert.deepEqual(
    rows.map(({ allocation_id }) => allocation_id),
    [...slices, ...wholes].sort(),
    'each is charged once, and what was given back unused not at all',
  );
  await isClean();
  await worker.kill('SIGKILL');
});

const POWER = {
  stop: (params: OfAllocation) => platform.client.allocationStop({ params, body: {} }),
  start: (params: OfAllocation) => platform.client.allocationStart({ params, body: {} }),
  reboot: (params: OfAllocation) => platform.client.allocationReboot({ params, body: {} }),
  reinstall: (params: OfAllocation) => platform.client.allocationReinstall({ params, body: {} }),
} as const;
type Power = keyof typeof POWER;
type OfAllocation = Readonly<{ project_id: string; allocation_id: string }>;

const changeAll = (ids: readonly string[], to: Power): Promise<unknown> =>
  Promise.all(ids.map((allocation_id) => POWER[to]({ project_id, allocation_id })));
const arePowered = (ids: readonly string[], state: string): Promise<true> =>
  eventually(
    `${ids.length} VMs are ${state}`,
    async () => {
      const { rows } = await sql.query<{ power_state: string }>(
        'select power_state from allocations where id = any ($1) and power_run_id is null',
        [ids],
      );
      return (rows.length === ids.length && rows.every(({ power_state }) => power_state === state)) || undefined;
    },
    PATIENCE_MS,
  );

type Change = Readonly<{ to: Power; ids: readonly string[]; boundaries: readonly Omit<Boundary, 'subject_id'>[] }>;

/** All of them are struck at once, and the next worker ends what the dead one began: the VMs run. */
const strikePower = async (changes: readonly Change[]): Promise<void> => {
  await Promise.all(changes.map(({ to, ids }) => changeAll(ids, to)));
  await striker.strike(changes.flatMap(({ to, ids, boundaries }) => strikesOf(PATHS[to], ids, boundaries)));
  const { worker } = striker.startWorker([]);
  for (const { to, ids } of changes) {
    await arePowered(ids, 'on');
    await striker.haveEnded(PATHS[to].workflow, ids);
  }
  await worker.kill('SIGKILL');
};

test('a worker killed at any step of a power change or of installing keys: the VM ends in the wanted state, once', async () => {
  // Stops and keys need different allocations: one run changes a VM at a time.
  const stops = boundariesOf(PATHS.stop).length;
  const stopped = slices.slice(0, stops);
  const keyed = slices.slice(stops, stops + boundariesOf(PATHS.installKeys).length);
  const key = await platform.client.sshKeyCreate({ body: { name: 'killed', public_key: newSshKey() } });
  await changeAll(stopped, 'stop');
  for (const allocation_id of keyed)
    await platform.client.accessGrantCreate({ params: { project_id, allocation_id }, body: { ssh_key_id: key.id } });
  await striker.strike([...strikesOf(PATHS.stop, stopped), ...strikesOf(PATHS.installKeys, keyed)]);
  const next = striker.startWorker([]);
  await arePowered(stopped, 'off');
  await striker.haveEnded(PATHS.stop.workflow, stopped);
  await striker.haveEnded(PATHS.installKeys.workflow, keyed);
  const { rows: grants } = await sql.query<{ state: string; count: number }>(
    'select state, count(*)::integer as count from allocation_access_grants where allocation_id = any ($1) group by 1',
    [keyed],
  );
  assert.deepEqual(grants, [{ state: 'installed', count: keyed.length }]);
  await changeAll(keyed, 'stop');
  await arePowered(keyed, 'off');
  await next.worker.kill('SIGKILL');

  const off = [...stopped, ...keyed];
  assert.deepEqual(
    domains().filter(({ state, name }) => state === 'running' && off.some((id) => name.endsWith(id.slice(4)))),
    [],
  );
  // One run changes a VM at a time: reinstalls, which have the most boundaries, use what the others leave.
  const reinstalls = [...boundariesOf(PATHS.reinstall)];
  for (const to of ['start', 'reboot'] as const) {
    const boundaries = boundariesOf(PATHS[to]);
    const ids = off.slice(0, boundaries.length);
    const others = slices.filter((id) => !ids.includes(id));
    await strikePower([
      { to, ids, boundaries },
      { to: 'reinstall', ids: others, boundaries: reinstalls.splice(0, others.length) },
    ]);
  }
  await strikePower([{ to: 'reinstall', ids: slices.slice(0, reinstalls.length), boundaries: reinstalls }]);
  assert.deepEqual(
    domains()
      .map(({ name, state }) => `${name} ${state}`)
      .sort(),
    slices.map((id) => `gpuaas-${id.replace('_', '-')} running`).sort(),
  );
  await isClean();
});

test('a worker killed at any step of release: everything is wiped once, verified and free', async () => {
  for (const id of [...slices, ...wholes]) await release(id);
  const strikes = [...strikesOf(PATHS.releaseSlice, slices), ...strikesOf(PATHS.releaseBaremetal, wholes)];
  assert.equal(strikes.length, 15 + 15);
  await striker.strike(strikes);
  const { worker } = striker.startWorker([]);
  await allReach([...slices, ...wholes], 'released');
  await striker.checkTraces([...slices, ...wholes]);
  assert.deepEqual([domains(), users(), await heldBy([...slices, ...wholes])], [[], [], 0]);
  const { rows } = await sql.query<{ status: string; occupancy: string; count: number }>(
    `select s.status, n.occupancy, count(*)::integer as count from node_resource_slots s join nodes n on n.id = s.node_id
     group by 1, 2`,
  );
  assert.deepEqual(rows, [{ status: 'available', occupancy: 'free', count: HOSTS * 8 }]);
  await isClean();
  await worker.kill('SIGKILL');
});

test('a worker killed at any step of a repair or of a disk wipe: the disk is wiped once, with proof', async () => {
  const { items: nodes } = await platform.client.adminNodeList({ query: { limit: 200 } });
  const repairs = boundariesOf(PATHS.repairSlot);
  assert.ok(nodes.length >= repairs.length, 'each repair has a host of its own');
  const reason = 'The test.';
  const slots: string[] = [];
  for (const { id: node_id } of nodes.slice(0, repairs.length)) {
    const [slot] = (await platform.client.adminNodeSlotList({ params: { node_id }, query: { limit: 1 } })).items;
    assert.ok(slot !== undefined);
    const params = { node_id, slot_id: slot.id };
    await platform.client.adminNodeSlotRepair({ params, body: { reason } }, { ifMatch: slot.version });
    slots.push(slot.id);
  }
  const wipes = boundariesOf(PATHS.wipeDisk).length;
  const words = ['--nodes', '2', '--prefix', 'bare-', '--mode', 'slice', '--until', 'discovered'];
  await platform.ready(platform.hosts([...words, '--dir', join(scratch, 'bare')]), 2, PATIENCE_MS);
  const disks: string[] = [];
  for (const { node_id, serial } of (await unownedDisks()).slice(0, wipes))
    disks.push((await platform.client.adminNodeDiskApprove({ params: { node_id }, body: { serial, reason } })).id);
  assert.equal(disks.length, wipes);
  await striker.strike([...strikesOf(PATHS.repairSlot, slots), ...strikesOf(PATHS.wipeDisk, disks)]);
  const { worker } = striker.startWorker([]);
  await striker.haveEnded(PATHS.repairSlot.workflow, slots);
  await striker.haveEnded(PATHS.wipeDisk.workflow, disks);
  const proofsOf = async (text: string, ids: readonly string[]) =>
    (await sql.query<{ proofs: number }>(text, [ids])).rows;
  assert.deepEqual(
    await proofsOf(
      `select count(*)::integer as proofs from node_resource_slots s join wipe_proofs p on p.slot_id = s.id and p.is_verified
         join node_tasks t on t.id = p.task_id join workflow_runs r on r.id = t.workflow_run_id and r.workflow = 'repair-slot'
       where s.id = any ($1) and s.status = 'available' and s.wipe_proof_id = p.id`,
      slots,
    ),
    [{ proofs: slots.length }],
    'each slot is available by the one proof of its repair',
  );
  assert.deepEqual(
    await proofsOf(
      `select count(*)::integer as proofs from disk_ownerships d join node_tasks t on t.node_id = d.node_id
         join workflow_runs r on r.id = t.workflow_run_id and r.subject_id = d.id
         join wipe_proofs p on p.task_id = t.id and p.disk_serial = d.serial and p.is_verified
       where d.id = any ($1) and d.state = 'owned'`,
      disks,
    ),
    [{ proofs: disks.length }],
    'each disk is owned by the one proof of its wipe',
  );
  await isClean();
  await worker.kill('SIGKILL');
});

test('a worker killed while a launch moves: it is on one host at a time and becomes active', async () => {
  const points = ['claimed', 'acted', 'committed'] as const;
  const { items: all } = await platform.client.adminNodeList({ query: { limit: 200 } });
  const nodes = all.filter(({ name }) => HOST_NAMES.includes(name));
  const [bad, ...others] = nodes;
  assert.ok(bad !== undefined && others.length === HOSTS - 1);
  const drain = (is_draining: boolean) =>
    Promise.all(
      others.map(({ id }) =>
        platform.client.adminNodeDrain({ params: { node_id: id }, body: { is_draining, reason: 'The test.' } }),
      ),
    );
  addFault(machineDir(fleetDir, bad.name), { when: 'slice.bundle_lease', do: 'fail', message: 'as the test asked' });
  await drain(true);
  const ids = await Promise.all(points.map((point) => launch(`moves-${point}`, 'h200-sxm-slice', 1)));
  await drain(false);
  const boundaries = points.map((point, index): Boundary => {
    const at = { step: 'leaseBundle', execution: 'move', kind: 'slice.bundle_lease' } as const;
    return { subject_id: ids[index] ?? '', workflow: provisionSlice.name, point, ...at };
  });
  const dying = striker.startWorker(boundaries.map((boundary) => ({ path: PATHS.provisionSlice, boundary })));
  await eventually(
    'the launches are at their boundary',
    () => dying.reached().length >= points.length || undefined,
    PATIENCE_MS,
  );
  await dying.worker.kill('SIGKILL');

  const placesOf = async () =>
    (
      await sql.query<{ id: string; is_left: boolean; live: number; left_claims: number; runs: number }>(
        `select a.id, a.node_id <> $2 as is_left,
           (select count(*) from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null
              and c.move_id is null and c.node_id = a.node_id)::integer as live,
           (select count(*) from allocation_resource_claims c where c.allocation_id = a.id and c.move_id is not null)::integer as left_claims,
           (select count(*) from workflow_runs r join allocation_moves m on m.id = r.subject_id where m.allocation_id = a.id)::integer as runs
         from allocations a where a.id = any ($1)`,
        [ids, bad.id],
      )
    ).rows;
  for (const { id, ...place } of await placesOf()) {
    const hasMoved = id === ids[points.indexOf('committed')];
    const moves = hasMoved ? 1 : 0;
    assert.deepEqual(place, { is_left: hasMoved, live: 1, left_claims: moves, runs: moves }, id);
  }
  await isClean();

  const { worker } = striker.startWorker([]);
  await allReach(ids, 'active');
  for (const { id, ...place } of await placesOf())
    assert.deepEqual(place, { is_left: true, live: 1, left_claims: 1, runs: 1 }, id);
  await eventually(
    'the host that they left is wiped',
    async () =>
      (await sql.query("select from node_resource_slots where node_id = $1 and status <> 'available'", [bad.id]))
        .rowCount === 0 || undefined,
    PATIENCE_MS,
  );
  const { rows } = await sql.query<{ allocation_id: string }>(
    'select allocation_id from usage_records where allocation_id = any ($1) order by 1',
    [ids],
  );
  const charged = rows.map(({ allocation_id }) => allocation_id);
  assert.deepEqual(charged, ids.toSorted(), 'each is charged once');
  const flagged = await platform.client.adminNodeGet({ params: { node_id: bad.id } });
  assert.deepEqual([flagged.launch_failures, flagged.health], [ids.length, 'unhealthy']);
  await isClean();
  await worker.kill('SIGKILL');
});
