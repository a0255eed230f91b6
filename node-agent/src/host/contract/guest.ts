/** VMs: managed ones start once and stop, domains of other software are never touched. */
import assert from 'node:assert/strict';
import type { Host, VmPlan } from '../host.ts';
import { contractTest, eventually, machineOn, OTHER_ALLOCATION, portOf, prepare, refuses, slotAt } from './subject.ts';

const FOREIGN = 'other-software';

const stateOf = async (host: Host, name: string) =>
  (await host.hypervisor.list()).find((domain) => domain.name === name) ?? null;

export const guestTests = [
  contractTest('hypervisor', 'a VM started twice runs once, with its ownership tag', { slots: 2 }, async (subject) => {
    const { host } = subject;
    const machine = await prepare(subject, [slotAt(subject, 0), slotAt(subject, 1)]);
    await host.hypervisor.start(machine);
    await host.hypervisor.start(machine);
    assert.deepEqual(
      (await host.hypervisor.list()).filter(({ name }) => name === machine.name),
      [{ name: machine.name, allocation_id: machine.allocation_id, state: 'running' }],
    );
    const guest = await eventually(() => host.hypervisor.guest(machine.name));
    assert.equal(guest.gpu_count, 2);
    assert.match(guest.ssh_host_key, /^ssh-/);
  }),
  contractTest(
    'hypervisor',
    'a VM has the fabric function of its slot only where its start names it, and a stopped one follows the next start',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      const slot = slotAt(subject, 0);
      const devicesOf = async (name: string) =>
        (await host.hypervisor.inspect()).domains.find((one) => one.name === name)?.devices ?? [];
      const machine = await prepare(subject, [slot], { passes_fabric: true });
      for (const passes_fabric of [true, false, true]) {
        await host.hypervisor.start({ ...machine, passes_fabric });
        const devices = await devicesOf(machine.name);
        assert.deepEqual([devices.includes(slot.gpu), devices.includes(slot.vf)], [true, passes_fabric]);
        await refuses(host.hypervisor.start({ ...machine, passes_fabric: !passes_fabric }), 'conflict');
        await host.hypervisor.stop(machine.name, 0);
      }
    },
  ),
  contractTest('hypervisor', 'user data that a seed cannot hold is refused', { slots: 0 }, async ({ host }) => {
    for (const text of [null, '#!/bin/sh\n', '#cloud-config\npackages: [htop]\n']) await host.hypervisor.judge(text);
    for (const text of [
      'echo',
      '#cloud-config\n- a\n',
      '#cloud-config\nssh_pwauth: true\n',
      '#cloud-config\nusers: x\n',
    ])
      await refuses(host.hypervisor.judge(text), 'blocked');
  }),
  contractTest(
    'hypervisor',
    'a VM starts only by a boot kind of the host',
    { slots: 1, arrange: ['removeBootKernel'] },
    async (subject) => {
      const { host } = subject;
      assert.ok((await host.hypervisor.bootKinds()).includes('kernel'));
      const machine: VmPlan = { ...(await prepare(subject, [slotAt(subject, 0)])), boot_kind: 'kernel' };
      await subject.arrange.removeBootKernel();
      assert.ok(!(await host.hypervisor.bootKinds()).includes('kernel'));
      await refuses(host.hypervisor.start(machine), 'unsupported');
      assert.deepEqual(await host.hypervisor.inspect(), { domains: [], leftovers: [] });
    },
  ),
  contractTest('hypervisor', 'a name of another VM is a conflict', { slots: 2 }, async (subject) => {
    const { host } = subject;
    const machine = await prepare(subject, [slotAt(subject, 0)]);
    await host.hypervisor.start(machine);
    await refuses(host.hypervisor.start({ ...machine, allocation_id: OTHER_ALLOCATION }), 'conflict');
    await refuses(host.hypervisor.start(machineOn(subject, [slotAt(subject, 1)])), 'conflict');
    assert.equal((await stateOf(host, machine.name))?.state, 'running');
  }),
  contractTest(
    'hypervisor',
    'devices of a running VM are refused to a second VM, to a wipe and to a reset',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      const slot = slotAt(subject, 0);
      await host.hypervisor.start(await prepare(subject, [slot]));
      const address = { mac_address: '02:00:00:00:00:02', private_ip: '10.100.0.12' };
      const other = machineOn(subject, [slot], { allocation_id: OTHER_ALLOCATION, ...address });
      await host.network.attach(portOf(other));
      await refuses(host.hypervisor.start(other), 'conflict', 'blocked');
      await refuses(host.disks.open(slot.disk), 'blocked');
      await refuses(host.pci.reset(slot.gpu, [slot.gpu]), 'conflict', 'blocked');
      assert.equal(await stateOf(host, other.name), null);
    },
  ),
  contractTest(
    'hypervisor',
    'a device that is not bound to vfio-pci stops the start',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      const slot = slotAt(subject, 0);
      const machine = await prepare(subject, [slot]);
      await host.pci.bind(slot.gpu, null);
      await refuses(host.hypervisor.start(machine), 'drift');
      assert.deepEqual([...(await host.hypervisor.list())], []);
    },
  ),
  contractTest('hypervisor', 'a disk other than the planned one stops the start', { slots: 2 }, async (subject) => {
    const [slot, other] = [slotAt(subject, 0), slotAt(subject, 1)];
    await prepare(subject, [slot]);
    const wrong = machineOn(subject, [{ ...slot, disk: { serial: slot.disk.serial, device: other.disk.device } }]);
    await refuses(subject.host.hypervisor.start(wrong), 'drift');
  }),
  contractTest(
    'hypervisor',
    'a VM stops gracefully, and a second stop reports it absent',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      const machine = await prepare(subject, [slotAt(subject, 0)]);
      await host.hypervisor.start(machine);
      await eventually(() => host.hypervisor.guest(machine.name));
      assert.equal(await host.hypervisor.stop(machine.name, 30), 'graceful');
      assert.equal(await host.hypervisor.stop(machine.name, 30), 'absent');
      assert.equal(await host.hypervisor.guest(machine.name), null);
      await host.disks.open(slotAt(subject, 0).disk).then((disk) => disk.close());
    },
  ),
  contractTest(
    'hypervisor',
    'a VM that ignores the shutdown request is powered off',
    { slots: 1, arrange: ['ignoreShutdown'] },
    async (subject) => {
      const { host } = subject;
      const machine = await prepare(subject, [slotAt(subject, 0)]);
      await host.hypervisor.start(machine);
      await eventually(() => host.hypervisor.guest(machine.name));
      await subject.arrange.ignoreShutdown();
      await refuses(host.hypervisor.stop(machine.name, 60, AbortSignal.abort()), 'timeout');
      assert.equal((await stateOf(host, machine.name))?.state, 'running', 'a cancelled stop leaves the VM running');
      assert.equal(await host.hypervisor.stop(machine.name, 1), 'hard');
      assert.notEqual((await stateOf(host, machine.name))?.state, 'running');
    },
  ),
  contractTest('hypervisor', 'a stopped VM starts again', { slots: 1 }, async (subject) => {
    const { host } = subject;
    const machine = await prepare(subject, [slotAt(subject, 0)]);
    await host.hypervisor.start(machine);
    await host.hypervisor.stop(machine.name, 0);
    await host.hypervisor.start(machine);
    assert.equal((await stateOf(host, machine.name))?.state, 'running');
  }),
  contractTest('hypervisor', 'a reboot keeps the VM and its SSH host key', { slots: 1 }, async (subject) => {
    const { host } = subject;
    const machine = await prepare(subject, [slotAt(subject, 0)]);
    await refuses(host.hypervisor.reboot(machine.name, true));
    await host.hypervisor.start(machine);
    const before = await eventually(() => host.hypervisor.guest(machine.name));
    for (const isHard of [false, true]) {
      await host.hypervisor.reboot(machine.name, isHard);
      assert.deepEqual(await eventually(() => host.hypervisor.guest(machine.name)), before);
    }
  }),
  contractTest('hypervisor', 'a running VM is not removed; a stopped one is, once', { slots: 1 }, async (subject) => {
    const { host } = subject;
    const machine = await prepare(subject, [slotAt(subject, 0)]);
    await host.hypervisor.start(machine);
    await refuses(host.hypervisor.remove(machine.name), 'conflict');
    await host.hypervisor.stop(machine.name, 0);
    await host.hypervisor.remove(machine.name);
    await host.hypervisor.remove(machine.name);
    assert.equal(await stateOf(host, machine.name), null);
  }),
  contractTest('hypervisor', 'a VM that does not exist is absent', {}, async ({ host }) => {
    assert.equal(await host.hypervisor.stop('gpuaas-none', 1), 'absent');
    assert.equal(await host.hypervisor.guest('gpuaas-none'), null);
    await host.hypervisor.remove('gpuaas-none');
  }),
  contractTest(
    'hypervisor',
    'a domain of other software is listed and never touched',
    { slots: 1, arrange: ['foreignDomain'] },
    async (subject) => {
      const { host } = subject;
      await subject.arrange.foreignDomain(FOREIGN);
      const foreign = { name: FOREIGN, allocation_id: null, state: 'running' };
      assert.deepEqual(await stateOf(host, FOREIGN), foreign);
      await refuses(host.hypervisor.stop(FOREIGN, 1), 'conflict');
      await refuses(host.hypervisor.reboot(FOREIGN, true), 'conflict');
      await refuses(host.hypervisor.remove(FOREIGN), 'conflict');
      const machine = await prepare(subject, [slotAt(subject, 0)]);
      await refuses(host.hypervisor.start({ ...machine, name: FOREIGN }), 'conflict');
      assert.deepEqual(await stateOf(host, FOREIGN), foreign);
    },
  ),
];
