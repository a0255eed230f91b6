import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { TaskSlot } from '@gpuaas/contract/node';
import { ALLOCATION, IMAGE, leaseOf, OTHER, of, provision, startOf, startTestHost } from '../../test/slice.ts';
import type { HostErrorCode } from '../host/host.ts';
import { clearFaults, type NewFault } from '../host/sim/fault.ts';
import { changeLeases, readLeases } from '../leases.ts';

type Refusal = Readonly<{
  name: string;
  indexes?: readonly number[];
  fault?: NewFault;
  edit?: (slot: TaskSlot) => TaskSlot;
  code: HostErrorCode;
  reason: RegExp;
}>;

const REFUSALS: readonly Refusal[] = [
  {
    name: 'a GPU that is gone',
    fault: { state: 'device_missing', slot: 0 },
    code: 'drift',
    reason: /GPU .* is not on the host/,
  },
  {
    name: 'an IOMMU group that reaches further',
    fault: { state: 'iommu_group_merged', slot: 0 },
    code: 'drift',
    reason: /is shared beyond the slot/,
  },
  { name: 'no IOMMU groups at all', fault: { state: 'iommu_off' }, code: 'drift', reason: /in no IOMMU group/ },
  {
    name: 'a GPU with virtual children',
    fault: { state: 'vgpu_children', slot: 0 },
    code: 'drift',
    reason: /mediated devices/,
  },
  {
    name: 'a mounted disk',
    fault: { state: 'disk_mounted', slot: 0 },
    code: 'blocked',
    reason: /is mounted at .*never unmounts/,
  },
  {
    name: 'a disk that something holds',
    fault: { state: 'disk_held', slot: 0 },
    code: 'blocked',
    reason: /is in use by dm-0/,
  },
  {
    name: 'a disk that is gone',
    fault: { state: 'disk_missing', slot: 0 },
    code: 'drift',
    reason: /is not on the host/,
  },
  {
    name: 'too few huge pages',
    fault: { state: 'hugepages_gone' },
    code: 'no_space',
    reason: /0 free pages of 1048576 KiB, 64 needed/,
  },
  {
    name: 'a Fabric Manager of another version than the driver',
    fault: { state: 'fabric_driver_differs' },
    code: 'host_error',
    reason: /Fabric Manager is 580\.159\.04 and the driver 1\.0/,
  },
  {
    name: 'a Fabric Manager that does not run',
    fault: { state: 'fabric_manager_dead' },
    code: 'host_error',
    reason: /Fabric Manager is not running/,
  },
  {
    name: 'modules that make no partition',
    indexes: [0, 2],
    code: 'drift',
    reason: /no partition of the modules 2, 3/,
  },
  { name: 'three GPUs', indexes: [0, 1, 2], code: 'drift', reason: /no partition/ },
  {
    name: 'a slot without module id',
    edit: (slot) => ({ ...slot, module_id: null }),
    code: 'drift',
    reason: /no module id/,
  },
  {
    name: 'another serial at the place',
    edit: (slot) => ({ ...slot, nvme_serial: 'S795NC0OTHER' }),
    code: 'drift',
    reason: /disk S795NC0OTHER is not on the host/,
  },
  {
    name: 'a disk that is somewhere else',
    edit: (slot) => ({ ...slot, nvme_device: '/dev/nvme0n1' }),
    code: 'drift',
    reason: /approved at \/dev\/nvme0n1/,
  },
  {
    name: 'a GPU address with another device',
    edit: (slot) => ({ ...slot, gpu_pci_address: '0000:83:00.0' }),
    code: 'drift',
    reason: /is no GPU but a device of class 068000/,
  },
  {
    name: 'a physical function as a virtual one',
    edit: (slot) => ({ ...slot, fabric_vf_pci_address: '0000:18:00.0' }),
    code: 'drift',
    reason: /is no virtual function/,
  },
  {
    name: 'a virtual function that is gone',
    edit: (slot) => ({ ...slot, fabric_vf_pci_address: '0000:18:07.7' }),
    code: 'drift',
    reason: /virtual function .* is not on the host/,
  },
];

const frozen = (host: ReturnType<typeof startTestHost>): string => {
  const { drivers, active_partitions, domains, ports, images } = host.sim.state();
  return JSON.stringify({ drivers, active_partitions, domains, ports, images });
};

