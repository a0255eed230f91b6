import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ALLOCATION,
  IMAGE,
  leaseOf,
  OTHER,
  of,
  provision,
  startOf,
  startTestHost,
  type TestHost,
} from '../../test/slice.ts';
import { clearFaults } from '../host/sim/fault.ts';
import { readLeases } from '../leases.ts';

const stopped = async (host: TestHost, indexes: readonly number[]) => {
  const slots = await host.slots(indexes);
  await provision(host, slots);
  await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
  return slots;
};

/** A deadline that is reached as soon as the task has polled once. */
const shortly = () => {
  const controller = new AbortController();
  return { signal: controller.signal, progress: () => controller.abort() };
};

describe('a clone', () => {
  test('is refused while a disk of the bundle is mounted, and no byte changes', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    const before = await host.hashes();
    host.fault({ state: 'disk_mounted', slot: 1 });
    await assert.rejects(host.run('slice.image_clone', { ...of(slots), image: IMAGE }), { code: 'blocked' });
    assert.equal(await host.hashes(), before);
  });

  test('is refused if a data disk or the boot disk still has data, and no byte changes', async (t) => {
    for (const index of [0, 1]) {
      const host = startTestHost(t);
      const slots = await host.slots([0, 1]);
      await host.run('slice.bundle_lease', leaseOf(slots));
      await host.sim.writeDisk(slots[index]?.nvme_serial ?? '', 3 * 1024 * 1024, Buffer.from('left behind'));
      const before = await host.hashes();
      await assert.rejects(host.run('slice.image_clone', { ...of(slots), image: IMAGE }), /11 bytes of data found/);
      assert.equal(await host.hashes(), before);
    }
  });

  test('is refused when the image does not match, before the disk is opened', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    const before = await host.hashes();
    host.fault({ when: 'images.pull', do: 'lie' });
    await assert.rejects(host.run('slice.image_clone', { ...of(slots), image: IMAGE }), { code: 'bad_image' });
    assert.equal(await host.hashes(), before);
  });

  test('fetches a damaged copy again, and blames the cache only if the fresh one is damaged too', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const clone = () => host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.bundle_lease', leaseOf(slots));
    host.fault({ state: 'image_cache_damaged' });
    await assert.rejects(clone(), { code: 'bad_image_cache' });
    assert.deepEqual(host.sim.state().images, [], 'no damaged copy is kept');
    // A source that serves other bytes is told apart from the damage.
    host.fault({ when: 'images.pull', do: 'lie' });
    await assert.rejects(clone(), { code: 'bad_image' });
    clearFaults(host.sim.dir);
    host.fault({ when: 'images.clone', do: 'fail', code: 'bad_image_cache', times: 1 });
    assert.ok((await clone()).bytes_written > 0);
  });

  test('never overwrites the disk of a defined VM', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    const before = await host.hashes();
    await assert.rejects(host.run('slice.image_clone', { ...of(slots), image: IMAGE }), { code: 'conflict' });
    assert.equal(await host.hashes(), before);
  });
});

