/**
 * The complete lifecycle of a slice by the agent's own tasks on a real host: block devices as disks, an image that
 * firmware boots from the disk it was cloned to, libvirt, QEMU, a switch with port security, and a DHCP server. Two
 * GPUs, so that there is a second disk, which stays blank until the tenant writes to it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { composedHostLacks, TINY_IMAGE } from '../../test/composed-host.ts';
import { ALLOCATION } from '../../test/slice.ts';
import { makeSliceLab } from '../../test/slice-lab.ts';
import { HYPERVISOR_DEFAULTS } from '../host/linux/hypervisor-config.ts';
import { readLeases } from '../leases.ts';

const SLOW_MS = 600_000;
const SMALL = { vcpu_count: 1, memory_mib: 512 };

test('a slice on a real host runs from its lease to a verified wipe', {
  skip: composedHostLacks(),
  timeout: SLOW_MS,
}, async (t) => {
  const made = await makeSliceLab({ boot_kind: 'uefi', hypervisor: { boot: HYPERVISOR_DEFAULTS.boot } });
  t.after(made.close);
  const { host: lab, state, tenant, slots, run } = made;
  const blank = await Promise.all(slots.map((slot) => lab.loop.disks.hash(slot.nvme_serial)));

  const { plan } = await run('slice.bundle_lease', { ...made.lease, ...SMALL });
  await run('slice.image_clone', { ...made.held, image: { name: TINY_IMAGE, digest: null } });
  const { domain } = await run('slice.vm_start', made.start);
  const ready = await run('slice.vm_readiness', made.held);
  assert.deepEqual([ready.lease_state, ready.actual_ip, ready.gpu_count], ['bound', plan.private_ip, 2]);

  const at = { ip: plan.private_ip, host_key: ready.ssh_host_key ?? '' };
  const said = await tenant.run(at, 'id -un; hostname; cat /sys/block/vda/serial; echo; cat /sys/block/vdb/serial');
  assert.deepEqual(said.split('\n'), ['ubuntu', 'trainer', ...plan.slots.map((slot) => slot.nvme_serial)]);

  const seen = await run('slice.reconcile', { rebind: [] });
  assert.deepEqual(seen, {
    domains: [{ name: domain, allocation_id: ALLOCATION, state: 'running', is_managed: true }],
    findings: [],
    rebound: [],
  });
  await assert.rejects(run('slice.cleanup', made.held), { code: 'blocked' });

  assert.deepEqual(await run('slice.vm_stop', { ...made.held, grace_s: 60 }), { how: 'graceful' });
  assert.deepEqual(await run('slice.vm_stop', { ...made.held, grace_s: 60 }), { how: 'absent' });

  const cleaned = await run('slice.cleanup', made.held);
  assert.equal(cleaned.network_detached, true);
  assert.deepEqual(cleaned.blocked, []);
  assert.deepEqual(
    cleaned.disks.map((disk) => [disk.slot_id, disk.is_verified, disk.bytes_not_erased]),
    slots.map((slot) => [slot.slot_id, true, 0]),
  );
  assert.ok(cleaned.gpu_resets.every((reset) => reset.is_ok));
  assert.equal(cleaned.removed.length, 3, 'network, machine and partition');
  const { network, fabric_functions, partitions, ...gone } = cleaned.isolation;
  assert.deepEqual(gone, { is_vm_removed: true, is_seed_removed: true });
  assert.deepEqual(
    Object.values(network),
    [true, true, true, true],
    'by a look at switch, address server and firewall',
  );
  assert.ok(fabric_functions.every((one) => one.is_cleared) && partitions.every((one) => one.is_deactivated));
  assert.deepEqual(await Promise.all(slots.map((slot) => lab.loop.disks.hash(slot.nvme_serial))), blank);
  const host = lab.reopen();
  assert.deepEqual([await host.hypervisor.list(), await host.network.ports()], [[], []]);
  assert.equal(existsSync(join(lab.config.folder, domain)), false);
  assert.deepEqual((await readLeases(state)).leases, []);
});
