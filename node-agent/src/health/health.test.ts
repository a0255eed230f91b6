import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { DiskFacts, HealthAlert } from '@gpuaas/contract/node';
import { ALLOCATION, of, provision, startTestHost, type TestHost } from '../../test/slice.ts';
import type { NewFault } from '../host/sim/fault.ts';
import { clearFaults } from '../host/sim/fault.ts';
import { probeHealth } from './probe.ts';

const PCI_ADDRESS = /[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}/i;

const probe = (host: TestHost, now = new Date()) => probeHealth({ host: host.sim, state: host.state, now: () => now });
const brief = (alert: HealthAlert) => [alert.id, alert.target, alert.classifications];

describe('the health of a host', () => {
  test('a healthy host has no alert and passes every check', async (t) => {
    const report = await probe(startTestHost(t));
    assert.deepEqual(report.alerts, []);
    assert.deepEqual(report.successes, [
      'facts_readable',
      'kernel_log',
      'gpu_count',
      'gpu_link_width',
      'gpu_ecc',
      'gpu_temperature',
      'fabric_manager',
      'disks',
      'disks_unused',
      'boot_id',
    ]);
    assert.equal(report.source, 'node-agent');
  });

  const FAULTS: ReadonlyArray<
    Readonly<{ fault: NewFault; id: string; target: 'gpu' | 'disk' | 'node'; prevents: boolean }>
  > = [
    { fault: { state: 'gpu_off_the_bus', slot: 0 }, id: 'gpu_off_the_bus', target: 'gpu', prevents: true },
    { fault: { state: 'gpu_xid', slot: 0, value: 48 }, id: 'gpu_xid_48', target: 'gpu', prevents: true },
    { fault: { state: 'gpu_xid', slot: 0, value: 63 }, id: 'gpu_xid_63', target: 'gpu', prevents: false },
    { fault: { state: 'gpu_xid', slot: 0, value: 31 }, id: 'gpu_xid_31', target: 'gpu', prevents: false },
    { fault: { state: 'gpu_ecc', slot: 0, value: 2 }, id: 'gpu_ecc', target: 'gpu', prevents: true },
    { fault: { state: 'gpu_temperature', slot: 0, value: 86 }, id: 'gpu_temperature', target: 'gpu', prevents: false },
    { fault: { state: 'gpu_temperature', slot: 0, value: 93 }, id: 'gpu_temperature', target: 'gpu', prevents: true },
    { fault: { state: 'link_width_reduced', slot: 0 }, id: 'gpu_link_width', target: 'gpu', prevents: true },
    { fault: { state: 'device_missing', slot: 0 }, id: 'gpu_missing', target: 'gpu', prevents: true },
    { fault: { state: 'disk_missing', slot: 0 }, id: 'disk_missing', target: 'disk', prevents: true },
    { fault: { state: 'disk_mounted', slot: 0 }, id: 'disk_in_use', target: 'disk', prevents: true },
    { fault: { state: 'disk_held', slot: 0 }, id: 'disk_in_use', target: 'disk', prevents: true },
    { fault: { state: 'fabric_manager_dead' }, id: 'fabric_manager_down', target: 'node', prevents: true },
  ];
  for (const { fault, id, target, prevents } of FAULTS)
    test(`${JSON.stringify(fault)} is reported as ${id}${prevents ? ' and prevents allocations' : ''}`, async (t) => {
      const host = startTestHost(t);
      await probe(host);
      host.fault(fault);
      const { alerts } = await probe(host);
      const alert = alerts.find((each) => each.id === id);
      const slot = host.sim.slots[0];
      const targets = { gpu: slot?.gpu, disk: slot?.serial, node: 'node' };
      assert.equal(alert?.target, targets[target]);
      assert.equal(alert?.classifications.includes('prevent_allocations'), prevents);
      for (const each of alerts) {
        assert.doesNotMatch(each.tenant_message ?? '', PCI_ADDRESS);
        assert.ok(!(each.tenant_message ?? '').includes('j22u15'));
        assert.ok(!(each.tenant_message ?? '').includes(slot?.serial ?? '-'));
      }
      clearFaults(host.sim.dir);
      assert.deepEqual((await probe(host)).alerts, [], 'it ends with its cause');
    });

  test('an alert keeps its start time while it is active, also across agent restarts', async (t) => {
    const host = startTestHost(t);
    await probe(host);
    host.fault({ state: 'fabric_manager_dead' });
    const first = await probe(host, new Date('2026-06-01T00:00:00Z'));
    const second = await probe(host, new Date('2026-06-01T01:00:00Z'));
    assert.equal(second.alerts[0]?.since, '2026-06-01T00:00:00.000Z');
    assert.deepEqual(first.alerts, second.alerts);
  });

  test('a reboot of the host is reported for a while and then forgotten', async (t) => {
    const host = startTestHost(t);
    await probe(host);
    host.sim.reboot();
    const now = Date.now();
    assert.deepEqual((await probe(host, new Date(now))).alerts.map(brief), [['boot_id_changed', 'node', []]]);
    assert.deepEqual((await probe(host, new Date(now + 5 * 60_000))).alerts.length, 1);
    assert.deepEqual((await probe(host, new Date(now + 16 * 60_000))).alerts, []);
  });

  test('an unreadable part raises an alert and is never taken for healthy', async (t) => {
    const host = startTestHost(t);
    await probe(host);
    host.fault({ when: 'pci.list', do: 'fail', message: 'sysfs is gone' });
    host.fault({ when: 'system.kernelLog', do: 'fail', message: 'no log' });
    const { alerts, successes } = await probe(host);
    assert.deepEqual(alerts.map(brief), [
      ['unreadable_pci', 'node', ['prevent_allocations']],
      ['unreadable_kernel_log', 'node', []],
    ]);
    assert.ok(!successes.includes('facts_readable'));
    assert.ok(!successes.includes('kernel_log'));
  });

  test('a discovery makes its findings the expected state', async (t) => {
    const host = startTestHost(t);
    await probe(host);
    host.fault({ state: 'device_missing', slot: 0 });
    assert.equal((await probe(host)).alerts.length, 2);
    await host.run('slice.topology_discover', { accelerators: [], private_network: '10.100.0.0/24' });
    assert.deepEqual((await probe(host)).alerts, []);
  });

  test('a disk of a slot that the host mounts is named with its use, also after another discovery, until it is free', async (t) => {
    const host = startTestHost(t);
    const discovery = { accelerators: [], private_network: '10.100.0.0/24' };
    await host.run('slice.topology_discover', discovery);
    host.fault({ state: 'disk_mounted', slot: 3 });
    for (const look of [() => probe(host), () => host.run('slice.topology_discover', discovery), () => probe(host)])
      await look();
    const { alerts, successes } = await probe(host);
    assert.deepEqual(alerts.map(brief), [['disk_in_use', host.sim.slots[3]?.serial, ['prevent_allocations']]]);
    assert.match(alerts[0]?.message ?? '', /it is mounted at \/mnt\/nvme\S+/);
    assert.equal(alerts[0]?.tenant_message, null);
    assert.ok(!successes.includes('disks_unused'));
    clearFaults(host.sim.dir);
    assert.deepEqual((await probe(host)).alerts, []);
  });

  const USES: ReadonlyArray<Readonly<{ use: Partial<DiskFacts>; named: RegExp }>> = [
    { use: { mounts: ['/data'] }, named: /mounted at \/data/ },
    { use: { holders: ['md127'] }, named: /in use by md127/ },
    { use: { is_swap: true }, named: /used as swap/ },
    { use: { partitions: ['nvme0n1p1'] }, named: /carries partition nvme0n1p1/ },
    { use: { filesystems: ['linux_raid_member'] }, named: /carries linux_raid_member/ },
  ];
  for (const { use, named } of USES)
    test(`a disk with ${JSON.stringify(use)} is in use`, async (t) => {
      const host = startTestHost(t);
      await probe(host);
      const [disk] = await host.slots([0]);
      const list = async () =>
        (await host.sim.disks.list()).map((each) => (each.serial === disk?.nvme_serial ? { ...each, ...use } : each));
      const used = { ...host.sim, disks: { ...host.sim.disks, list } };
      const { alerts } = await probeHealth({ host: used, state: host.state, now: () => new Date() });
      assert.deepEqual(alerts.map(brief), [['disk_in_use', disk?.nvme_serial, ['prevent_allocations']]]);
      assert.match(alerts[0]?.message ?? '', named);
    });

  test('a disk that was in use when it was discovered is a blocker of its candidate and no alert', async (t) => {
    const host = startTestHost(t);
    host.fault({ state: 'disk_mounted', slot: 0 });
    await host.run('slice.topology_discover', { accelerators: [], private_network: '10.100.0.0/24' });
    assert.deepEqual((await probe(host)).alerts, []);
  });

  test('a disk that an allocation has is used by its tenant until it was wiped, and by the host after that', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await probe(host);
    await provision(host, slots);
    host.fault({ state: 'disk_mounted', slot: 0 });
    assert.deepEqual((await probe(host)).alerts, []);
    clearFaults(host.sim.dir);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    await host.run('slice.cleanup', of(slots));
    assert.deepEqual((await probe(host)).alerts, []);
    host.fault({ state: 'disk_mounted', slot: 0 });
    assert.deepEqual((await probe(host)).alerts.map(brief), [
      ['disk_in_use', slots[0]?.nvme_serial, ['prevent_allocations']],
    ]);
  });

  test('the disks of a whole node are used by its tenant, also where they stay mounted after the release', async (t) => {
    const host = startTestHost(t);
    const user = { allocation_id: ALLOCATION, username: 'tenant-a' };
    await probe(host);
    await host.run('allocation.provision_user', { ...user, ssh_public_keys: [], disks: [], slot_generations: [] });
    for (const slot of [0, 1, 2]) host.fault({ state: 'disk_mounted', slot });
    assert.deepEqual((await probe(host)).alerts, []);
    await host.run('allocation.deprovision_user', user);
    assert.deepEqual((await probe(host)).alerts, []);
    host.fault({ state: 'disk_mounted', slot: 5 });
    assert.deepEqual(
      (await probe(host)).alerts.map(({ target }) => target),
      [host.sim.slots[5]?.serial],
    );
  });

  test('a host that cannot read its bundle leases takes no allocation, and blames no disk', async (t) => {
    const host = startTestHost(t);
    await probe(host);
    host.fault({ state: 'disk_mounted', slot: 0 });
    writeFileSync(join(host.state, 'leases.json'), '{');
    assert.deepEqual((await probe(host)).alerts.map(brief), [
      ['unreadable_allocations', 'node', ['prevent_allocations']],
    ]);
  });

  test('the probe task returns the same report', async (t) => {
    const host = startTestHost(t);
    host.fault({ state: 'gpu_ecc', slot: 1, value: 1 });
    const { report } = await host.run('diag.health_probe', {});
    assert.deepEqual(
      report.alerts.map((alert) => alert.id),
      ['gpu_ecc'],
    );
  });
});
