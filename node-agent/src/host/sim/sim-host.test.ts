/** A simulated host outlives its process, and a reboot loses what a real reboot loses. */
import assert from 'node:assert/strict';
import { access, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { simSubject } from '../../../test/sim-subject.ts';
import { ALLOCATION, cloneTo, machineOf, noProgress, prepare, refuses } from '../contract/subject.ts';
import { addFault } from './fault.ts';
import { createSimHost, type SimHost, type SimOptions } from './sim-host.ts';

const root = await mkdtemp(join(tmpdir(), 'sim-host-'));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;

const open = (options: Partial<SimOptions> = {}): SimHost => {
  count += 1;
  return createSimHost({ dir: join(root, `host-${count}`), name: 'j22u15', profile: 'dell-xe9680-h200', ...options });
};

const started = async (host: SimHost) => {
  const subject = await simSubject(host);
  const [slot] = subject.slots;
  assert.ok(slot);
  await prepare(subject, [slot]);
  const machine = machineOf([slot], { hugepages: { size_kib: 1024 ** 2, count: 64 }, fabric_partition_id: 8 });
  await host.fabric.activate(8);
  await host.network.attach({
    name: machine.plan.ovs_port,
    mac_address: machine.plan.mac_address,
    private_ip: machine.plan.private_ip,
    allocation_id: ALLOCATION,
  });
  await host.hypervisor.start(machine);
  return { subject, slot, machine };
};

test('opening the directory again restores the host state', async () => {
  const host = open();
  const { machine, slot } = await started(host);
  await host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: [] });
  const again = open({ dir: host.dir });
  assert.deepEqual(again.state(), host.state());
  assert.deepEqual(await again.hypervisor.guest(machine.name), await host.hypervisor.guest(machine.name));
  assert.deepEqual(await again.network.lease(machine.plan.mac_address, machine.plan.private_ip), {
    state: 'bound',
    ip: machine.plan.private_ip,
    other_mac: null,
  });
  assert.ok((await again.readDisk(slot.disk.serial, 0, 4096)).some((byte) => byte !== 0));
});

test('changes by another process are visible at the next operation', async () => {
  const host = open();
  const before = await host.system.facts();
  open({ dir: host.dir }).reboot();
  assert.notEqual((await host.system.facts()).boot_id, before.boot_id);
  addFault(host.dir, { state: 'rebooted' });
  assert.equal((await host.system.facts()).boot_id, host.state().boot.id);
  assert.equal(host.state().boot.count, 2);
});

test('a reboot ends VMs, bindings, activations and sessions, and keeps disks, images, accounts and ports', async () => {
  const host = open();
  const { machine, slot } = await started(host);
  await host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: [] });
  host.openSession('tenant-a');
  const names = (await host.disks.list()).map((disk) => disk.name);
  host.reboot();
  assert.deepEqual(
    (await host.hypervisor.list()).map(({ state }) => state),
    ['shut_off'],
  );
  assert.equal((await host.pci.list()).find((fn) => fn.address === slot.gpu)?.driver, 'nvidia');
  assert.ok((await host.fabric.facts()).partitions.every((one) => !one.is_active));
  assert.equal((await host.network.ports()).length, 1);
  assert.equal((await host.images.list()).length, 1);
  assert.notDeepEqual(
    (await host.disks.list()).map((disk) => disk.name),
    names,
  );
  assert.ok((await host.readDisk(slot.disk.serial, 0, 4096)).some((byte) => byte !== 0));
  assert.deepEqual(await host.system.removeUser('tenant-a'), { sessions_ended: 0, was_present: true });
  await refuses(host.hypervisor.start(machine), 'drift');
});

test('a binding on the kernel command line survives a reboot', async () => {
  const host = open({ vfio_at_boot: true });
  const drivers = async () => (await host.pci.list()).filter((fn) => fn.device_id === '2335').map((fn) => fn.driver);
  assert.deepEqual(new Set(await drivers()), new Set(['vfio-pci']));
  host.reboot();
  assert.deepEqual(new Set(await drivers()), new Set(['vfio-pci']));
  assert.deepEqual([...(await host.gpu.list())], []);
  assert.match((await host.system.facts()).kernel_command_line, /vfio-pci\.ids=10de:2335/);
});

