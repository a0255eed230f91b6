import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Inventory } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { ALLOCATION, OTHER, of, provision, startTestHost, type TestHost } from '../../test/slice.ts';
import { changeLeases, recordPower } from '../leases.ts';
import { domainName } from '../tasks/names.ts';
import { createReconciler } from './loop.ts';

const MINUTE = 60_000;
const NAME = domainName(ALLOCATION);

/** The reads of an agent, and a control plane that returns the allocations without a claim. */
const watch = (host: TestHost) => {
  const sent: Inventory[] = [];
  const at = { ms: Date.now() };
  let unclaimed: readonly string[] = [];
  const start = () =>
    createReconciler({
      host: host.sim,
      state: host.state,
      now: () => new Date(at.ms),
      log: silentLog(),
      send: async (inventory) => {
        sent.push(inventory);
        return { is_accepted: true, unclaimed: [...unclaimed] };
      },
    });
  let reconciler = start();
  return {
    sent,
    restart: () => {
      reconciler = start();
    },
    holdsNothing: (...ids: readonly string[]) => {
      unclaimed = ids;
    },
    /** A minute later. */
    look: () => {
      at.ms += MINUTE;
      return reconciler.runOnce();
    },
  };
};

const codes = ({ drift }: Inventory): readonly string[] => drift.map(({ code }) => code).toSorted();

const withSlice = async (t: TestContext) => {
  const host = startTestHost(t);
  const slots = await host.slots([0, 1]);
  await provision(host, slots);
  return { host, slots, agent: watch(host) };
};

const leavePort = (host: TestHost, allocationId: string) =>
  host.sim.network.attach({
    name: 'gpx',
    mac_address: '02:00:00:00:00:99',
    private_ip: '10.100.0.99',
    allocation_id: allocationId,
  });

