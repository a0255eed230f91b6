/** Formatted data disks of a slice on a simulated host, whose guests read and write real bytes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TaskSlot } from '@gpuaas/contract/node';
import { ALLOCATION, IMAGE, leaseOf, of, startOf, startTestHost, type TestHost } from '../../test/slice.ts';
import { EXT4_UUID } from '../host/sim/guest-disks.ts';

const FORMATTED = { storage: 'formatted', network: 'private_nat' } as const;
const FOLDERS = ['/data/1', '/data/2', '/data/3'];
const mountsOf = (host: TestHost) =>
  host.sim.state().domains.find((each) => each.allocation_id === ALLOCATION)?.guest?.mounts;
const idOf = async (host: TestHost, slot: TaskSlot | undefined): Promise<string> =>
  (await host.sim.readDisk(slot?.nvme_serial ?? '', EXT4_UUID.offset, EXT4_UUID.length)).toString('hex');
const start = async (host: TestHost, slots: readonly TaskSlot[], install = 0) => {
  await host.run('slice.vm_start', { ...startOf(slots), ...FORMATTED, install });
  return host.run('slice.vm_readiness', { ...of(slots), storage: 'formatted' });
};
const idsOf = (host: TestHost, slots: readonly TaskSlot[]) =>
  Promise.all(slots.slice(1).map((slot) => idOf(host, slot)));
const launch = async (host: TestHost) => {
  const slots = await host.slots([0, 1, 2, 3]);
  await host.run('slice.bundle_lease', leaseOf(slots));
  await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
  await start(host, slots);
  return slots;
};

describe('formatted data disks', () => {
  test('are formatted at the first start and keep their file systems through stop, reboot and reinstallation', async (t) => {
    const host = startTestHost(t);
    const slots = await launch(host);
    assert.deepEqual(mountsOf(host), FOLDERS);
    const ids = await idsOf(host, slots);
    assert.equal(new Set([...ids, '0'.repeat(32)]).size, 4);
    const same = async () => assert.deepEqual(await idsOf(host, slots), ids);

    await host.run('slice.vm_reboot', { ...of(slots), is_hard: false });
    await same();
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0, will_start_again: true });
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE, install: 1 });
    await start(host, slots, 1);
    assert.deepEqual(mountsOf(host), FOLDERS);
    await same();
  });

  test('stay blank block devices unless the launch chose otherwise', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', startOf(slots));
    await host.run('slice.vm_readiness', of(slots));
    assert.deepEqual(mountsOf(host), []);
    assert.equal(await idOf(host, slots[1]), '0'.repeat(32));
  });

  test('are part of readiness: a VM without them is not ready, and the tenant sees why', async (t) => {
    const host = startTestHost(t);
    const slots = await launch(host);
    host.fault({ state: 'guest_check_fails' });
    const notes: unknown[] = [];
    const aborted = new AbortController();
    await assert.rejects(
      host.run(
        'slice.vm_readiness',
        { ...of(slots), storage: 'formatted' },
        {
          signal: aborted.signal,
          progress: ({ note }) => {
            notes.push(note);
            aborted.abort();
          },
        },
      ),
      { code: 'timeout', message: /readiness check data_disks fails in the guest/ },
    );
    assert.deepEqual(notes, ['the data disks are not formatted and mounted']);
  });
});
