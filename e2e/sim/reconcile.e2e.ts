/**
 * Changes on a host outside of the platform, with only the hardware simulated: a reboot, a shutdown by the guest OS,
 * and an unmanaged VM on a schedulable disk. The agent reports its inventory and the control plane compares it.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Allocation, Node } from '@gpuaas/sdk';
import { Client as Database } from 'pg';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { createSimHost, type SimHost } from '../../node-agent/src/host/sim/sim-host.ts';
import { emptyDatabase } from '../../server/test/database.ts';
import { createStory, failureReport } from '../story.ts';
import { eventually, type Platform, type Running, startPlatform } from './platform.ts';

const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-reconcile-'));
const fleetDir = join(scratch, 'fleet');
const HOST = 'slice-0001';
const FLEET = ['--nodes', '1', '--prefix', 'slice-', '--dir', fleetDir];

let platform: Platform;
let hosts: Running;
let database: Database;
let params: { project_id: string; allocation_id: string };
const cleanups: (() => Promise<void>)[] = [];

const test = createStory(() => failureReport(platform.client));

before(async () => {
  const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  platform = await startPlatform({ database_url, dir: scratch });
  database = new Database({ connectionString: database_url });
  await database.connect();
  hosts = platform.hosts(FLEET);
  await platform.ready(hosts, 1);
  const [project] = (await platform.client.meGet()).projects;
  params = { project_id: project?.id ?? '', allocation_id: '' };
});

after(async () => {
  await platform?.stop();
  await database?.end();
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

const machine = (): SimHost =>
  createSimHost({ dir: machineDir(fleetDir, HOST), name: HOST, profile: 'dell-xe9680-h200' });
const rests = (state: NonNullable<Allocation['power']>['state']): Promise<Allocation> =>
  eventually(`its power is ${state}`, async () => {
    const found = await platform.client.allocationGet({ params });
    return found.power?.workflow_run_id === null && found.power.state === state ? found : undefined;
  });
const theNode = async (): Promise<Node> => {
  const [node] = (await platform.client.adminNodeList({ query: { name: HOST } })).items;
  assert.ok(node);
  return node;
};
const inventory = async () => platform.client.adminNodeInventoryGet({ params: { node_id: (await theNode()).id } });

/**
 * The agent dies, something changes, and a restarted agent reconciles at once. Changes that ended long ago are not in
 * progress.
 */
const meanwhile = async (happens: (host: SimHost) => void): Promise<void> => {
  await hosts.kill('SIGKILL');
  happens(machine());
  await database.query(
    "update node_tasks set finished_at = finished_at - interval '2 minutes' where finished_at is not null",
  );
  hosts = platform.hosts(FLEET);
};

test('a running slice is started again after its host rebooted, at the same address', async () => {
  const body = { name: 'kept', sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count: 2 };
  const { id } = await platform.client.allocationCreate({ params, body });
  params = { ...params, allocation_id: id };
  const first = await rests('on');
  await meanwhile((host) => host.reboot());
  await eventually('it is being started', async () => {
    const { power } = await platform.client.allocationGet({ params });
    return power?.state === 'starting' ? power : undefined;
  });
  const again = await rests('on');
  assert.deepEqual([again.ssh, again.state], [first.ssh, 'active']);
  assert.deepEqual(
    machine()
      .state()
      .domains.map(({ state }) => state),
    ['running'],
  );
});

test('a slice shut down by its guest OS is off, and the API shows why', async () => {
  await meanwhile((host) => host.endDomain(host.state().domains[0]?.name ?? '', 'guest'));
  const off = await rests('off');
  assert.deepEqual([off.state, off.power?.reason], ['active', 'The VM was shut down by the guest OS.']);
});

test('a VM created outside of the platform is reported and left alone, and its slot is not schedulable', async () => {
  // A node whose agent was disconnected is unschedulable until it was seen and checked again.
  const before = await eventually('it is schedulable again', async () => (await theNode()).free_gpus || undefined);
  const serial = machine().slots[7]?.serial ?? '';
  await meanwhile((host) => host.defineForeignDomain('somebodys', [serial]));
  const found = await eventually('it is reported', async () => {
    const { findings } = await inventory();
    return findings.find(({ code }) => code === 'unknown_vm');
  });
  assert.equal(found.slot_ids.length, 1);
  const node = await eventually('the rest is schedulable', async () => {
    const now = await theNode();
    return now.free_gpus > 0 ? now : undefined;
  });
  assert.deepEqual([node.free_gpus, node.finding_count], [before - 1, 1]);
  assert.ok(
    machine()
      .state()
      .domains.some(({ name, state }) => name === 'somebodys' && state === 'running'),
  );
  const { violations } = await platform.client.adminInvariantCheck();
  assert.deepEqual(violations, []);
});