describe('reconciling the host', () => {
  test('reports a correctly running VM at once, then every other minute', async (t) => {
    const { host, slots, agent } = await withSlice(t);
    const first = await agent.look();
    assert.deepEqual(first.drift, []);
    assert.deepEqual(
      first.vms.map(({ name, is_managed, state, ended_by }) => [name, is_managed, state, ended_by]),
      [[NAME, true, 'running', null]],
    );
    const devices = slots.flatMap((slot) => [slot.gpu_pci_address, slot.nvme_serial]);
    assert.deepEqual(first.vms[0]?.devices.toSorted(), devices.toSorted());
    assert.deepEqual(
      first.leases.map((lease) => [lease.allocation_id, lease.slot_ids.length, lease.wanted, lease.is_used]),
      [[ALLOCATION, 2, 'on', true]],
    );
    assert.ok('value' in first.images && first.images.value[0]?.last_used_at !== undefined);
    await agent.look();
    assert.equal(agent.sent.length, 1, 'nothing new to say');
    await agent.look();
    assert.equal(agent.sent.length, 2, 'said all the same');
    host.sim.defineForeignDomain('somebodys');
    await agent.look();
    assert.equal(agent.sent.length, 3, 'something new');
  });

  test('finds its VMs after a restart of the agent and considers none lost', async (t) => {
    const { host, agent } = await withSlice(t);
    await agent.look();
    const before = host.sim.state().domains;
    agent.restart();
    assert.deepEqual((await agent.look()).drift, []);
    assert.deepEqual(host.sim.state().domains, before);
  });

  test('names a VM without the tag of the agent and its devices, and leaves it alone', async (t) => {
    const host = startTestHost(t);
    const agent = watch(host);
    const [slot] = await host.slots([3]);
    const disk = (await host.sim.disks.list()).find((one) => one.serial === slot?.nvme_serial);
    assert.ok(slot && disk?.device);
    host.sim.defineForeignDomain('somebodys', [slot.gpu_pci_address, `/dev/${disk.name}p2`]);
    agent.holdsNothing(ALLOCATION);
    const seen = await agent.look();
    assert.deepEqual(codes(seen), ['unknown_vm']);
    assert.deepEqual(seen.vms[0]?.devices, [slot.gpu_pci_address, slot.nvme_serial]);
    await agent.look();
    assert.deepEqual(
      host.sim.state().domains.map(({ name, state }) => [name, state]),
      [['somebodys', 'running']],
    );
  });

  test('distinguishes a VM shut down by its guest OS, powered off on the host, and ended by a reboot', async (t) => {
    const { host, agent } = await withSlice(t);
    const boot = (await agent.look()).boot_id;
    const endedBy = async () => (await agent.look()).vms.map(({ state, ended_by }) => [state, ended_by]);
    host.sim.endDomain(NAME, 'guest');
    assert.deepEqual(await endedBy(), [['shut_off', 'guest']]);
    host.sim.endDomain(NAME, 'host');
    assert.deepEqual(await endedBy(), [['shut_off', 'host']]);
    host.sim.reboot();
    const booted = await agent.look();
    assert.deepEqual(
      booted.vms.map(({ state, ended_by }) => [state, ended_by]),
      [['shut_off', null]],
    );
    assert.notEqual(booted.boot_id, boot);
    assert.deepEqual(codes(booted), ['vm_off']);
    host.sim.endDomain(NAME, 'undefined');
    assert.deepEqual(codes(await agent.look()), ['vm_missing']);
    assert.deepEqual(host.sim.state().domains, [], 'it starts nothing without an order');
  });

  test('reports no drift for a stopped VM, and drift if it runs although it was stopped', async (t) => {
    const { host, slots, agent } = await withSlice(t);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    assert.deepEqual(codes(await agent.look()), []);
    await recordPower(host.state, ALLOCATION, 'on');
    assert.deepEqual(codes(await agent.look()), ['vm_off']);
  });

  test('declares a fabric partition of a running VM again after Fabric Manager lost it', async (t) => {
    const { host, agent } = await withSlice(t);
    const before = [...host.sim.state().active_partitions];
    assert.equal(before.length, 1);
    host.fault({ state: 'fabric_manager_restarted' });
    const seen = await agent.look();
    assert.deepEqual(host.sim.state().active_partitions, before);
    assert.deepEqual(seen.drift, []);
    assert.match(seen.repaired.join(), /declared fabric partition \d+ for alc_\w+ active again/);
    assert.deepEqual((await agent.look()).repaired, []);
  });

  test('declares all partitions in use in one call, because Fabric Manager replaces its whole list', async (t) => {
    const { host } = await withSlice(t);
    await provision(host, await host.slots([4, 5]), OTHER);
    const before = host.sim.state().active_partitions.toSorted((a, b) => a - b);
    assert.equal(before.length, 2);
    const told: (readonly number[])[] = [];
    const declare = (ids: readonly number[]) => {
      told.push(ids.toSorted((a, b) => a - b));
      return host.sim.fabric.declare(ids);
    };
    const fabric = { ...host.sim.fabric, declare };
    const agent = watch({ ...host, sim: { ...host.sim, fabric } });
    host.fault({ state: 'fabric_manager_restarted' });
    assert.deepEqual((await agent.look()).drift, []);
    assert.deepEqual(told, [before]);
    await host.sim.fabric.deactivate(before[0] ?? -1);
    await agent.look();
    assert.deepEqual(told, [before, before], 'also the one that it still knows');
  });

  test('cleans up an allocation only after the control plane reports that it holds nothing', async (t) => {
    const { host, slots, agent } = await withSlice(t);
    await leavePort(host, OTHER);
    const held = await agent.look();
    assert.deepEqual([codes(held), held.leftovers], [['port_without_lease'], [OTHER]]);
    assert.equal((await host.sim.network.ports()).length, 2, 'an allocation may hold it');
    // Both are named by the control plane; the one with a lease stays nevertheless.
    agent.holdsNothing(OTHER, ALLOCATION);
    await agent.look();
    const cleared = await agent.look();
    assert.deepEqual(
      (await host.sim.network.ports()).map(({ allocation_id }) => allocation_id),
      [ALLOCATION],
    );
    assert.deepEqual(cleared.drift, []);
    assert.match(cleared.repaired.join(), /removed port gpx/);
    assert.equal(slots.length, 2);
  });

  test('removes the seed of a missing VM if no lease holds it', async (t) => {
    const { host, agent } = await withSlice(t);
    host.sim.endDomain(NAME, 'undefined');
    await changeLeases(host.state, (book) => ({ ...book, leases: [] }));
    agent.holdsNothing(ALLOCATION);
    assert.ok(codes(await agent.look()).includes('vm_files_left'));
    const after = await agent.look();
    assert.match(after.repaired.join(), new RegExp(`removed leftovers of ${NAME}`));
    assert.deepEqual((await host.sim.hypervisor.inspect()).leftovers, []);
  });

  test('reports a VM whose guest reports are stale, and an address answered by another device', async (t) => {
    const { host, agent } = await withSlice(t);
    host.fault({ when: 'hypervisor.guest', do: 'fail' });
    assert.deepEqual(codes(await agent.look()), []);
    for (let minute = 0; minute < 10; minute++) await agent.look();
    assert.deepEqual(codes(await agent.look()), ['guest_report_stale']);
    host.fault({ state: 'mac_conflict' });
    const seen = await agent.look();
    assert.deepEqual(codes(seen), ['address_conflict', 'guest_report_stale']);
    assert.match(seen.drift.map(({ message }) => message).join(), /belongs to MAC 02:.* but is used by MAC /);
  });
});

describe('slice.orphan_remove', () => {
  test('removes a tagged VM without a lease, its port and its seed, but no byte of its disks', async (t) => {
    const { host } = await withSlice(t);
    await assert.rejects(host.run('slice.orphan_remove', { allocation_id: ALLOCATION }), { code: 'conflict' });
    assert.equal(host.sim.state().domains.length, 1);
    await changeLeases(host.state, (book) => ({ ...book, leases: [] }));
    const before = await host.hashes();
    const { removed } = await host.run('slice.orphan_remove', { allocation_id: ALLOCATION });
    assert.equal(removed.length, 2);
    assert.deepEqual([host.sim.state().domains, await host.sim.network.ports()], [[], []]);
    assert.equal(await host.hashes(), before);
    assert.deepEqual(await host.run('slice.orphan_remove', { allocation_id: ALLOCATION }), { removed: [] });
  });

  test('leaves a VM of that name alone if it lacks the tag', async (t) => {
    const host = startTestHost(t);
    host.sim.defineForeignDomain(NAME);
    await assert.rejects(host.run('slice.orphan_remove', { allocation_id: ALLOCATION }), { code: 'conflict' });
    assert.equal(host.sim.state().domains[0]?.state, 'running');
  });
});
