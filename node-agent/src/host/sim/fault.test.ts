/** The faults of a simulated host: each has its documented effect and no other. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { simSubject } from '../../../test/sim-subject.ts';
import { ALLOCATION, cloneTo, machineOf, prepare, refuses, type Subject } from '../contract/subject.ts';
import { addFault, clearFaults, type NewFault, readFaults } from './fault.ts';
import { createSimHost, type SimHost, type SimOptions } from './sim-host.ts';

const root = await mkdtemp(join(tmpdir(), 'sim-fault-'));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;

const setUp = async (options: Partial<SimOptions> = {}): Promise<Readonly<{ host: SimHost; subject: Subject }>> => {
  count += 1;
  const dir = options.dir ?? join(root, `host-${count}`);
  const host = createSimHost({
    dir,
    name: 'j22u15',
    profile: 'dell-xe9680-h200',
    disk_bytes: 8 * 1024 ** 2,
    ...options,
  });
  return { host, subject: await simSubject(host) };
};

const slotOf = ({ slots }: Subject, index: number) => slots[index] ?? assert.fail(`slot ${index}`);

const start = async (subject: Subject, index = 0) => {
  const slot = slotOf(subject, index);
  const machine = machineOf([slot]);
  await prepare(subject, [slot]);
  await subject.host.network.attach({
    name: machine.plan.ovs_port,
    mac_address: machine.plan.mac_address,
    private_ip: machine.plan.private_ip,
    allocation_id: ALLOCATION,
  });
  await subject.host.hypervisor.start(machine);
  return machine;
};

test('a rule for one failure fails once', async () => {
  const { host } = await setUp();
  addFault(host.dir, { when: 'pci.list', do: 'fail', times: 1, code: 'timeout' });
  await refuses(host.pci.list(), 'timeout');
  assert.ok((await host.pci.list()).length > 0);
});

test('a rule for a slot leaves the other slots alone', async () => {
  const { host, subject } = await setUp();
  addFault(host.dir, { when: 'disks.open', do: 'fail', slot: 1 });
  await refuses(host.disks.open(slotOf(subject, 1).disk), 'host_error');
  await (await host.disks.open(slotOf(subject, 0).disk)).close();
});

test('a rule for a task kind applies to its operation if the current task is unknown', async () => {
  const { host, subject } = await setUp();
  addFault(host.dir, { when: 'slice.vm_start', do: 'fail', times: 1, message: 'QEMU did not start.' });
  await prepare(subject, [slotOf(subject, 0)]);
  await refuses(host.hypervisor.start(machineOf([slotOf(subject, 0)])));
  await host.hypervisor.start(machineOf([slotOf(subject, 0)]));
});

test('a rule for a task kind applies at the start of that task and to no other task', async () => {
  const { host, subject } = await setUp();
  const work = () => host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: [] });
  const params = { slots: [{ nvme_serial: slotOf(subject, 2).disk.serial }] };
  addFault(host.dir, { when: 'allocation.provision_user', do: 'fail', slot: 2 });
  await host.during({ kind: 'allocation.install_authorized_keys', params }, work);
  await host.during({ kind: 'allocation.provision_user', params: {} }, work);
  await refuses(host.during({ kind: 'allocation.provision_user', params }, work));
});

test('a crash ends the process, is counted before, and spares the next process', async () => {
  let crashes = 0;
  const { host, subject } = await setUp({
    onCrash: () => {
      crashes += 1;
    },
  });
  addFault(host.dir, { when: 'images.clone', do: 'crash', times: 1 });
  await assert.rejects(cloneTo(subject, slotOf(subject, 0)), /crashed/);
  assert.equal(crashes, 1);
  await assert.rejects(host.pci.list(), /has crashed/);
  const next = await setUp({ dir: host.dir, onCrash: () => assert.fail('crashed again') });
  await cloneTo(next.subject, slotOf(next.subject, 0));
});

test('a crash after the effect loses the response and keeps the effect', async () => {
  const { host, subject } = await setUp({ onCrash: () => {} });
  addFault(host.dir, { when: 'slice.vm_start', do: 'crash', times: 1, after: true });
  await assert.rejects(start(subject), /crashed/);
  const next = await setUp({ dir: host.dir });
  assert.equal((await next.host.hypervisor.list())[0]?.state, 'running');
  await next.host.hypervisor.start(machineOf([slotOf(next.subject, 0)]));
});

test('a lying wipe reports success and keeps every byte', async () => {
  const { host, subject } = await setUp();
  await cloneTo(subject, slotOf(subject, 0));
  addFault(host.dir, { when: 'slice.cleanup', do: 'lie', times: 1 });
  const disk = await host.disks.open(slotOf(subject, 0).disk);
  assert.deepEqual(await disk.wipe('nvme_sanitize'), { command_status: 0 });
  assert.deepEqual([...(await disk.signatures())], ['ext4', 'gpt']);
  await disk.wipe('nvme_sanitize');
  assert.deepEqual([...(await disk.signatures())], []);
});

test('a disk that rejects the wipe reports it in its status', async () => {
  const { host, subject } = await setUp();
  await cloneTo(subject, slotOf(subject, 0));
  addFault(host.dir, { state: 'wipe_rejected', slot: 0 });
  const disk = await host.disks.open(slotOf(subject, 0).disk);
  assert.notEqual((await disk.wipe('nvme_format')).command_status, 0);
  assert.ok((await disk.signatures()).length > 0);
});

test('a lying guest OS reports one GPU too few', async () => {
  const { host, subject } = await setUp();
  const machine = await start(subject);
  addFault(host.dir, { when: 'slice.vm_readiness', do: 'lie' });
  assert.equal((await host.hypervisor.guest(machine.name))?.gpu_count, 0);
});

test('a slow operation takes the configured time', async () => {
  const waited: number[] = [];
  const { host } = await setUp({ pause: async (ms) => void waited.push(ms) });
  addFault(host.dir, { when: 'gpu.list', do: 'slow', delay_ms: 1234 });
  await host.gpu.list();
  assert.deepEqual(waited, [1234]);
});

test('a hanging operation ends when its rule is cleared', async () => {
  const { host } = await setUp();
  addFault(host.dir, { when: 'disks.list', do: 'hang' });
  const hanging = refuses(host.disks.list(), 'timeout');
  assert.equal(clearFaults(host.dir), 1);
  // The poll does not keep the process alive; something else has to.
  const alive = setInterval(() => {}, 1000);
  await hanging;
  clearInterval(alive);
});

test('DHCP leases: missing, wrong or in conflict', async () => {
  const { host, subject } = await setUp();
  const { mac_address: mac, private_ip: ip } = (await start(subject)).plan;
  const told = async (fault: NewFault) => {
    const rule = addFault(host.dir, fault);
    const lease = await host.network.lease(mac, ip);
    clearFaults(host.dir, [rule.id]);
    return lease;
  };
  assert.equal((await told({ state: 'no_lease', slot: 0 })).state, 'none');
  const wrong = await told({ state: 'wrong_lease', slot: 0 });
  assert.equal(wrong.state, 'bound');
  assert.notEqual(wrong.ip, ip);
  const conflict = await told({ state: 'mac_conflict', slot: 0 });
  assert.equal(conflict.state, 'conflict');
  assert.ok(conflict.other_mac !== null && conflict.other_mac !== mac);
  assert.equal((await told({ state: 'no_lease', slot: 1 })).state, 'bound');
});

test('a dead Fabric Manager activates nothing and has lost all state when it is back', async () => {
  const { host } = await setUp();
  await host.fabric.activate(3);
  const rule = addFault(host.dir, { state: 'fabric_manager_dead' });
  await refuses(host.fabric.activate(4), 'host_error');
  assert.equal((await host.fabric.facts()).manager.is_running, false);
  clearFaults(host.dir, [rule.id]);
  const { partitions } = await host.fabric.facts();
  assert.equal(partitions.length, 15);
  assert.ok(partitions.every((one) => !one.is_active));
});

test('a VM that boots without its active partition has no working GPU', async () => {
  const { host, subject } = await setUp();
  const slot = slotOf(subject, 0);
  await prepare(subject, [slot]);
  const machine = machineOf([slot], { fabric_partition_id: 8 });
  await host.hypervisor.start(machine);
  assert.equal((await host.hypervisor.guest(machine.name))?.gpu_count, 0);
  await host.fabric.activate(8);
  assert.equal((await host.hypervisor.guest(machine.name))?.gpu_count, 0);
  await host.hypervisor.reboot(machine.name, true);
  assert.equal((await host.hypervisor.guest(machine.name))?.gpu_count, 1);
});

test('a VM whose boot disk is empty runs and never reports', async () => {
  const { host, subject } = await setUp();
  const slot = slotOf(subject, 0);
  await host.pci.bind(slot.gpu, 'vfio-pci');
  await host.pci.bind(slot.vf, 'vfio-pci');
  const machine = machineOf([slot]);
  await host.hypervisor.start(machine);
  assert.equal((await host.hypervisor.list())[0]?.state, 'running');
  assert.equal(await host.hypervisor.guest(machine.name), null);
});

test('a GPU off the bus is in the log with Xid 79, missing from the driver, and cannot be reset', async () => {
  const { host, subject } = await setUp();
  const { gpu } = slotOf(subject, 0);
  addFault(host.dir, { state: 'gpu_off_the_bus', slot: 0 });
  const log = (await host.system.kernelLog()).join('\n');
  assert.match(log, /NVRM: Xid \(PCI:0000:1b:00\): 79, .*fallen off the bus/);
  assert.match(log, /NVRM: GPU 0000:1b:00\.0: GPU has fallen off the bus/);
  assert.deepEqual(
    (await host.gpu.list()).map((one) => one.pci_address),
    subject.slots.slice(1).map((slot) => slot.gpu),
  );
  assert.equal((await host.pci.reset(gpu, [gpu])).is_ok, false);
});

test('an Xid stays in the log until the host reboots', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const { host } = await setUp({ now: () => new Date(now) });
  now += 60_000;
  addFault(host.dir, { state: 'gpu_xid', slot: 3, value: 48 }, () => new Date(now));
  assert.deepEqual((await host.system.kernelLog()).slice(1), [
    "[   60.000000] NVRM: Xid (PCI:0000:5c:00): 48, pid='<unknown>', name=<unknown>",
  ]);
  now += 60_000;
  host.reboot();
  assert.equal((await host.system.kernelLog()).length, 1);
});

const STATES: ReadonlyArray<readonly [NewFault, (host: SimHost, subject: Subject) => Promise<void>]> = [
  [
    { state: 'device_missing', slot: 0 },
    async (host, subject) => assert.ok((await host.pci.list()).every((fn) => fn.address !== slotOf(subject, 0).gpu)),
  ],
  [{ state: 'disk_missing', slot: 0 }, (host, subject) => refuses(host.disks.open(slotOf(subject, 0).disk), 'drift')],
  [
    { state: 'iommu_group_merged', slot: 0 },
    async (host, subject) => {
      const groups = await host.pci.iommuGroups();
      const group = groups.find(({ addresses }) => addresses.includes(slotOf(subject, 0).gpu));
      assert.equal(group?.addresses.length, 3);
      await prepare(subject, [slotOf(subject, 0)]);
      await refuses(host.hypervisor.start(machineOf([slotOf(subject, 0)])), 'blocked');
    },
  ],
  [
    { state: 'iommu_off' },
    async (host) => {
      assert.deepEqual([...(await host.pci.iommuGroups())], []);
      assert.doesNotMatch((await host.system.facts()).kernel_command_line, /iommu/);
    },
  ],
  [
    { state: 'link_width_reduced', slot: 0, value: 4 },
    async (host, subject) => {
      const widths = (await host.pci.list())
        .filter(({ device_id }) => device_id === '2335')
        .map(({ link }) => link?.width);
      assert.deepEqual(widths, [4, ...subject.slots.slice(1).map(() => 16)]);
    },
  ],
  [
    { state: 'd3cold', slot: 0 },
    async (host, subject) => {
      const { gpu } = slotOf(subject, 0);
      assert.equal((await host.pci.reset(gpu, [gpu])).is_ok, false);
      await prepare(subject, [slotOf(subject, 0)]);
      await refuses(host.hypervisor.start(machineOf([slotOf(subject, 0)])), 'host_error');
    },
  ],
  [
    { state: 'reset_fails', slot: 0 },
    async (host, subject) => {
      const { gpu } = slotOf(subject, 0);
      assert.equal((await host.pci.reset(gpu, [gpu])).is_ok, false);
    },
  ],
  [
    { state: 'hugepages_gone' },
    async (host, subject) => {
      await prepare(subject, [slotOf(subject, 0)]);
      const machine = machineOf([slotOf(subject, 0)], { hugepages: { size_kib: 1024 ** 2, count: 64 } });
      await refuses(host.hypervisor.start(machine), 'no_space');
    },
  ],
  ...(['uefi', 'kernel'] as const).map((boot_kind): (typeof STATES)[number] => [
    { state: boot_kind === 'uefi' ? 'uefi_firmware_missing' : 'boot_kernel_missing' },
    async (host, subject) => {
      assert.deepEqual(await host.hypervisor.bootKinds(), [boot_kind === 'uefi' ? 'kernel' : 'uefi']);
      await prepare(subject, [slotOf(subject, 0)]);
      const machine = machineOf([slotOf(subject, 0)]);
      await refuses(host.hypervisor.start({ ...machine, boot_kind }), 'unsupported');
    },
  ]),
  [
    { state: 'mig_enabled', slot: 0 },
    async (host) => assert.deepEqual((await host.gpu.list()).filter((one) => one.mig_mode === 'enabled').length, 1),
  ],
  [
    { state: 'vgpu_children', slot: 0 },
    async (host) => assert.equal((await host.pci.list()).filter((fn) => fn.mediated_devices > 0).length, 1),
  ],
  [
    { state: 'gpu_temperature', slot: 0, value: 95 },
    async (host) => assert.equal((await host.gpu.list()).filter((one) => one.temperature_c === 95).length, 1),
  ],
  [
    { state: 'gpu_ecc', slot: 0, value: 2 },
    async (host) => assert.equal((await host.gpu.list()).filter((one) => one.ecc_uncorrected === 2).length, 1),
  ],
];

for (const [fault, check] of STATES) {
  test(`the state ${'state' in fault ? fault.state : ''} is visible while set and gone when cleared`, async () => {
    const { host, subject } = await setUp();
    const look = async () => (await host.pci.list()).map(({ driver: _, ...fn }) => fn);
    const before = await look();
    const rule = addFault(host.dir, fault);
    await check(host, subject);
    clearFaults(host.dir, [rule.id]);
    assert.deepEqual(await look(), before);
  });
}

test('a lost binding and a crashed VM happen once, and repeating the operation fixes them', async () => {
  const { host, subject } = await setUp();
  const machine = await start(subject);
  addFault(host.dir, { state: 'guest_crashed', slot: 0 });
  assert.equal((await host.hypervisor.list())[0]?.state, 'crashed');
  await host.hypervisor.stop(machine.name, 0);
  addFault(host.dir, { state: 'driver_binding_lost', slot: 0 });
  const { gpu } = slotOf(subject, 0);
  const driver = async () => (await host.pci.list()).find((fn) => fn.address === gpu)?.driver;
  assert.equal(await driver(), 'nvidia');
  await host.pci.bind(gpu, 'vfio-pci');
  assert.equal(await driver(), 'vfio-pci');
});

test('a rule that can never apply is refused when it is added', () => {
  const dir = join(root, 'refused');
  assert.throws(() => addFault(dir, { when: 'no.such' as 'pci.list', do: 'fail' }), /no\.such/);
  assert.throws(() => addFault(dir, { when: 'pci.list', do: 'explode' as 'fail' }), /explode/);
  assert.throws(() => addFault(dir, { when: 'pci.list', do: 'lie' }), /cannot lie/);
  assert.throws(() => addFault(dir, { state: 'no_such' as 'no_lease' }), /no_such/);
  assert.deepEqual([...readFaults(dir)], []);
});

test('an unreadable rule stops the host and names the file', async () => {
  const { host } = await setUp();
  const rule = addFault(host.dir, { state: 'no_lease' });
  await writeFile(join(host.dir, 'faults', `${rule.id}.json`), '{');
  await assert.rejects(host.pci.list(), new RegExp(rule.id));
});