describe('a start', () => {
  const cloned = async (host: TestHost, indexes: readonly number[]) => {
    const slots = await host.slots(indexes);
    await host.run('slice.bundle_lease', leaseOf(slots));
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    return slots;
  };

  test('that fails removes port, partition and definition, and can be repeated', async (t) => {
    for (const when of ['hypervisor.start', 'network.attach', 'pci.bind', 'fabric.activate'] as const) {
      const host = startTestHost(t);
      const slots = await cloned(host, [0, 1]);
      // A refused partition is requested once more.
      host.fault({ when, do: 'fail', after: true, times: when === 'fabric.activate' ? 2 : 1 });
      await assert.rejects(host.run('slice.vm_start', startOf(slots)), /failed/);
      const left = host.sim.state();
      assert.deepEqual([left.domains, left.ports, left.active_partitions], [[], [], []], when);
      await host.run('slice.vm_start', startOf(slots));
      assert.equal((await host.run('slice.vm_readiness', of(slots))).gpu_count, 2);
    }
  });

  test('executed twice starts once', async (t) => {
    const host = startTestHost(t);
    const slots = await cloned(host, [0]);
    await host.run('slice.vm_start', startOf(slots));
    const { started_at } = host.sim.state().domains[0] ?? {};
    await host.run('slice.vm_start', startOf(slots));
    assert.deepEqual(
      host.sim.state().domains.map((domain) => domain.started_at),
      [started_at],
    );
  });

  test('refuses devices that changed since the lease or were replaced', async (t) => {
    const host = startTestHost(t);
    const slots = await cloned(host, [0]);
    host.fault({ state: 'device_missing', slot: 0 });
    await assert.rejects(host.run('slice.vm_start', startOf(slots)), { code: 'drift' });
    clearFaults(host.sim.dir);
    host.sim.defineForeignDomain(`gpuaas-${ALLOCATION.replaceAll('_', '-')}`);
    await assert.rejects(host.run('slice.vm_start', startOf(slots)), { code: 'conflict' });
    assert.equal(host.sim.state().domains[0]?.state, 'running', 'it is left alone');
  });

  test('rebinds devices that lost their binding', async (t) => {
    const host = startTestHost(t);
    const slots = await cloned(host, [0]);
    await host.sim.pci.bind(slots[0]?.gpu_pci_address ?? '', 'vfio-pci');
    host.fault({ state: 'driver_binding_lost', slot: 0 });
    await host.run('slice.vm_start', startOf(slots));
    assert.equal(host.sim.state().drivers[slots[0]?.gpu_pci_address ?? ''], 'vfio-pci');
  });

  test('that hangs ends at its timeout and holds its slots until the host operation ends', async (t) => {
    const host = startTestHost(t);
    const slots = await cloned(host, [0]);
    host.fault({ when: 'hypervisor.start', do: 'hang' });
    const controller = new AbortController();
    const progress = (told: { note?: string | null }) => {
      if (told.note === 'starting the VM') controller.abort();
    };
    await assert.rejects(host.run('slice.vm_start', startOf(slots), { signal: controller.signal, progress }), {
      code: 'timeout',
      message: /the start of gpuaas-.* did not end in time/,
    });
    await assert.rejects(host.run('slice.cleanup', of(slots), { signal: AbortSignal.timeout(1) }), {
      code: 'timeout',
      message: /an earlier task on slot/,
    });
    clearFaults(host.sim.dir);
    const cleaned = await host.run('slice.cleanup', of(slots));
    assert.equal(cleaned.disks[0]?.is_verified, true);
  });
});

