/**
 * The lifecycle of hosts and their allocations, with only the hardware simulated: the server is a process, each agent
 * is the real one on a simulated host, they connect over mTLS, and every request uses the public API. The tests share
 * one platform and run in order; the last one continues from the state of an earlier one.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { TaskKind } from '@gpuaas/contract/node';
import type { Allocation } from '@gpuaas/sdk';
import { Client as SqlClient } from 'pg';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { createFleetHost } from '../../lab/src/fleet-host.ts';
import { manyHosts } from '../../lab/src/fleet-spec.ts';
import { openConnection } from '../../node-agent/src/control-plane/connection.ts';
import { addFault, clearFaults, type NewFault } from '../../node-agent/src/host/sim/fault.ts';
import type { State } from '../../node-agent/src/host/sim/state.ts';
import { ControlPlaneError } from '../../node-agent/src/index.ts';
import { CHANNEL } from '../../server/src/ports/events/waker.ts';
import { emptyDatabase } from '../../server/test/database.ts';
import { createStory, failureReport } from '../story.ts';
import { eventually, type Platform, type Running, startPlatform } from './platform.ts';

const LAB = fileURLToPath(new URL('../../bin/gpuaas-lab', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-sim-'));
const fleetDir = join(scratch, 'fleet');
const SLICES = ['--nodes', '2', '--prefix', 'slice-', '--dir', fleetDir];
const WHOLE = ['--nodes', '1', '--prefix', 'whole-', '--mode', 'baremetal', '--dir', fleetDir];
const SLICE_HOSTS = ['slice-0001', 'slice-0002'];

let platform: Platform;
let project_id: string;
let slices: Running;
let whole: Running;
let sql: SqlClient;
const cleanups: (() => Promise<void>)[] = [];

const test = createStory(() => failureReport(platform.client));

before(async () => {
  const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  platform = await startPlatform({ database_url, dir: scratch });
  sql = new SqlClient({ connectionString: database_url });
  await sql.connect();
  slices = platform.hosts(SLICES);
  whole = platform.hosts(WHOLE);
  await Promise.all([platform.ready(slices, 2), platform.ready(whole, 1)]);
  const [project] = (await platform.client.meGet()).projects;
  project_id = project?.id ?? '';
});

after(async () => {
  await platform?.stop();
  await sql?.end();
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

const nodeOf = async (name: string) => {
  const { items } = await platform.client.adminNodeList({ query: { name } });
  return items[0] ?? assert.fail(`there is no node ${name}`);
};

const launch = (name: string, sku_name = 'h200-sxm-slice', gpu_count = 1): Promise<Allocation> =>
  platform.client.allocationCreate({
    params: { project_id },
    body: { name, sku_name, region_name: 'us-buffalo-1', gpu_count },
  });
const get = (id: string) => platform.client.allocationGet({ params: { project_id, allocation_id: id } });
const release = (id: string) =>
  platform.client.allocationRelease({ params: { project_id, allocation_id: id }, body: {} });
const reaches = (id: string, state: Allocation['state']): Promise<Allocation> =>
  eventually(`${id} is ${state}`, async () => {
    const found = await get(id);
    const isOver = ['failed', 'released', 'release_failed'].includes(found.state);
    if (isOver && found.state !== state) assert.fail(`${id} is ${found.state}: ${found.state_reason}`);
    return found.state === state ? found : undefined;
  });

/** Through the CLI, as an operator adds them. */
const fault = (...words: readonly string[]): void => {
  const done = spawnSync(LAB, ['fault', ...words, '--dir', fleetDir], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
};
/** On every host where the next slice may be placed. */
const onSlices = (rule: NewFault): readonly string[] =>
  SLICE_HOSTS.map((name) => addFault(machineDir(fleetDir, name), rule).id);
const clearSlices = (): void => {
  for (const name of SLICE_HOSTS) clearFaults(machineDir(fleetDir, name));
};

const machineState = (name: string): State =>
  JSON.parse(readFileSync(join(machineDir(fleetDir, name), 'state.json'), 'utf8'));

/** The host has recorded that the rule was applied, so that it applies once. */
const wasUsed = (ruleId: string): boolean =>
  SLICE_HOSTS.some((name) => machineState(name).fault_hits[ruleId] !== undefined);

const slotsOf = async (name: string) => {
  const node = await nodeOf(name);
  return (await platform.client.adminNodeSlotList({ params: { node_id: node.id }, query: { limit: 20 } })).items;
};

/** All slots are schedulable again, and every used one has a wipe proof. */
const everySlotIsClean = async (): Promise<void> => {
  for (const name of SLICE_HOSTS) {
    for (const slot of await slotsOf(name)) {
      assert.deepEqual([slot.status, slot.approval], ['available', 'approved'], slot.status_reason ?? '');
      assert.notEqual(slot.wipe_proof_id, null, `${name} slot ${slot.slot_index}`);
    }
    assert.deepEqual(machineState(name).domains, []);
    assert.deepEqual(machineState(name).ports, []);
  }
};

const hostOf = async (id: string): Promise<string> => {
  const { node_id } = await platform.client.adminAllocationGet({ params: { allocation_id: id } });
  return (await platform.client.adminNodeGet({ params: { node_id: node_id ?? '' } })).name;
};

const taskOf = async (id: string, kind: TaskKind) => {
  const { rows } = await sql.query<{ id: string; state: string; attempt: number }>(
    'select id, state, attempt from node_tasks where allocation_id = $1 and kind = $2 order by attempt desc limit 1',
    [id, kind],
  );
  return rows[0];
};

test('hosts are enrolled, discovered and approved by the public API, and a slice ends with a wipe proof', async () => {
  for (const name of SLICE_HOSTS) {
    const node = await nodeOf(name);
    assert.deepEqual([node.state, node.health, node.is_runtime_validated, node.free_gpus], ['active', 'ok', true, 8]);
    const agent = await platform.client.adminNodeAgentGet({ params: { node_id: node.id } });
    assert.deepEqual([agent.is_connected, agent.certificates.length], [true, 1]);
  }
  const { id } = await launch('life', 'h200-sxm-slice', 2);
  await reaches(id, 'active');
  const host = await hostOf(id);
  const [domain] = machineState(host).domains;
  assert.deepEqual([domain?.name, domain?.state], [`gpuaas-${id.replace('_', '-')}`, 'running']);
  assert.equal((await slotsOf(host)).filter((slot) => slot.status === 'in_use').length, 2);
  await release(id);
  await reaches(id, 'released');
  await everySlotIsClean();
});

test('a bare-metal allocation becomes active with its user account, and its host process is killed', async () => {
  const { id } = await launch('whole', 'h200-sxm-baremetal-8g', 8);
  await reaches(id, 'active');
  assert.equal(Object.keys(machineState('whole-0001').users).length, 1);
  await whole.kill('SIGKILL');
});

/** As an operator who has checked the hosts. */
const clearFailures = async (): Promise<void> => {
  for (const name of SLICE_HOSTS) {
    const params = { node_id: (await nodeOf(name)).id };
    await platform.client.adminNodeLaunchFailuresClear({ params, body: { reason: 'The fault is cleared.' } });
  }
};

test('a launch whose host fails becomes active on another host, and the failed host is flagged and wiped', async () => {
  const nodes = await Promise.all(SLICE_HOSTS.map(nodeOf));
  // Both are empty and equal, so the first is chosen.
  const [bad, good] = nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  assert.ok(bad && good);
  addFault(machineDir(fleetDir, bad.name), { when: 'slice.vm_start', do: 'fail', message: 'as the test asked' });
  const { id } = await launch('moves', 'h200-sxm-slice', 2);
  await reaches(id, 'active');
  assert.equal(await hostOf(id), good.name);
  assert.equal(machineState(good.name).domains.length, 1);
  assert.equal((await nodeOf(bad.name)).launch_failures, 1);
  const { alerts } = await platform.client.adminNodeHealthGet({ params: { node_id: bad.id } });
  assert.deepEqual(
    alerts.map((alert) => alert.id),
    ['launch_failures'],
  );
  const { items } = await platform.client.allocationTimeline({ params: { project_id, allocation_id: id }, query: {} });
  assert.ok(items.some(({ step, outcome }) => step === 'startVm' && outcome === 'failed'));
  await eventually(
    'the host that it left is clean',
    async () => (await slotsOf(bad.name)).every((slot) => slot.status === 'available') || undefined,
  );
  assert.deepEqual(machineState(bad.name).domains, []);
  clearSlices();
  await release(id);
  await reaches(id, 'released');
  await clearFailures();
  assert.equal((await nodeOf(bad.name)).launch_failures, 0);
  await everySlotIsClean();
});

for (const kind of ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness'] as const)
  test(`a host that fails at ${kind} leaves a failed allocation and a clean slot`, async () => {
    onSlices({ when: kind, do: 'fail', message: 'as the test asked' });
    const { id } = await launch(`fails-${kind.replace(/[._]/g, '-')}`);
    const failed = await reaches(id, 'failed');
    assert.ok(failed.state_reason, 'it says why');
    assert.doesNotMatch(failed.state_reason ?? '', /as the test asked/, 'words of a host are not a tenant’s');
    clearSlices();
    await clearFailures();
    await eventually(
      'its slot is clean',
      async () =>
        (await Promise.all(SLICE_HOSTS.map(slotsOf))).flat().every((slot) => slot.status === 'available') || undefined,
    );
    await everySlotIsClean();
  });

test('an agent killed at every step resumes and executes each step once', async () => {
  const kinds = ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness'] as const;
  const ending = ['slice.vm_stop', 'slice.cleanup'] as const;
  const rules = new Map<TaskKind, readonly string[]>();
  for (const kind of [...kinds, ...ending]) rules.set(kind, onSlices({ when: kind, do: 'hang', times: 1 }));
  const { id } = await launch('killed', 'h200-sxm-slice', 4);
  const killAt = async (kind: TaskKind): Promise<void> => {
    await eventually(`${kind} hangs`, () => rules.get(kind)?.some(wasUsed) || undefined);
    await slices.kill('SIGKILL');
    slices = platform.hosts(SLICES);
  };
  for (const kind of kinds) await killAt(kind);
  await reaches(id, 'active');
  assert.equal(machineState(await hostOf(id)).domains.length, 1);
  await release(id);
  for (const kind of ending) await killAt(kind);
  await reaches(id, 'released');
  for (const kind of [...kinds, ...ending]) assert.equal((await taskOf(id, kind))?.attempt, 1, kind);
  clearSlices();
  await everySlotIsClean();
});

test('a task that is delivered five more times is executed once', async () => {
  onSlices({ when: 'slice.vm_start', do: 'slow', delay_ms: 4_000, times: 1 });
  const { id } = await launch('again');
  const stateOf = async () => (await taskOf(id, 'slice.vm_start'))?.state;
  await eventually('the machine is being started', async () => (await stateOf()) === 'running' || undefined);
  const become = (state: string) =>
    sql.query("update node_tasks set state = $2 where allocation_id = $1 and kind = 'slice.vm_start'", [id, state]);
  for (let times = 0; times < 5; times++) {
    // A control plane that lost the record of its dispatch dispatches the task again.
    await become('queued');
    await sql.query(`notify ${CHANNEL}`);
    await eventually('it is handed out again', async () => (await stateOf()) === 'dispatched' || undefined);
  }
  await become('running');
  await reaches(id, 'active');
  assert.equal(machineState(await hostOf(id)).domains.length, 1);
  assert.equal((await taskOf(id, 'slice.vm_start'))?.attempt, 1);
  clearSlices();
  await release(id);
  await reaches(id, 'released');
  await everySlotIsClean();
});

/** Sends a harmless request with the certificate of that host until it is refused. */
const isLockedOut = async (name: string): Promise<void> => {
  const url = new URL(readFileSync(join(fleetDir, name, 'node-api-url'), 'utf8').trim());
  const connection = await openConnection({ url, state: join(fleetDir, name, 'agent'), version: '0.1.0' });
  const { node_id } = connection;
  const body = { first_number: 0, agent_start_id: 'nobody', lines: [] };
  await eventually('its certificate is refused', () =>
    connection.call('logShip', { params: { node_id }, body }).then(
      () => undefined,
      (err: unknown) => (err instanceof ControlPlaneError && err.kind === 'refused') || undefined,
    ),
  );
  connection.close();
};

test('a revoked agent returns by enrolling again, and its VMs keep running', async () => {
  const { id } = await launch('locked');
  await reaches(id, 'active');
  const host = await hostOf(id);
  const { id: node_id } = await nodeOf(host);
  const reason = 'The test asks for it.';
  await platform.client.adminNodeAgentRevoke({ params: { node_id }, body: { reason } });
  await isLockedOut(host);
  await release(id);
  const door = await platform.client.adminNodeEnrollmentCreate({ params: { node_id }, body: { reason } });
  const [spec] = manyHosts(2, { prefix: 'slice-', profile: 'dell-xe9680-h200', capacity_mode: 'slice' }).filter(
    ({ name }) => name === host,
  );
  assert.ok(spec);
  assert.equal((await taskOf(id, 'slice.vm_stop'))?.state ?? 'queued', 'queued', 'a locked out agent gets no work');
  assert.equal(machineState(host).domains[0]?.state, 'running');
  await createFleetHost({ dir: fleetDir, spec, say: () => {} }).enroll(door);
  await reaches(id, 'released');
  const { certificates } = await platform.client.adminNodeAgentGet({ params: { node_id } });
  assert.equal(certificates.filter((one) => one.revoked_at === null).length, 1);
  await everySlotIsClean();
});

test('a disk that falsely reports a wipe stays blocked until it is really wiped', async () => {
  const { id } = await launch('lies');
  await reaches(id, 'active');
  const host = await hostOf(id);
  fault('add', '--node', host, '--when', 'slice.cleanup', '--do', 'lie');
  await release(id);
  await reaches(id, 'release_failed');
  const blocked = (await slotsOf(host)).filter((slot) => slot.status === 'cleanup_blocked');
  assert.equal(blocked.length, 1);
  fault('clear', '--node', host);
  await release(id);
  await reaches(id, 'released');
  await everySlotIsClean();
});

test('a disconnected host is shown offline, keeps its allocation, and releases it with proof on return', async () => {
  const offline = await eventually('the host is offline', async () => {
    const node = await nodeOf('whole-0001');
    return node.state === 'offline' ? node : undefined;
  });
  assert.equal(offline.occupancy, 'exclusive');
  const [held] = (await platform.client.allocationList({ params: { project_id }, query: { name: 'whole' } })).items;
  assert.equal(held?.state, 'active');
  const id = held?.id ?? '';
  await release(id);
  assert.notEqual((await nodeOf('whole-0001')).occupancy, 'free', 'nothing is freed while the host cannot be checked');
  whole = platform.hosts(WHOLE);
  await reaches(id, 'released');
  const back = await eventually('the host is active', async () => {
    const node = await nodeOf('whole-0001');
    return node.state === 'active' ? node : undefined;
  });
  assert.equal(back.occupancy, 'free');
  assert.deepEqual(machineState('whole-0001').users, {});
  const { rows } = await sql.query<{ n: number }>(
    "select count(distinct evidence ->> 'serial')::integer as n from wipe_proofs where allocation_id = $1 and is_verified",
    [id],
  );
  assert.equal(rows[0]?.n, 8);
  const { is_clean } = await platform.client.adminInvariantCheck({});
  assert.equal(is_clean, true);
});
