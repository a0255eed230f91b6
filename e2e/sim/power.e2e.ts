/**
 * Power of a slice with only the hardware simulated: the server is a process, the agent the real one on a simulated
 * host. A tenant stops, starts, reboots and reinstalls; the agent is killed, the host refuses, and a release
 * intervenes. In each case the slice keeps its address and is charged, and a released slice leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Allocation } from '@gpuaas/sdk';
import { machineDir } from '../../lab/src/fleet-dir.ts';
import { addFault, clearFaults, type NewFault } from '../../node-agent/src/host/sim/fault.ts';
import { EXT4_UUID } from '../../node-agent/src/host/sim/guest-disks.ts';
import type { State } from '../../node-agent/src/host/sim/state.ts';
import { emptyDatabase } from '../../server/test/database.ts';
import { createStory, failureReport } from '../story.ts';
import { eventually, type Platform, type Running, startPlatform } from './platform.ts';

const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-power-'));
const fleetDir = join(scratch, 'fleet');
const HOST = 'slice-0001';
const FLEET = ['--nodes', '1', '--prefix', 'slice-', '--dir', fleetDir];

let platform: Platform;
let hosts: Running;
let params: { project_id: string; allocation_id: string };
const cleanups: (() => Promise<void>)[] = [];

const test = createStory(() => failureReport(platform.client));

before(async () => {
  const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  platform = await startPlatform({ database_url, dir: scratch });
  hosts = platform.hosts(FLEET);
  await platform.ready(hosts, 1);
  const [project] = (await platform.client.meGet()).projects;
  params = { project_id: project?.id ?? '', allocation_id: '' };
});

after(async () => {
  await platform?.stop();
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

const machine = (): State => JSON.parse(readFileSync(join(machineDir(fleetDir, HOST), 'state.json'), 'utf8'));
const lay = (rule: NewFault): string => addFault(machineDir(fleetDir, HOST), rule).id;
const get = (): Promise<Allocation> => platform.client.allocationGet({ params });
const seen = async (what: string, is: (found: Allocation) => boolean): Promise<Allocation> =>
  eventually(what, async () => {
    const found = await get();
    return is(found) ? found : undefined;
  });
const rests = (state: NonNullable<Allocation['power']>['state']): Promise<Allocation> =>
  seen(`its power is ${state}`, ({ power }) => power?.workflow_run_id === null && power.state === state);
const launch = async (name: string): Promise<Allocation> => {
  const body = {
    name,
    sku_name: 'h200-sxm-slice',
    region_name: 'us-buffalo-1',
    gpu_count: 2,
    user_data: '#!/bin/sh\n',
    storage: 'formatted' as const,
  };
  const { id } = await platform.client.allocationCreate({ params, body });
  params = { ...params, allocation_id: id };
  return rests('on');
};

/** The file system of its data disk, and where it is mounted. */
const dataDisk = () => {
  const { plan, guest } = machine().domains[0] ?? assert.fail('the slice has no VM');
  const serial = plan?.slots.find((slot) => slot.slot_id !== plan.boot_slot_id)?.nvme_serial ?? '';
  const bytes = readFileSync(join(machineDir(fleetDir, HOST), 'disks', `${serial}.img`));
  return { mounts: guest?.mounts, uuid: bytes.subarray(EXT4_UUID.offset, EXT4_UUID.offset + EXT4_UUID.length) };
};

test('a slice is stopped, started, rebooted and reinstalled at one address while its agent is killed', async () => {
  const first = await launch('power');
  const disk = dataDisk();
  assert.deepEqual([first.storage, disk.mounts], ['formatted', ['/data/1']]);
  assert.ok(disk.uuid.some((byte) => byte !== 0));
  await platform.client.allocationStop({ params, body: { grace_s: 5 } });
  const off = await rests('off');
  assert.deepEqual([off.state, off.power?.is_charged, machine().domains[0]?.state], ['active', true, 'shut_off']);
  assert.deepEqual(machine().active_partitions, []);

  const rule = lay({ when: 'slice.vm_start', do: 'hang', times: 1 });
  await platform.client.allocationStart({ params, body: {} });
  await eventually('the start hangs', () => machine().fault_hits[rule] !== undefined || undefined);
  await hosts.kill('SIGKILL');
  hosts = platform.hosts(FLEET);
  assert.deepEqual((await rests('on')).ssh, first.ssh);

  await platform.client.allocationReboot({ params, body: {} });
  assert.deepEqual((await rests('on')).ssh, first.ssh);
  await platform.client.allocationReinstall({ params, body: {} });
  const second = await rests('on');
  assert.deepEqual([second.ssh?.address, second.power?.install_number], [first.ssh?.address, 1]);
  assert.notEqual(second.ssh?.host_key, first.ssh?.host_key);
  assert.equal(machine().domains.length, 1);
  assert.deepEqual(dataDisk(), disk, 'a data disk is formatted once');
});

test('a start refused by the host leaves the slice off with a reason, and the next start succeeds', async () => {
  await platform.client.allocationStop({ params, body: { is_hard: true } });
  await rests('off');
  lay({ when: 'hypervisor.start', do: 'fail', message: 'as the test asked' });
  await platform.client.allocationStart({ params, body: {} });
  const refused = await seen('it says why', ({ power }) => power?.workflow_run_id === null && power.reason !== null);
  assert.deepEqual([refused.state, refused.power?.state], ['active', 'off']);
  assert.doesNotMatch(refused.power?.reason ?? '', /as the test asked/, 'words of a host are not a tenant’s');
  clearFaults(machineDir(fleetDir, HOST));
  await platform.client.allocationStart({ params, body: {} });
  assert.equal((await rests('on')).power?.reason, null);
});

test('a release during a reinstallation waits for the host and leaves nothing behind', async () => {
  const rule = lay({ when: 'slice.image_clone', do: 'slow', delay_ms: 2_000, times: 1 });
  await platform.client.allocationReinstall({ params, body: {} });
  await eventually('the image is being copied', () => machine().fault_hits[rule] !== undefined || undefined);
  await platform.client.allocationRelease({ params, body: {} });
  await seen('it is released', ({ state }) => state === 'released');
  const { domains, ports, active_partitions } = machine();
  assert.deepEqual([domains, ports, active_partitions], [[], [], []]);
  const report = await platform.client.adminInvariantCheck();
  assert.deepEqual(report.violations, []);
});