describe('readiness', () => {
  test('fails at its deadline and reports what was missing', async (t) => {
    for (const [state, reason] of [
      ['no_lease', /MAC 02:00:00:00:00:00 has no address lease/],
      ['wrong_lease', /was given 10\.100\.0\.110 instead of 10\.100\.0\.10/],
    ] as const) {
      const host = startTestHost(t);
      const slots = await host.slots([0]);
      await provision(host, slots);
      host.fault({ state });
      await assert.rejects(host.run('slice.vm_readiness', of(slots), shortly()), (err: Error & { code?: string }) => {
        assert.match(err.message, reason);
        assert.equal(err.code, 'timeout');
        return true;
      });
    }
  });

  test('waits for a VM that is slow to boot', async (t) => {
    let now = Date.now();
    const host = startTestHost(t, { durations: { boot_ms: 60_000 }, now: () => new Date(now) });
    const slots = await host.slots([0]);
    await provision(host, slots);
    const progress = () => {
      now += 60_000;
    };
    assert.equal((await host.run('slice.vm_readiness', of(slots), { progress })).gpu_count, 1);
  });

  test('reads the host again after a response that took too long', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    const slow = { when: 'hypervisor.guest', do: 'fail', code: 'timeout', message: 'virsh did not end' } as const;
    host.fault({ ...slow, times: 1 });
    assert.equal((await host.run('slice.vm_readiness', of(slots))).gpu_count, 1);
    host.fault(slow);
    await assert.rejects(host.run('slice.vm_readiness', of(slots), shortly()), {
      code: 'timeout',
      message: /did not become ready in time: virsh did not end$/,
    });
  });

  test('names both MACs when another device answers for the address', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    host.fault({ state: 'mac_conflict' });
    await assert.rejects(host.run('slice.vm_readiness', of(slots)), {
      code: 'conflict',
      message: /is reserved for MAC 02:00:00:00:00:00 but used by MAC b8:3f:d2/,
    });
  });

  test('an address used by another device is not assigned until that device is gone', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    host.fault({ state: 'mac_conflict' });
    const refusal = { code: 'conflict', message: /is reserved for MAC .* but used by MAC / };
    await assert.rejects(provision(host, slots), refusal);
    assert.deepEqual((await readLeases(host.state)).leases, [], 'nothing is leased');
    await assert.rejects(host.run('slice.reconcile', { rebind: slots }), refusal, 'nor is the slot repaired');
    clearFaults(host.sim.dir);
    await host.run('slice.reconcile', { rebind: slots });
    await provision(host, slots);
  });

  test('fails when the guest OS sees fewer GPUs than were claimed', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    await provision(host, slots);
    host.fault({ when: 'hypervisor.guest', do: 'lie' });
    await assert.rejects(host.run('slice.vm_readiness', of(slots)), {
      code: 'drift',
      message: 'the guest sees 1 GPUs instead of 2',
    });
  });

  test('waits for the checks that the image declares, and reports which failed and why', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const readiness_checks = ['cuda_compiler', 'gpu_driver'];
    await host.run('slice.bundle_lease', leaseOf(slots));
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', { ...startOf(slots), readiness_checks });
    assert.equal((await host.run('slice.vm_readiness', { ...of(slots), readiness_checks })).gpu_count, 1);
    const more = { ...of(slots), readiness_checks: [...readiness_checks, 'another'] };
    await assert.rejects(host.run('slice.vm_readiness', more, shortly()), /has not reported readiness check another$/);
    host.fault({ state: 'guest_check_fails' });
    const notes: unknown[] = [];
    const { signal, progress } = shortly();
    const told = ({ note }: { note?: string | null }) => {
      notes.push(note);
      progress();
    };
    await assert.rejects(
      host.run('slice.vm_readiness', { ...of(slots), readiness_checks }, { signal, progress: told }),
      {
        code: 'timeout',
        message: /cuda_compiler fails in the guest: a fault was laid for it; readiness check gpu_driver fails/,
      },
    );
    assert.deepEqual(notes, ['the readiness checks of the image have not passed'], 'the reasons are for operators');
  });

  test('fails at once when the VM is gone', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    await assert.rejects(host.run('slice.vm_readiness', of(slots)), /is shut_off; it must be running/);
  });
});

describe('a stop', () => {
  test('is forced for a guest OS that does not respond', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    host.fault({ state: 'guest_ignores_shutdown' });
    assert.deepEqual(await host.run('slice.vm_stop', { ...of(slots), grace_s: 5 }), { how: 'hard' });
  });

  test('and a reboot leave a domain without the tag alone', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    await assert.rejects(host.run('slice.vm_reboot', { ...of(slots), is_hard: true }), /is not on the host/);
    host.sim.defineForeignDomain(`gpuaas-${ALLOCATION.replaceAll('_', '-')}`);
    await assert.rejects(host.run('slice.vm_stop', { ...of(slots), grace_s: 0 }), { code: 'conflict' });
    await assert.rejects(host.run('slice.vm_reboot', { ...of(slots), is_hard: true }), { code: 'conflict' });
  });
});

