import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALLOCATION, IMAGE, leaseOf, OTHER, of, provision, startOf, startTestHost } from '../../test/slice.ts';
import { readLeases } from '../leases.ts';

describe('the lifecycle of a slice', () => {
  test('a bundle is leased, cloned, started, ready, stopped, wiped with proof and removed', async (t) => {
    const host = startTestHost(t, { disk_bytes: 64 * 1024 * 1024 });
    const slots = await host.slots([1, 0]);
    const blank = await host.hashes();

    const { plan } = await host.run('slice.bundle_lease', leaseOf(slots));
    assert.equal(plan.boot_slot_id, slots[1]?.slot_id, 'the lowest index boots');
    assert.equal(plan.mac_address, '02:00:00:00:00:00');
    assert.deepEqual(plan.numa_nodes, [0]);
    assert.equal(plan.cpuset, '0-55,112-167');
    assert.deepEqual(plan.hugepages, { size_kib: 1024 * 1024, count: 128 });
    assert.equal(plan.fabric_partition_id, 4, 'the partition of the modules 2 and 4');
    assert.match(plan.ovs_port, /^gp[0-9a-f]{12}$/);
    assert.deepEqual(
      plan.slots.map((slot) => slot.slot_id),
      [slots[1]?.slot_id, slots[0]?.slot_id],
    );
    assert.deepEqual([host.sim.state().ports, host.sim.state().active_partitions], [[], []], 'nothing was touched');
    assert.equal(await host.hashes(), blank);

    const cloned = await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    assert.ok(cloned.bytes_written > 0);
    assert.match(cloned.digest ?? '', /^sha256:/);
    const data = await host.sim.readDisk(slots[0]?.nvme_serial ?? '', 0, 1024 * 1024);
    assert.ok(data.equals(Buffer.alloc(data.length)), 'the disk of the other slot stays blank');

    const { domain } = await host.run('slice.vm_start', startOf(slots));
    assert.equal(domain, `gpuaas-${ALLOCATION.replaceAll('_', '-')}`);
    assert.deepEqual(host.sim.state().active_partitions, [4]);

    const ready = await host.run('slice.vm_readiness', of(slots));
    assert.deepEqual([ready.lease_state, ready.actual_ip, ready.gpu_count], ['bound', '10.100.0.10', 2]);
    assert.match(ready.ssh_host_key ?? '', /^ssh-ed25519 /);

    await host.run('slice.vm_reboot', { ...of(slots), is_hard: false });
    assert.deepEqual(await host.run('slice.vm_stop', { ...of(slots), grace_s: 30 }), { how: 'graceful' });
    assert.deepEqual(await host.run('slice.vm_stop', { ...of(slots), grace_s: 30 }), { how: 'absent' });

    const cleaned = await host.run('slice.cleanup', of(slots));
    assert.equal(cleaned.network_detached, true);
    assert.deepEqual(cleaned.blocked, []);
    assert.deepEqual(
      cleaned.gpu_resets.map((reset) => [reset.gpu_pci_address, reset.is_ok]),
      slots.map((slot) => [slot.gpu_pci_address, true]),
    );
    assert.equal(cleaned.removed.length, 3, 'network, machine and partition');
    assert.deepEqual(cleaned.isolation, {
      network: {
        is_port_removed: true,
        is_reservation_removed: true,
        is_lease_removed: true,
        is_translation_removed: true,
      },
      is_vm_removed: true,
      is_seed_removed: true,
      partitions: [{ partition_id: 4, is_deactivated: true }],
      fabric_functions: slots.map((slot) => ({
        fabric_vf_pci_address: slot.fabric_vf_pci_address,
        method: 'flr',
        is_cleared: true,
        observed: 'it was reset and responded afterwards; its MAC and GUID were not read',
      })),
    });
    for (const [index, evidence] of cleaned.disks.entries()) {
      assert.deepEqual([evidence.slot_id, evidence.generation], [slots[index]?.slot_id, 1]);
      assert.deepEqual([evidence.is_verified, evidence.command_status, evidence.method], [true, 0, 'nvme_sanitize']);
      assert.deepEqual([evidence.bytes_not_erased, evidence.signatures_left], [0, []]);
      const first = evidence.samples[0];
      const last = evidence.samples.at(-1);
      const MIB = 1024 * 1024;
      assert.deepEqual([first?.offset, first?.length], [0, 16 * MIB]);
      assert.deepEqual([last?.offset, last?.length], [48 * MIB, 16 * MIB]);
      assert.equal(evidence.samples.length, 34);
      assert.ok(evidence.samples.every((sample) => sample.offset + sample.length <= 64 * MIB));
      assert.equal(
        evidence.bytes_read_back,
        evidence.samples.reduce((sum, sample) => sum + sample.length, 0),
      );
    }
    assert.equal(await host.hashes(), blank);
    const left = host.sim.state();
    assert.deepEqual([left.domains, left.ports, left.active_partitions], [[], [], []]);
    assert.deepEqual((await readLeases(host.state)).leases, []);
  });

  test('two slices run side by side, and cleaning up one does not affect the other', async (t) => {
    const host = startTestHost(t);
    const first = await host.slots([0]);
    const second = await host.slots([1]);
    const other = 'alc_01jtest0000000000000000002';
    await provision(host, first);
    await provision(host, second, other);
    await host.run('slice.vm_stop', { ...of(first), grace_s: 1 });
    await host.run('slice.cleanup', of(first));
    assert.deepEqual(
      host.sim.state().domains.map((domain) => [domain.allocation_id, domain.state]),
      [[other, 'running']],
    );
    assert.equal((await host.run('slice.vm_readiness', of(second, other))).gpu_count, 1);
    assert.equal(host.sim.state().ports.length, 1);
  });

  test('a slot is leased again after its cleanup, with a newer generation', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([3]);
    await provision(host, slots);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    await host.run('slice.cleanup', of(slots));
    const again = await host.slots([3], 2);
    await provision(host, again, 'alc_01jtest0000000000000000002');
    assert.equal((await host.run('slice.vm_readiness', of(again, 'alc_01jtest0000000000000000002'))).gpu_count, 1);
    await assert.rejects(host.run('slice.cleanup', of(slots)), { code: 'stale_generation' });
    await assert.rejects(host.run('slice.vm_stop', { ...of(slots), grace_s: 0 }), { code: 'stale_generation' });
  });

  test('a bundle may have more memory than the NUMA node of its GPU only where its NUMA policy allows it', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const large = { ...leaseOf(slots), memory_mib: 1000 * 1024, hugepages: '1G' as const };
    await assert.rejects(host.run('slice.bundle_lease', large), { code: 'no_space' });
    const { plan } = await host.run('slice.bundle_lease', { ...large, numa_policy: 'preferred' });
    assert.deepEqual([plan.numa_nodes, plan.numa_policy, plan.hugepages?.count], [[0], 'preferred', 1000]);
    // 792 of the 1792 pages are left, wherever.
    const others = await host.slots([4]);
    const next = { ...leaseOf(others, OTHER), numa_policy: 'none' as const };
    await assert.rejects(host.run('slice.bundle_lease', { ...next, memory_mib: 1793 * 1024 }), /the host has/);
    const anywhere = await host.run('slice.bundle_lease', { ...next, memory_mib: 700 * 1024 });
    assert.deepEqual([anywhere.plan.numa_nodes, anywhere.plan.numa_policy], [[], 'none']);
    assert.equal(anywhere.plan.cpuset, '0-55,112-167,56-111,168-223');
  });

  test('a VM with preferred memory runs, and takes what its node lacks from another', async (t) => {
    const host = startTestHost(t, { disk_bytes: 64 * 1024 * 1024 });
    const slots = await host.slots([0]);
    const lease = { ...leaseOf(slots), memory_mib: 1000 * 1024, numa_policy: 'preferred' as const };
    await host.run('slice.bundle_lease', lease);
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', startOf(slots));
    const { hugepages } = await host.sim.system.facts();
    assert.deepEqual(
      hugepages.map(({ free }) => free),
      [0, 792],
    );
  });

  test('the eight GPUs of a host form one VM across both NUMA nodes', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1, 2, 3, 4, 5, 6, 7]);
    const { plan } = await host.run('slice.bundle_lease', leaseOf(slots));
    assert.deepEqual([plan.numa_nodes, plan.fabric_partition_id, plan.hugepages?.count], [[0, 1], 0, 512]);
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', startOf(slots));
    assert.equal((await host.run('slice.vm_readiness', of(slots))).gpu_count, 8);
  });

  test('a host without NVSwitches needs no partition', async (t) => {
    const host = startTestHost(t, { profile: 'no-nvswitch' });
    const slots = await host.slots([0]);
    const { plan } = await host.run('slice.bundle_lease', { ...leaseOf(slots), vcpu_count: 4, memory_mib: 4096 });
    assert.equal(plan.fabric_partition_id, null);
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', startOf(slots));
    assert.equal((await host.run('slice.vm_readiness', of(slots))).gpu_count, 1);
  });
});