test('a host without power does not respond until power returns', async () => {
  const host = open();
  host.powerOff();
  await refuses(host.system.facts(), 'host_error');
  host.powerOn();
  assert.equal((await host.system.facts()).boot_id, host.state().boot.id);
});

test('an open disk is rejected after a reboot gave its device number to another disk', async () => {
  const host = open();
  const { slots } = await simSubject(host);
  assert.ok(slots[0]);
  const disk = await host.disks.open(slots[0].disk);
  host.reboot();
  await refuses(disk.wipe('nvme_sanitize'), 'drift');
  await refuses(disk.close(), 'drift');
});

test('a running VM holds huge pages on its own NUMA node and frees them when it stops', async () => {
  const host = open();
  const free = async () => (await host.system.facts()).hugepages.map((pages) => pages.free);
  assert.deepEqual(await free(), [896, 896]);
  const { machine } = await started(host);
  assert.deepEqual(await free(), [832, 896]);
  await host.hypervisor.stop(machine.name, 30);
  assert.deepEqual(await free(), [896, 896]);
});

test('a guest OS reports once it has booted, by the clock of the host', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const host = open({ durations: { boot_ms: 20_000 }, now: () => new Date(now) });
  const { machine } = await started(host);
  assert.equal(await host.hypervisor.guest(machine.name), null);
  now += 20_000;
  assert.equal((await host.hypervisor.guest(machine.name))?.gpu_count, 1);
});

test('the seed is removed with the definition', async () => {
  const host = open();
  const { machine } = await started(host);
  const seed = join(host.dir, 'seeds', `${machine.name}.json`);
  assert.equal((await stat(seed)).mode & 0o777, 0o600);
  await host.hypervisor.stop(machine.name, 30);
  await host.hypervisor.remove(machine.name);
  await assert.rejects(access(seed));
});

test('a tenant leaves data on every disk of the VM, and a wipe removes it', async () => {
  const host = open();
  const { machine, slot } = await started(host);
  const offset = 48 * 1024 ** 2;
  assert.match((await host.readDisk(slot.disk.serial, offset, 64)).toString(), /^data of alc_/);
  await host.hypervisor.stop(machine.name, 30);
  const disk = await host.disks.open(slot.disk);
  await disk.wipe('nvme_sanitize');
  assert.ok((await host.readDisk(slot.disk.serial, offset, 64)).every((byte) => byte === 0));
  const file = await stat(join(host.dir, 'disks', `${slot.disk.serial}.img`));
  assert.equal(file.size, 64 * 1024 ** 2);
  assert.equal(file.blocks, 0);
});

test('a cloned disk takes little more space than the data written to it', async () => {
  const host = open();
  const subject = await simSubject(host);
  assert.ok(subject.slots[0]);
  await cloneTo(subject, subject.slots[0]);
  const { blocks } = await stat(join(host.dir, 'disks', `${subject.slots[0].disk.serial}.img`));
  assert.ok(blocks * 512 < 1024 ** 2, `${blocks * 512} bytes`);
});

test('a host that is only read writes its state once and creates no disks', async () => {
  const host = open();
  await host.system.facts();
  const { ino } = await stat(join(host.dir, 'state.json'));
  await Promise.all([host.pci.list(), host.disks.list(), host.network.nics(), host.gpu.list(), host.fabric.facts()]);
  await host.system.kernelLog();
  assert.equal((await stat(join(host.dir, 'state.json'))).ino, ino);
  assert.deepEqual(await readdir(host.dir), ['state.json']);
});

test('a pull reports progress up to its end, at the configured speed', async () => {
  const waited: number[] = [];
  const host = open({ durations: { pull_ms: 4000 }, pause: async (ms) => void waited.push(ms) });
  const told: number[] = [];
  await host.images.pull({ name: 'ubuntu', digest: null }, ({ percent }) => told.push(percent));
  assert.deepEqual(told, [25, 50, 75, 100]);
  assert.equal(
    waited.reduce((sum, ms) => sum + ms, 0),
    4000,
  );
  await host.images.pull({ name: 'ubuntu', digest: null }, noProgress);
  assert.equal(waited.length, 4);
});
