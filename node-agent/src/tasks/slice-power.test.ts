import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TaskSlot } from '@gpuaas/contract/node';
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
import { findLease, readLeases } from '../leases.ts';

const MIB = 1024 * 1024;
const OTHER_IMAGE = { name: 'debian-12', digest: null };

const running = async (host: TestHost, indexes: readonly number[] = [0, 1]) => {
  const slots = await host.slots(indexes);
  await provision(host, slots);
  return { slots, ready: await host.run('slice.vm_readiness', of(slots)) };
};
const stop = (host: TestHost, slots: readonly TaskSlot[], grace_s = 30) =>
  host.run('slice.vm_stop', { ...of(slots), grace_s, will_start_again: true });
const start = async (host: TestHost, slots: readonly TaskSlot[], install = 0) => {
  await host.run('slice.vm_start', { ...startOf(slots), install });
  return host.run('slice.vm_readiness', of(slots));
};
const wanted = async (host: TestHost) => findLease(await readLeases(host.state), ALLOCATION)?.wanted;
const domainOf = (host: TestHost) => host.sim.state().domains.find((each) => each.allocation_id === ALLOCATION);
const serialOf = (slots: readonly TaskSlot[], index: number) => slots[index]?.nvme_serial ?? '';

describe('a stopped VM', () => {
  test('keeps lease, port and disks, and starts at the same address with the same host key', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    assert.equal(await wanted(host), 'on');
    const before = await host.hashes();

    assert.deepEqual(await stop(host, slots), { how: 'graceful' });
    assert.equal(await wanted(host), 'off');
    assert.equal(domainOf(host)?.state, 'shut_off');
    assert.deepEqual(host.sim.state().active_partitions, [], 'what is off needs no part of the fabric');
    assert.equal(host.sim.state().ports.length, 1);
    assert.deepEqual(await stop(host, slots), { how: 'absent' });
    assert.deepEqual((await host.run('slice.reconcile', { rebind: [] })).findings, [], 'it is off because it is to be');

    assert.deepEqual(await start(host, slots), ready);
    assert.equal(await wanted(host), 'on');
    assert.deepEqual(host.sim.state().active_partitions, [4]);
    assert.equal(await host.hashes(), before);
  });

  test('has the fabric functions of its slots only where its last start said so', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    const vfs = slots.map((slot) => slot.fabric_vf_pci_address);
    const start = (more: { passes_fabric?: true } = {}) => host.run('slice.vm_start', { ...startOf(slots), ...more });
    const seen = async () => {
      const { domains } = await host.sim.hypervisor.inspect();
      return vfs.filter((vf) => domains[0]?.devices.includes(vf));
    };
    await host.run('slice.bundle_lease', leaseOf(slots));
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await start({ passes_fabric: true });
    assert.deepEqual(await seen(), vfs);
    await start();
    await host.run('slice.vm_reboot', { ...of(slots), is_hard: true });
    assert.deepEqual(await seen(), vfs, 'it runs on as it is');
    await stop(host, slots);
    await start();
    assert.deepEqual(await seen(), []);
    for (const vf of vfs)
      assert.equal((await host.sim.pci.list()).find((one) => one.address === vf)?.driver, 'vfio-pci', 'out of use');
    await stop(host, slots);
    await start({ passes_fabric: true });
    assert.deepEqual(await seen(), vfs);
  });

  test('is powered off when it does not respond, and at once without a grace period', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    host.fault({ state: 'guest_ignores_shutdown' });
    assert.deepEqual(await stop(host, slots, 1), { how: 'hard' });
    await start(host, slots);
    assert.deepEqual(await stop(host, slots, 0), { how: 'hard' });
  });

  test('stays off and keeps its definition when its start fails, and starts the next time', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    await stop(host, slots);
    host.fault({ when: 'hypervisor.start', do: 'fail' });
    await assert.rejects(start(host, slots));
    assert.deepEqual([domainOf(host)?.state, await wanted(host)], ['shut_off', 'off']);
    assert.deepEqual([host.sim.state().ports, host.sim.state().active_partitions], [[], []]);
    clearFaults(host.sim.dir);
    assert.deepEqual(await start(host, slots), ready);
  });

  test('is off even if Fabric Manager does not deactivate its partition, which its start then finds', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    host.fault({ when: 'fabric.deactivate', do: 'fail', code: 'host_error' });
    assert.deepEqual(await stop(host, slots), { how: 'graceful' });
    assert.deepEqual([domainOf(host)?.state, await wanted(host)], ['shut_off', 'off']);
    clearFaults(host.sim.dir);
    await start(host, slots);
    assert.deepEqual(host.sim.state().active_partitions, [4]);
  });

  test('is cleaned up like any other, and reports its partition although it was deactivated before', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    await stop(host, slots);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    const cleaned = await host.run('slice.cleanup', of(slots));
    assert.deepEqual(cleaned.isolation.partitions, [{ partition_id: 4, is_deactivated: true }]);
    assert.ok(cleaned.disks.every((disk) => disk.is_verified));
    assert.deepEqual((await readLeases(host.state)).leases, []);
    await assert.rejects(start(host, slots), { code: 'conflict' });
  });
});