describe('a cleanup', () => {
  test('is refused while the VM runs, and no byte changes', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    const before = await host.hashes();
    host.fault({ when: 'hypervisor.stop', do: 'lie' });
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    await assert.rejects(host.run('slice.cleanup', of(slots)), { code: 'blocked', message: /is running\. Stop it/ });
    assert.equal(await host.hashes(), before);
    assert.equal(host.sim.state().ports.length, 1);
  });

  test('detects a disk that falsely reports a wipe, and keeps the lease', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0, 1]);
    host.fault({ when: 'disks.wipe', do: 'lie', slot: 1 });
    const { disks } = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      disks.map((disk) => [disk.is_verified, disk.command_status]),
      [
        [true, 0],
        [false, 0],
      ],
    );
    assert.ok((disks[1]?.bytes_not_erased ?? 0) > 0);
    assert.equal((await readLeases(host.state)).leases.length, 1);
    await assert.rejects(host.run('slice.vm_start', startOf(slots)), /has been in cleanup/);
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(slots, OTHER)), { code: 'conflict' });
    clearFaults(host.sim.dir);
    assert.ok((await host.run('slice.cleanup', of(slots))).disks.every((disk) => disk.is_verified));
    assert.deepEqual((await readLeases(host.state)).leases, []);
  });

  test('names a mounted disk with its blocker, wipes the others, and never unmounts', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0, 1]);
    const mounted = slots[1]?.nvme_serial ?? '';
    const bytes = await host.sim.readDisk(mounted, 0, 4 * 1024 * 1024);
    host.fault({ state: 'disk_mounted', slot: 1 });
    const { disks, blocked } = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      disks.map((disk) => disk.serial),
      [slots[0]?.nvme_serial],
    );
    assert.equal(blocked[0]?.serial, mounted);
    assert.match(blocked[0]?.reason ?? '', /mounted at .*never unmounts/);
    assert.ok(bytes.equals(await host.sim.readDisk(mounted, 0, 4 * 1024 * 1024)));
    assert.equal((await readLeases(host.state)).leases.length, 1);
  });

  test('uses only the approved wipe method: a disk that does not support it is blocked', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    host.fault({ when: 'disks.wipe', do: 'fail', code: 'unsupported', message: 'Invalid Command Opcode', times: 1 });
    const first = await host.run('slice.cleanup', of(slots));
    assert.deepEqual([first.disks, first.blocked[0]?.reason], [[], 'Invalid Command Opcode']);
    const second = await host.run(
      'slice.cleanup',
      of(slots.map((slot) => ({ ...slot, wipe_method: 'blkdiscard' as const }))),
    );
    assert.deepEqual([second.disks[0]?.method, second.disks[0]?.is_verified], ['blkdiscard', true]);
  });

  test('reports remaining parts of the VM, whatever the previous steps reported', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    host.fault({ when: 'network.detach', do: 'lie', times: 1 });
    const { isolation, network_detached } = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      [network_detached, isolation.network.is_port_removed, isolation.is_seed_removed],
      [false, false, true],
    );
  });

  test('reports no partition as inactive while Fabric Manager is down, and keeps the lease until it is', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    const rule = { state: 'fabric_manager_dead' } as const;
    host.fault(rule);
    const { isolation } = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      isolation.partitions.map((one) => one.is_deactivated),
      [false],
    );
    assert.equal((await readLeases(host.state)).leases.length, 1);
    clearFaults(host.sim.dir);
    const again = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      again.isolation.partitions.map((one) => one.is_deactivated),
      [true],
    );
    assert.deepEqual((await readLeases(host.state)).leases, []);
  });

  test('deactivates no partition without a module', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    const asked: number[] = [];
    const fabric = {
      ...host.sim.fabric,
      facts: async () => {
        const facts = await host.sim.fabric.facts();
        return { ...facts, partitions: [...facts.partitions, { partition_id: 99, module_ids: [], is_active: true }] };
      },
      deactivate: (id: number) => {
        asked.push(id);
        return host.sim.fabric.deactivate(id);
      },
    };
    await host.run('slice.cleanup', of(slots), { host: { ...host.sim, fabric } });
    assert.equal(asked.length, 1);
    assert.ok(!asked.includes(99));
  });

  test('reports a fabric function that cannot be reset, and keeps the lease', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    const address = slots[0]?.fabric_vf_pci_address ?? '';
    host.fault({ when: 'pci.reset', do: 'fail', code: 'host_error', message: 'no answer', address });
    const { isolation, gpu_resets, disks } = await host.run('slice.cleanup', of(slots));
    assert.deepEqual([disks[0]?.is_verified, gpu_resets[0]?.is_ok], [true, true]);
    assert.deepEqual(isolation.fabric_functions, [
      { fabric_vf_pci_address: address, method: 'none', is_cleared: false, reason: 'no answer' },
    ]);
    assert.equal((await readLeases(host.state)).leases.length, 1);
  });

  test('reports a GPU whose reset fails or affects a neighbor as not ok, and keeps the lease', async (t) => {
    for (const [state, reason] of [
      ['reset_fails', /the reset failed/],
      ['reset_reaches_neighbours', /would reach/],
      ['device_missing', /is not on the host/],
    ] as const) {
      const host = startTestHost(t);
      const slots = await stopped(host, [0]);
      host.fault({ state, slot: 0 });
      const { gpu_resets, disks } = await host.run('slice.cleanup', of(slots));
      assert.equal(gpu_resets[0]?.is_ok, false);
      assert.match(gpu_resets[0]?.reason ?? '', reason);
      assert.equal(disks[0]?.is_verified, true, 'the disk is proven all the same');
      assert.equal((await readLeases(host.state)).leases.length, 1);
    }
  });

  test('reports that the network is not detached when it is not', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    host.fault({ when: 'network.detach', do: 'lie' });
    assert.equal((await host.run('slice.cleanup', of(slots))).network_detached, false);
    assert.equal((await readLeases(host.state)).leases.length, 1);
  });

  test('that hangs in a wipe ends at its timeout, keeps the lease, and is repeated later', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0]);
    host.fault({ when: 'disks.wipe', do: 'hang', times: 1 });
    const controller = new AbortController();
    const hung = host.run('slice.cleanup', of(slots), { signal: controller.signal });
    const isHanging = (): boolean => Object.keys(host.sim.state().fault_hits).length > 0;
    while (!isHanging()) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await assert.rejects(hung, { code: 'timeout', message: /the wipe of disk .* did not end in time/ });
    assert.equal((await readLeases(host.state)).leases.length, 1);
    clearFaults(host.sim.dir);
    assert.equal((await host.run('slice.cleanup', of(slots))).disks[0]?.is_verified, true);
  });

  test('wipes all disks in parallel: a hanging one does not delay the others', async (t) => {
    const host = startTestHost(t);
    const slots = await stopped(host, [0, 1]);
    host.fault({ when: 'disks.wipe', do: 'hang', times: 1 });
    const controller = new AbortController();
    const told: string[] = [];
    const hung = host.run('slice.cleanup', of(slots), {
      signal: controller.signal,
      progress: ({ note }) => {
        told.push(note ?? '');
        if (note === '1 of 2 disks are wiped') controller.abort();
      },
    });
    await assert.rejects(hung, { code: 'timeout', message: /the wipe of disk .* did not end in time/ });
    assert.ok(told.includes('1 of 2 disks are wiped'), told.join('; '));
    clearFaults(host.sim.dir);
    const again = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(
      again.disks.map(({ slot_id, is_verified }) => [slot_id, is_verified]),
      slots.map(({ slot_id }) => [slot_id, true]),
    );
  });

  test('touches nothing that another allocation holds', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    const before = await host.hashes();
    await assert.rejects(host.run('slice.cleanup', of(slots, OTHER)), { code: 'conflict' });
    await assert.rejects(
      host.run('node.cleanup', {
        allocation_id: null,
        disks: [{ serial: slots[0]?.nvme_serial ?? '', device: slots[0]?.nvme_device ?? '', generation: 1 }],
        slots: [],
      }),
      { code: 'conflict', message: new RegExp(ALLOCATION) },
    );
    assert.equal(await host.hashes(), before);
  });

  test('of a bundle that was only leased, or of nothing at all, returns proof too', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    assert.equal((await host.run('slice.cleanup', of(slots))).disks[0]?.is_verified, true);
    const again = await host.run('slice.cleanup', of(slots));
    assert.deepEqual([again.disks[0]?.is_verified, again.removed], [true, []]);
  });
});
