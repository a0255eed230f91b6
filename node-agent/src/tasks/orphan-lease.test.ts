import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ALLOCATION, leaseOf, OTHER, of, provision, startTestHost } from '../../test/slice.ts';
import { clearFaults } from '../host/sim/fault.ts';
import { readLeases } from '../leases.ts';
import { domainName } from './names.ts';

const END = { allocation_id: ALLOCATION, end_lease: true };

/** A host with a running slice that the control plane does not know. */
const withOrphan = async (t: TestContext) => {
  const host = startTestHost(t);
  const slots = await host.slots([0, 1], 4);
  await provision(host, slots);
  return { host, later: await host.slots([0, 1], 5) };
};

describe('a lease without a claim', () => {
  test('ends with its VM and its port, and keeps its slots until they are wiped', async (t) => {
    const { host, later } = await withOrphan(t);
    const before = await host.hashes();
    const { removed } = await host.run('slice.orphan_remove', END);
    assert.equal(removed.length, 4, 'lease, port, partition and machine');
    assert.deepEqual(host.sim.state().active_partitions, []);
    assert.deepEqual([host.sim.state().domains, await host.sim.network.ports()], [[], []]);
    assert.equal(await host.hashes(), before, 'no byte of its drives is touched');
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(later, OTHER)), { code: 'conflict' });
    await host.run('slice.orphan_remove', END);
    assert.equal((await readLeases(host.state)).leases.length, 1, 'asked twice is asked once');
  });

  test('is removed when the slots are repaired', async (t) => {
    const { host, later } = await withOrphan(t);
    const repair = { allocation_id: null, disks: [], slots: later };
    await assert.rejects(host.run('node.cleanup', repair), { code: 'conflict' });
    await host.run('slice.orphan_remove', END);
    const { disks } = await host.run('node.cleanup', repair);
    assert.deepEqual(
      disks.map((disk) => disk.is_verified),
      [true, true],
    );
    assert.deepEqual((await readLeases(host.state)).leases, []);
  });

  test('blocks a new claim of its slots until it is ended, and is removed by their cleanup', async (t) => {
    const { host, later } = await withOrphan(t);
    const before = await host.hashes();
    await assert.rejects(host.run('slice.cleanup', of(later, OTHER)), { code: 'conflict' });
    assert.equal(await host.hashes(), before);
    assert.equal(host.sim.state().domains[0]?.state, 'running');
    await host.run('slice.orphan_remove', END);
    const { network_detached, disks } = await host.run('slice.cleanup', of(later, OTHER));
    assert.deepEqual([network_detached, disks.map((disk) => disk.generation)], [true, [5, 5]]);
    assert.deepEqual((await readLeases(host.state)).leases, []);
    await provision(host, await host.slots([0, 1], 6), OTHER);
  });

  test('that could not leave a multi-GPU partition leaves it with the repair of one of its slots', async (t) => {
    const { host, later } = await withOrphan(t);
    host.fault({ when: 'fabric.deactivate', do: 'fail' });
    assert.equal((await host.run('slice.orphan_remove', END)).removed.length, 3, 'all but the partition');
    assert.deepEqual(host.sim.state().active_partitions, [4]);
    clearFaults(host.sim.dir);
    const repair = { allocation_id: null, disks: [], slots: later.slice(0, 1) };
    const { isolation } = await host.run('node.cleanup', repair);
    assert.deepEqual(isolation.partitions, [{ partition_id: 4, is_deactivated: true }]);
    assert.deepEqual(host.sim.state().active_partitions, []);
  });

  test('is removed together with the rest of its VM by the cleanup of the next claim', async (t) => {
    const { host, later } = await withOrphan(t);
    const lease = (await readLeases(host.state)).leases[0];
    assert.ok(lease);
    host.fault({ when: 'hypervisor.remove', do: 'fail' });
    host.fault({ when: 'network.detach', do: 'lie' });
    await assert.rejects(host.run('slice.orphan_remove', END));
    clearFaults(host.sim.dir);
    assert.deepEqual([host.sim.state().domains.length, (await host.sim.network.ports()).length], [1, 1]);
    const { removed, isolation } = await host.run('slice.cleanup', of(later, OTHER));
    assert.deepEqual([host.sim.state().domains, await host.sim.network.ports()], [[], []]);
    assert.ok(removed.includes(`VM ${domainName(ALLOCATION)} and its seed`), removed.join());
    assert.deepEqual(isolation.partitions, [{ partition_id: lease.plan.fabric_partition_id, is_deactivated: true }]);
  });

  test('stays while the cleanup of the next claim still finds a part of its VM', async (t) => {
    const { host, later } = await withOrphan(t);
    host.fault({ when: 'network.detach', do: 'lie' });
    await host.run('slice.orphan_remove', END);
    const { isolation, network_detached } = await host.run('slice.cleanup', of(later, OTHER));
    assert.deepEqual([isolation.network.is_port_removed, network_detached], [false, false]);
    assert.equal((await readLeases(host.state)).leases.length, 1);
  });
});