describe('a reboot', () => {
  test('keeps everything, and resets a guest OS that does not respond', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    const reboot = (is_hard: boolean) => host.run('slice.vm_reboot', { ...of(slots), is_hard });
    assert.deepEqual(await reboot(false), { how: 'graceful' });
    host.fault({ state: 'guest_ignores_shutdown' });
    assert.deepEqual(await reboot(false), { how: 'hard' });
    assert.deepEqual(await reboot(true), { how: 'hard' });
    assert.deepEqual(await host.run('slice.vm_readiness', of(slots)), ready);
  });

  test('of a VM that is off is refused', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    await stop(host, slots);
    await assert.rejects(host.run('slice.vm_reboot', { ...of(slots), is_hard: true }), { code: 'drift' });
    assert.equal(domainOf(host)?.state, 'shut_off');
  });
});

describe('a reinstallation', () => {
  const again = (host: TestHost, slots: readonly TaskSlot[], image = OTHER_IMAGE, install = 1) =>
    host.run('slice.image_clone', { ...of(slots), image, install });

  test('writes another image to the boot disk, keeps the data disks, and has a new host key', async (t) => {
    const host = startTestHost(t, { disk_bytes: 8 * MIB });
    const { slots, ready } = await running(host);
    const [boot, data] = [serialOf(slots, 0), serialOf(slots, 1)];
    await host.sim.writeDisk(boot, 5 * MIB, Buffer.from('old system'));
    await host.sim.writeDisk(data, 5 * MIB, Buffer.from('my data'));
    const before = await host.sim.readDisk(data, 0, 8 * MIB);
    await assert.rejects(again(host, slots), { code: 'blocked' }, 'a machine that is on keeps its disk');
    await stop(host, slots);
    await again(host, slots);
    assert.equal(domainOf(host), undefined, 'the state of the old system is removed with it');
    assert.deepEqual(await host.sim.readDisk(boot, 5 * MIB, 10), Buffer.alloc(10));
    const installed = await start(host, slots, 1);
    assert.deepEqual(
      [installed.actual_ip, installed.mac, installed.gpu_count],
      [ready.actual_ip, ready.mac, ready.gpu_count],
    );
    assert.notEqual(installed.ssh_host_key, ready.ssh_host_key);
    assert.ok((await host.sim.readDisk(data, 0, 8 * MIB)).equals(before));
    assert.deepEqual((await start(host, slots, 1)).ssh_host_key, installed.ssh_host_key);
  });

  test('keeps the old system when the image is not available', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    await stop(host, slots);
    const before = await host.hashes();
    host.fault({ when: 'images.pull', do: 'lie' });
    await assert.rejects(again(host, slots), { code: 'bad_image' });
    assert.equal(await host.hashes(), before);
    clearFaults(host.sim.dir);
    assert.deepEqual(await start(host, slots), ready);
  });

  test('keeps the old system when the cached image does not fit or has changed', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    await stop(host, slots);
    const before = await host.hashes();
    for (const code of ['blocked', 'drift'] as const) {
      host.fault({ when: 'images.check', do: 'fail', code });
      await assert.rejects(again(host, slots), { code });
      clearFaults(host.sim.dir);
    }
    host.fault({ state: 'image_cache_damaged' });
    await assert.rejects(again(host, slots), { code: 'bad_image_cache' });
    clearFaults(host.sim.dir);
    assert.equal(await host.hashes(), before, 'nothing of the boot disk is forgotten');
    assert.equal(domainOf(host)?.state, 'shut_off');
    assert.deepEqual(await start(host, slots), ready);
  });

  test('with an image that the host cannot start is refused while the old system is there', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    await stop(host, slots);
    const before = await host.hashes();
    host.fault({ state: 'boot_kernel_missing' });
    const params = { ...of(slots), image: OTHER_IMAGE, install: 1, boot_kind: 'kernel' as const };
    await assert.rejects(host.run('slice.image_clone', params), {
      code: 'unsupported',
      output: { is_disk_written: false },
    });
    assert.equal(await host.hashes(), before);
    assert.deepEqual(await start(host, slots), ready);
  });

  test('with invalid user data is refused before the old system is overwritten', async (t) => {
    const host = startTestHost(t);
    const { slots, ready } = await running(host);
    await stop(host, slots);
    const before = await host.hashes();
    for (const user_data of [
      '#cloud-config\nusers: [\n',
      '#cloud-config\nhostname: mine\n',
      '#cloud-config\nusers: [ubuntu]\n',
      '#cloud-config\nwrite_files: [{content: x}]\n',
    ])
      await assert.rejects(
        host.run('slice.image_clone', { ...of(slots), image: OTHER_IMAGE, install: 1, user_data }),
        { code: 'blocked', output: { is_user_data_refused: true, is_disk_written: false } },
        user_data,
      );
    assert.equal(await host.hashes(), before);
    assert.deepEqual(await start(host, slots), ready);
    await stop(host, slots);
    const user_data = '#cloud-config\npackages: [htop]\n';
    await host.run('slice.image_clone', { ...of(slots), image: OTHER_IMAGE, install: 1, user_data });
  });

  test('that fails reports whether the old system is gone, or nothing if unknown', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    await stop(host, slots);
    const failsAt = async (when: 'images.pull' | 'images.clone', output: object | null) => {
      host.fault({ when, do: 'fail', times: 1 });
      await assert.rejects(again(host, slots), { output }, when);
      clearFaults(host.sim.dir);
    };
    await failsAt('images.pull', { is_disk_written: false });
    await failsAt('images.clone', { is_disk_written: true });
    await failsAt('images.pull', null);
  });

  test('that was interrupted is repeated from the start', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host);
    await stop(host, slots);
    host.fault({ when: 'images.clone', do: 'fail', times: 1 });
    await assert.rejects(again(host, slots));
    await again(host, slots);
    assert.equal((await start(host, slots, 1)).gpu_count, 2);
  });

  test('writes the zeros of the image too if the boot disk could not be wiped', async (t) => {
    for (const [fault, isZero] of [
      [undefined, true],
      [{ when: 'disks.wipe', do: 'lie' }, false],
      [{ state: 'wipe_rejected', slot: 0 }, false],
    ] as const) {
      const host = startTestHost(t);
      const { slots } = await running(host);
      await stop(host, slots);
      if (fault !== undefined) host.fault(fault);
      const shown: (boolean | undefined)[] = [];
      const { images } = host.sim;
      const watched = {
        ...host.sim,
        images: {
          ...images,
          clone: (...args: Parameters<typeof images.clone>) => {
            shown.push(args[3]?.is_zero);
            return images.clone(...args);
          },
        },
      };
      await host.run('slice.image_clone', { ...of(slots), image: OTHER_IMAGE, install: 1 }, { host: watched });
      assert.deepEqual(shown, [isZero]);
    }
  });

  test('never touches the disk of another allocation', async (t) => {
    const host = startTestHost(t);
    const { slots } = await running(host, [0]);
    const others = await host.slots([1]);
    await provision(host, others, OTHER);
    await stop(host, slots);
    const before = await host.sim.readDisk(serialOf(others, 0), 0, 4 * MIB);
    await assert.rejects(host.run('slice.image_clone', { ...of(others), image: IMAGE, install: 1 }), {
      code: 'conflict',
    });
    await again(host, slots);
    assert.ok((await host.sim.readDisk(serialOf(others, 0), 0, 4 * MIB)).equals(before));
  });
});
