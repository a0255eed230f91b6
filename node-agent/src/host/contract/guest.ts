/** Guests: ours are started once and stopped for good, those of others are left alone. */
import assert from 'node:assert/strict';
import type { Host } from '../host.ts';
import { contractTest, eventually, machineOf, OTHER_ALLOCATION, prepare, refuses, slotAt } from './subject.ts';

const stateOf = async (host: Host, name: string) =>
  (await host.hypervisor.list()).find((domain) => domain.name === name) ?? null;

export const guestTests = [
  contractTest(
    'hypervisor',
    'a machine started twice runs once, with its ownership tag',
    { slots: 2 },
    async (subject) => {
      const { host } = subject;
      const machine = machineOf([slotAt(subject, 0), slotAt(subject, 1)]);
      await prepare(subject, [slotAt(subject, 0), slotAt(subject, 1)]);
      await host.hypervisor.start(machine);
      await host.hypervisor.start(machine);
      assert.deepEqual(
        (await host.hypervisor.list()).filter(({ name }) => name === machine.name),
        [{ name: machine.name, allocation_id: machine.allocation_id, state: 'running' }],
      );
      const guest = await eventually(() => host.hypervisor.guest(machine.name));
      assert.equal(guest.gpu_count, 2);
      assert.match(guest.ssh_host_key, /^ssh-/);
    },
  ),
  contractTest('hypervisor', 'user data that no seed could hold is refused', { slots: 0 }, async ({ host }) => {
    for (const text of [null, '#!/bin/sh\n', '#cloud-config\npackages: [htop]\n']) await host.hypervisor.judge(text);
    for (const text of [
      'echo',
      '#cloud-config\n- a\n',
      '#cloud-config\nssh_pwauth: true\n',
      '#cloud-config\nusers: x\n',
    ])
      await refuses(host.hypervisor.judge(text), 'blocked');
  }),
  contractTest('hypervisor', 'a name that is taken by another machine is a conflict', { slots: 2 }, async (subject) => {
    const { host } = subject;
    await prepare(subject, [slotAt(subject, 0)]);
    const machine = machineOf([slotAt(subject, 0)]);
    await host.hypervisor.start(machine);
    await refuses(host.hypervisor.start({ ...machine, allocation_id: OTHER_ALLOCATION }), 'conflict');
    await refuses(host.hypervisor.start(machineOf([slotAt(subject, 1)])), 'conflict');
    assert.equal((await stateOf(host, machine.name))?.state, 'running');
  }),
  contractTest('hypervisor', 'devices of a running guest are not given to a second', { slots: 1 }, async (subject) => {
    const { host } = subject;
    const slot = slotAt(subject, 0);
    await prepare(subject, [slot]);
    const machine = machineOf([slot]);
    await host.hypervisor.start(machine);
    const other = machineOf([slot], { allocation_id: OTHER_ALLOCATION, mac_address: '02:00:00:00:00:02' });
    await refuses(host.hypervisor.start(other), 'conflict', 'blocked');
    await refuses(host.disks.open(slot.disk), 'blocked');
    await refuses(host.pci.reset(slot.gpu, [slot.gpu]), 'conflict', 'blocked');
    assert.equal(await stateOf(host, other.name), null);
  }),
  contractTest('hypervisor', 'a device that is not given to guests stops the start', { slots: 1 }, async (subject) => {
    const { host } = subject;
    const slot = slotAt(subject, 0);
    await prepare(subject, [slot]);
    await host.pci.bind(slot.gpu, null);
    await refuses(host.hypervisor.start(machineOf([slot])), 'drift');
    assert.deepEqual([...(await host.hypervisor.list())], []);
  }),
  contractTest('hypervisor', 'a drive that is not the planned one stops the start', { slots: 2 }, async (subject) => {
    const [slot, other] = [slotAt(subject, 0), slotAt(subject, 1)];
    await prepare(subject, [slot]);
    const wrong = machineOf([{ ...slot, disk: { serial: slot.disk.serial, device: other.disk.device } }]);
    await refuses(subject.host.hypervisor.start(wrong), 'drift');
  }),
  contractTest(
    'hypervisor',
    'a guest stops gracefully, and a second stop finds nothing to stop',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      await prepare(subject, [slotAt(subject, 0)]);
      const machine = machineOf([slotAt(subject, 0)]);
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
    'a guest that ignores the request is stopped hard',
    { slots: 1, arrange: ['ignoreShutdown'] },
    async (subject) => {
      const { host } = subject;
      await prepare(subject, [slotAt(subject, 0)]);
      const machine = machineOf([slotAt(subject, 0)]);
      await host.hypervisor.start(machine);
      await eventually(() => host.hypervisor.guest(machine.name));
      await subject.arrange.ignoreShutdown();
      await refuses(host.hypervisor.stop(machine.name, 60, AbortSignal.abort()), 'timeout');
      assert.equal(
        (await stateOf(host, machine.name))?.state,
        'running',
        'a stop that was given up switches nothing off',
      );
      assert.equal(await host.hypervisor.stop(machine.name, 1), 'hard');
      assert.notEqual((await stateOf(host, machine.name))?.state, 'running');
    },
  ),
  contractTest('hypervisor', 'a machine that was stopped starts again', { slots: 1 }, async (subject) => {
    const { host } = subject;
    await prepare(subject, [slotAt(subject, 0)]);
    const machine = machineOf([slotAt(subject, 0)]);
    await host.hypervisor.start(machine);
    await host.hypervisor.stop(machine.name, 0);
    await host.hypervisor.start(machine);
    assert.equal((await stateOf(host, machine.name))?.state, 'running');
  }),
  contractTest('hypervisor', 'a reboot keeps the guest and its host key', { slots: 1 }, async (subject) => {
    const { host } = subject;
    await prepare(subject, [slotAt(subject, 0)]);
    const machine = machineOf([slotAt(subject, 0)]);
    await refuses(host.hypervisor.reboot(machine.name, true));
    await host.hypervisor.start(machine);
    const before = await eventually(() => host.hypervisor.guest(machine.name));
    for (const isHard of [false, true]) {
      await host.hypervisor.reboot(machine.name, isHard);
      assert.deepEqual(await eventually(() => host.hypervisor.guest(machine.name)), before);
    }
  }),
  contractTest(
    'hypervisor',
    'a running guest is not removed; a stopped one is, once',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      await prepare(subject, [slotAt(subject, 0)]);
      const machine = machineOf([slotAt(subject, 0)]);
      await host.hypervisor.start(machine);
      await refuses(host.hypervisor.remove(machine.name), 'conflict');
      await host.hypervisor.stop(machine.name, 0);
      await host.hypervisor.remove(machine.name);
      await host.hypervisor.remove(machine.name);
      assert.equal(await stateOf(host, machine.name), null);
    },
  ),
  contractTest('hypervisor', 'what does not exist is absent', {}, async ({ host }) => {
    assert.equal(await host.hypervisor.stop('gpuaas-none', 1), 'absent');
    assert.equal(await host.hypervisor.guest('gpuaas-none'), null);
    await host.hypervisor.remove('gpuaas-none');
  }),
  contractTest(
    'hypervisor',
    'a domain that is not ours is told and never touched',
    { slots: 1, arrange: ['foreignDomain'] },
    async (subject) => {
      const { host } = subject;
      await subject.arrange.foreignDomain('somebodys');
      const foreign = { name: 'somebodys', allocation_id: null, state: 'running' };
      assert.deepEqual(await stateOf(host, 'somebodys'), foreign);
      await refuses(host.hypervisor.stop('somebodys', 1), 'conflict');
      await refuses(host.hypervisor.reboot('somebodys', true), 'conflict');
      await refuses(host.hypervisor.remove('somebodys'), 'conflict');
      await prepare(subject, [slotAt(subject, 0)]);
      await refuses(host.hypervisor.start(machineOf([slotAt(subject, 0)], { name: 'somebodys' })), 'conflict');
      assert.deepEqual(await stateOf(host, 'somebodys'), foreign);
    },
  ),
];
