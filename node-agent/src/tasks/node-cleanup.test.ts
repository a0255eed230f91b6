import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALLOCATION, OTHER, of, provision, startTestHost } from '../../test/slice.ts';
import { clearFaults } from '../host/sim/fault.ts';
import { readLeases } from '../leases.ts';

const DATA = Buffer.from('data of a tenant');

describe('node.cleanup', () => {
  test('wipes the declared disks with proof and leaves the others alone', async (t) => {
    const host = startTestHost(t);
    const [first, second] = await host.slots([0, 1]);
    assert.ok(first && second);
    for (const slot of [first, second]) await host.sim.writeDisk(slot.nvme_serial, 0, DATA);
    const output = await host.run('node.cleanup', {
      allocation_id: ALLOCATION,
      disks: [{ serial: first.nvme_serial, device: first.nvme_device, generation: 1 }],
      slots: [],
    });
    assert.deepEqual(
      output.disks.map((disk) => [disk.serial, disk.slot_id, disk.generation, disk.is_verified]),
      [[first.nvme_serial, null, null, true]],
    );
    assert.deepEqual([output.blocked, output.gpu_resets, output.network_detached], [[], [], true]);
    assert.ok(DATA.equals(await host.sim.readDisk(second.nvme_serial, 0, DATA.length)));
  });

  test('refuses a wipe for an earlier claim of a disk, as of a control plane that was restored, and changes no byte', async (t) => {
    const host = startTestHost(t);
    const [slot] = await host.slots([0]);
    assert.ok(slot);
    const disk = { serial: slot.nvme_serial, device: slot.nvme_device };
    const user = { allocation_id: OTHER, username: 'tenant', ssh_public_keys: [], slot_generations: [] };
    await host.run('allocation.provision_user', { ...user, disks: [{ ...disk, generation: 200 }] });
    await host.sim.writeDisk(slot.nvme_serial, 0, DATA);
    const before = await host.hashes();
    const wipe = (generation: number) =>
      host.run('node.cleanup', { allocation_id: ALLOCATION, disks: [{ ...disk, generation }], slots: [] });
    await assert.rejects(wipe(100), {
      code: 'stale_generation',
      message: `Disk ${slot.nvme_serial} is at generation 200 on this host; this task is of generation 100.`,
    });
    assert.equal(await host.hashes(), before);
    assert.deepEqual((await wipe(200)).blocked, []);
  });

  test('refuses wipes for an earlier claim of a slot once its whole node has a tenant, and changes no byte', async (t) => {
    const host = startTestHost(t);
    const [slot] = await host.slots([0]);
    assert.ok(slot);
    const { slot_id, generation } = slot;
    await host.run('allocation.provision_user', {
      ...{ allocation_id: OTHER, username: 'tenant', ssh_public_keys: [] },
      ...{ disks: [], slot_generations: [{ slot_id, generation: generation + 1 }] },
    });
    await host.sim.writeDisk(slot.nvme_serial, 0, DATA);
    const before = await host.hashes();
    const stale = { allocation_id: ALLOCATION, slots: [slot] };
    const refusal = { code: 'stale_generation' };
    await assert.rejects(host.run('slice.cleanup', stale), refusal);
    await assert.rejects(host.run('node.cleanup', { ...stale, disks: [] }), refusal);
    assert.equal(await host.hashes(), before);
    const own = { allocation_id: OTHER, disks: [], slots: [{ ...slot, generation: generation + 1 }] };
    assert.deepEqual((await host.run('node.cleanup', own)).blocked, []);
  });

  test('names a disk that is mounted, held, of another serial or the host’s own, and changes no byte', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1, 2]);
    const boot = (await host.sim.disks.list()).find((disk) => disk.is_boot);
    for (const slot of slots) await host.sim.writeDisk(slot.nvme_serial, 0, DATA);
    const before = await host.hashes();
    host.fault({ state: 'disk_mounted', slot: 0 });
    host.fault({ state: 'disk_held', slot: 1 });
    const output = await host.run('node.cleanup', {
      allocation_id: null,
      disks: [
        ...slots.slice(0, 2).map((slot) => ({ serial: slot.nvme_serial, device: slot.nvme_device, generation: 1 })),
        { serial: boot?.serial ?? '', device: boot?.device ?? '', generation: 1 },
        // A path that resolves to another disk than the serial names.
        { serial: slots[2]?.nvme_serial ?? '', device: slots[1]?.nvme_device ?? '', generation: 1 },
        { serial: 'SN-UNKNOWN', device: '/dev/disk/by-id/none', generation: 1 },
      ],
      slots: [],
    });
    assert.deepEqual(output.disks, []);
    assert.deepEqual(
      output.blocked.map((each) => each.reason.split(';')[0]).map((reason) => reason?.replace(/nvme\d+n1/, 'nvme')),
      [
        'it is mounted at /mnt/nvme',
        'it is in use by dm-0',
        'it is the boot disk of the host, it is mounted at /, /boot/efi, it is in use by md0',
        output.blocked[3]?.reason,
        'disk SN-UNKNOWN is not on the host',
      ],
    );
    assert.match(output.blocked[3]?.reason ?? '', /Nothing was touched/);
    assert.equal(await host.hashes(), before);
  });

  test('proves a slot under repair and ends the lease that was left on it', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    await provision(host, slots);
    await assert.rejects(host.run('node.cleanup', { allocation_id: null, disks: [], slots }), { code: 'conflict' });
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    host.fault({ state: 'reset_fails', slot: 1 });
    await host.run('slice.cleanup', of(slots));
    assert.equal((await readLeases(host.state)).leases.length, 1, 'a GPU was not reset');
    clearFaults(host.sim.dir);
    for (const slot of slots) {
      const output = await host.run('node.cleanup', { allocation_id: null, disks: [], slots: [slot] });
      assert.deepEqual(
        output.gpu_resets.map((reset) => reset.is_ok),
        [true],
      );
    }
    assert.deepEqual((await readLeases(host.state)).leases, []);
  });
});