describe('a lease is refused and nothing is touched', () => {
  for (const refusal of REFUSALS)
    test(`for ${refusal.name}`, async (t) => {
      const host = startTestHost(t);
      const slots = (await host.slots(refusal.indexes ?? [0])).map(refusal.edit ?? ((slot) => slot));
      await host.sim.writeDisk(host.sim.slots[0]?.serial ?? '', 2 * 1024 * 1024, Buffer.from('data of a tenant'));
      const before = [await host.hashes(), frozen(host)];
      if (refusal.fault !== undefined) host.fault(refusal.fault);
      await assert.rejects(host.run('slice.bundle_lease', leaseOf(slots)), (err: Error & { code?: string }) => {
        assert.match(err.message, refusal.reason);
        assert.equal(err.code, refusal.code);
        return true;
      });
      assert.deepEqual([await host.hashes(), frozen(host)], before);
      assert.deepEqual((await readLeases(host.state)).leases, []);
    });

  test('for more CPUs or memory than the NUMA node of its GPU has', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await assert.rejects(host.run('slice.bundle_lease', { ...leaseOf(slots), vcpu_count: 113 }), /has 112/);
    await assert.rejects(host.run('slice.bundle_lease', { ...leaseOf(slots), memory_mib: 897 * 1024 }), {
      code: 'no_space',
    });
  });

  test('for pages of a size that the host does not have, or memory that is reserved for huge pages', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await assert.rejects(
      host.run('slice.bundle_lease', { ...leaseOf(slots), hugepages: '2M' }),
      /NUMA node 0 has 0 free pages of 2048 KiB, 32768 needed/,
    );
    // Of 1 TiB per node, 896 GiB are huge pages.
    await assert.rejects(
      host.run('slice.bundle_lease', { ...leaseOf(slots), hugepages: 'none', memory_mib: 129 * 1024 }),
      /NUMA node 0 has 131072 MiB left, 132096 MiB needed/,
    );
    const { plan } = await host.run('slice.bundle_lease', { ...leaseOf(slots), hugepages: 'none' });
    assert.equal(plan.hugepages, null);
  });

  test('for huge pages that are reserved for another lease', async (t) => {
    const host = startTestHost(t);
    const big = { memory_mib: 500 * 1024 };
    await host.run('slice.bundle_lease', { ...leaseOf(await host.slots([0])), ...big });
    await assert.rejects(host.run('slice.bundle_lease', { ...leaseOf(await host.slots([1]), OTHER), ...big }), {
      code: 'no_space',
    });
    await host.run('slice.bundle_lease', { ...leaseOf(await host.slots([4]), OTHER), ...big });
  });

  test('for a disk with a file system that was not wiped', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await provision(host, slots);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    await host.sim.hypervisor.remove(host.sim.state().domains[0]?.name ?? '');
    await host.sim.network.detach({ name: '', mac_address: '02:00:00:00:00:00' });
    await host.sim.fabric.deactivate(8);
    await changeLeases(host.state, (book) => ({ ...book, leases: [] }));
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(await host.slots([0], 2), OTHER)), /carries .*ext4/);
  });

  test('for an active partition that shares a module, naming its holder', async (t) => {
    const host = startTestHost(t);
    await host.sim.fabric.activate(1);
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(await host.slots([0]))), {
      code: 'conflict',
      message: 'fabric partition 1 is active for no allocation known here',
    });
  });

  test('for a slot that another allocation holds, naming it', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(slots, OTHER)), (err: Error) =>
      err.message.includes(`leased to allocation ${ALLOCATION}`),
    );
  });

  test('for a MAC or address that a port already uses', async (t) => {
    const host = startTestHost(t);
    await host.sim.network.attach({
      name: 'gpx',
      mac_address: '02:00:00:00:00:00',
      private_ip: '10.100.0.9',
      allocation_id: OTHER,
    });
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(await host.slots([0]))), {
      code: 'conflict',
      message: `MAC 02:00:00:00:00:00 is in use by allocation ${OTHER} at port gpx`,
    });
  });

  test('for an older generation of the slot', async (t) => {
    const host = startTestHost(t);
    await host.run('slice.bundle_lease', leaseOf(await host.slots([0], 5)));
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(await host.slots([0], 4))), {
      code: 'stale_generation',
    });
  });

  test('for slots with a later claim on this host, naming each with its generation', async (t) => {
    const host = startTestHost(t);
    const known = await host.slots([0, 1], 5);
    await host.run('slice.bundle_lease', leaseOf(known));
    const slots = known.map(({ slot_id }) => ({ slot_id, newest_generation: 5 }));
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(await host.slots([0, 1, 2], 4))), {
      output: { ...slots[0], slots },
    });
  });
});

describe('leases', () => {
  const hoursLater = (hours: number) => () => new Date(Date.now() + hours * 3_600_000);

  test('a bundle requested twice has one lease with the same plan, also in a new process', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0, 1]);
    const first = await host.run('slice.bundle_lease', leaseOf(slots));
    assert.deepEqual(await host.run('slice.bundle_lease', leaseOf(slots)), first);
    await host.run('slice.image_clone', { ...of(slots), image: IMAGE });
    await host.run('slice.vm_start', startOf(slots));
    assert.deepEqual(await host.run('slice.bundle_lease', leaseOf(slots)), first, 'also when it runs');
    assert.equal((await readLeases(host.state)).leases.length, 1);
  });

  test('five concurrent requests for one slot: one gets it, four are refused naming the holder', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const asked = [1, 2, 3, 4, 5].map((each) => `alc_01jtest000000000000000000${each}`);
    const answers = await Promise.allSettled(
      asked.map((allocation) => host.run('slice.bundle_lease', leaseOf(slots, allocation))),
    );
    const [lease, ...others] = (await readLeases(host.state)).leases;
    assert.deepEqual(others, []);
    assert.deepEqual(
      answers.map((answer) => answer.status === 'fulfilled'),
      asked.map((allocation) => allocation === lease?.allocation_id),
    );
    for (const answer of answers)
      if (answer.status === 'rejected') assert.match(String(answer.reason), new RegExp(lease?.allocation_id ?? 'none'));
  });

  test('an unused lease expires; one with a domain, a port or written bytes does not', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    const later = { now: hoursLater(3) };
    await host.run('slice.bundle_lease', leaseOf(slots, OTHER), later);
    assert.deepEqual(
      (await readLeases(host.state)).leases.map((lease) => lease.allocation_id),
      [OTHER],
    );
    await host.run('slice.image_clone', { ...of(slots, OTHER), image: IMAGE });
    await assert.rejects(
      host.run('slice.bundle_lease', leaseOf(slots), { now: hoursLater(100) }),
      /leased to allocation/,
    );
  });

  test('an expired lease does not free its slot while its port still exists', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const { plan } = await host.run('slice.bundle_lease', leaseOf(slots));
    await host.sim.network.attach({
      name: plan.ovs_port,
      mac_address: '02:aa:00:00:00:00',
      private_ip: '10.100.0.77',
      allocation_id: ALLOCATION,
    });
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(slots, OTHER), { now: hoursLater(3) }), /leased to/);
  });

  test('an unreadable lease file refuses requests instead of counting as empty', async (t: TestContext) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    await host.run('slice.bundle_lease', leaseOf(slots));
    const { writeFileSync } = await import('node:fs');
    writeFileSync(`${host.state}/leases.json`, '{"schema":1');
    await assert.rejects(host.run('slice.bundle_lease', leaseOf(slots, OTHER)), /failed to read the bundle leases/);
    await assert.rejects(host.run('slice.cleanup', of(slots)), /failed to read the bundle leases/);
  });

  for (const boot_kind of ['uefi', 'kernel'] as const)
    test(`an image of boot kind ${boot_kind} is neither cloned nor started on a host that cannot start it`, async (t) => {
      const host = startTestHost(t);
      const slots = await host.slots([0]);
      await host.run('slice.bundle_lease', leaseOf(slots));
      const given = boot_kind === 'uefi' ? {} : { boot_kind };
      const state = boot_kind === 'uefi' ? 'uefi_firmware_missing' : 'boot_kernel_missing';
      const refused = {
        code: 'unsupported',
        message: new RegExp(`boot kind ${boot_kind}, .* can start (uefi|kernel)\\.`),
      };
      const clone = () => host.run('slice.image_clone', { ...of(slots), ...given, image: IMAGE });
      host.fault({ state });
      const before = [await host.hashes(), frozen(host), await readLeases(host.state)];
      await assert.rejects(clone(), refused);
      assert.deepEqual([await host.hashes(), frozen(host), await readLeases(host.state)], before);
      clearFaults(host.sim.dir);
      await clone();
      host.fault({ state });
      const cloned = [await host.hashes(), frozen(host), await readLeases(host.state)];
      await assert.rejects(host.run('slice.vm_start', { ...startOf(slots), ...given }), refused);
      assert.deepEqual([await host.hashes(), frozen(host), await readLeases(host.state)], cloned);
      clearFaults(host.sim.dir);
      await host.run('slice.vm_start', { ...startOf(slots), ...given });
    });

  test('nothing is cloned or started without a lease, or for other slots than it names', async (t) => {
    const host = startTestHost(t);
    const slots = await host.slots([0]);
    const before = [await host.hashes(), frozen(host)];
    await assert.rejects(host.run('slice.image_clone', { ...of(slots), image: IMAGE }), /has no bundle lease/);
    await assert.rejects(host.run('slice.vm_start', startOf(slots)), /has no bundle lease/);
    await host.run('slice.bundle_lease', leaseOf(slots));
    await assert.rejects(
      host.run('slice.image_clone', { ...of(await host.slots([0, 1])), image: IMAGE }),
      /other slots/,
    );
    await assert.rejects(host.run('slice.vm_start', startOf(await host.slots([0], 2))), /other slots or generations/);
    assert.deepEqual([await host.hashes(), frozen(host)], before);
  });
});