describe('slice.reconcile', () => {
  test('reports unmanaged VMs and drift, and changes neither', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    host.sim.defineForeignDomain('somebodys');
    const calm = await host.run('slice.reconcile', { rebind: [] });
    assert.deepEqual(
      calm.domains.map((domain) => [domain.allocation_id, domain.is_managed, domain.state]),
      [
        [ALLOCATION, true, 'running'],
        [null, false, 'running'],
      ],
    );
    assert.deepEqual(
      calm.findings.map(({ message }) => message),
      ['VM somebodys is not managed by GPUaaS. The agent does not change it.'],
    );
    host.fault({ state: 'driver_binding_lost', slot: 0 });
    host.fault({ state: 'fabric_manager_restarted' });
    await host.sim.network.detach({ name: '', mac_address: slots[0]?.mac_address ?? '' });
    const lost = await host.run('slice.reconcile', { rebind: slots });
    const messages = lost.findings.map(({ message }) => message).join('\n');
    assert.match(messages, /runs without its port/);
    assert.match(messages, /runs, but fabric partition 8 is not active/);
    assert.match(messages, /is bound to nvidia, not vfio-pci/);
    assert.match(messages, /not rebound: allocation alc_/);
    assert.deepEqual(lost.rebound, []);
    host.sim.reboot();
    const rebooted = await host.run('slice.reconcile', { rebind: [] });
    assert.match(rebooted.findings.map(({ message }) => message).join('\n'), /is shut_off/);
    assert.equal(host.sim.state().domains.length, 2);
  });

  test('binds the devices of unclaimed slots, once', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const devices = slots.flatMap((slot) => [slot.gpu_pci_address, slot.fabric_vf_pci_address]);
    assert.deepEqual((await host.run('slice.reconcile', { rebind: slots })).rebound, devices);
    assert.deepEqual((await host.run('slice.reconcile', { rebind: slots })).rebound, []);
    assert.ok(devices.every((device) => host.sim.state().drivers[device] === 'vfio-pci'));
  });

  test('reports a port, a partition and a VM without a bundle lease', async (t) => {
    const host = startTestHost(t);
    await host.sim.fabric.activate(8);
    await host.sim.network.attach({
      name: 'gpx',
      mac_address: '02:00:00:00:00:09',
      private_ip: '10.100.0.9',
      allocation_id: ALLOCATION,
    });
    const { findings } = await host.run('slice.reconcile', { rebind: [] });
    assert.equal(findings.length, 2);
    assert.ok(findings.every((each) => each.message.includes('without a bundle lease')));
  });
});

describe('accounts', () => {
  const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8K1QmLk4r0Z3v5mG0m4cE0cPo2g0b7w9v1x0y2z3A4';
  const user = { allocation_id: ALLOCATION, username: 'tenant' };

  test('are made with exactly their keys and removed with their sessions', async (t) => {
    const host = startTestHost(t);
    const made = await host.run('allocation.provision_user', {
      ...{ ...user, ssh_public_keys: [KEY] },
      ...{ disks: [], slot_generations: [] },
    });
    assert.deepEqual([made.username, made.ssh_host_key?.startsWith('ssh-ed25519 ')], ['tenant', true]);
    assert.deepEqual(await host.run('allocation.install_authorized_keys', { ...user, ssh_public_keys: [KEY, KEY] }), {
      key_count: 2,
    });
    assert.equal(host.sim.state().users['tenant']?.ssh_public_keys.length, 2);
    host.sim.openSession('tenant');
    assert.deepEqual(await host.run('allocation.deprovision_user', user), { sessions_ended: 1, was_present: true });
    assert.deepEqual(await host.run('allocation.deprovision_user', user), { sessions_ended: 0, was_present: false });
  });
});

describe('images', () => {
  test('are pulled once and evicted once', async (t) => {
    const host = startTestHost(t);
    const pulled = await host.run('image.pull', { image: { name: 'ubuntu', digest: null } });
    assert.deepEqual(await host.run('image.pull', { image: { name: 'ubuntu', digest: pulled.digest } }), pulled);
    assert.deepEqual(await host.run('image.evict', { digest: pulled.digest }), { freed_bytes: pulled.size_bytes });
    assert.deepEqual(await host.run('image.evict', { digest: pulled.digest }), { freed_bytes: 0 });
    host.fault({ state: 'image_cache_full' });
    await assert.rejects(host.run('image.pull', { image: { name: 'ubuntu', digest: null } }), { code: 'no_space' });
  });
});
