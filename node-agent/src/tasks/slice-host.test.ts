/**
 * The whole life of a slice by the agent's own tasks on real parts: drives that are block devices, an image that firmware
 * boots from the drive it was cloned to, libvirt, QEMU, a switch with port security, and an address server. Two GPUs, so
 * that there is a second drive, which stays blank until the tenant writes to it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TaskKind, TaskOutput, TaskParams, TaskSlot } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { composedHostLacks, makeComposedHost, TINY_IMAGE } from '../../test/composed-host.ts';
import { ALLOCATION, leaseOf, of, startOf } from '../../test/slice.ts';
import { makeTenant } from '../../test/tenant.ts';
import { HYPERVISOR_DEFAULTS } from '../host/linux/hypervisor-config.ts';
import { readLeases } from '../leases.ts';
import { handlers } from './index.ts';
import type { TaskHandler } from './task.ts';

const SLOW_MS = 240_000;
const SMALL = { vcpu_count: 1, memory_mib: 512 };

const setUp = async (t: TestContext) => {
  const lab = await makeComposedHost({ hypervisor: { boot: HYPERVISOR_DEFAULTS.boot } });
  t.after(lab.close);
  const state = await mkdtemp(join(tmpdir(), 'gpuaas-state-'));
  t.after(() => rm(state, { recursive: true, force: true }));
  const tenant = makeTenant(lab.network.config.command_prefix);
  t.after(tenant.remove);
  const slots = lab.loop.slots.map(
    (slot, index): TaskSlot => ({
      slot_id: `slt_01jtest000000000000000000${index}`,
      slot_index: index,
      generation: 1,
      module_id: slot.module_id,
      gpu_pci_address: slot.gpu,
      nvme_serial: slot.disk.serial,
      nvme_device: slot.disk.device,
      mac_address: `02:00:00:00:00:0${index + 1}`,
      private_ip: `10.100.0.1${index + 1}`,
      fabric_vf_pci_address: slot.vf,
      wipe_policy: null,
    }),
  );
  /** By an agent that was started just now. */
  const run = async <K extends keyof typeof handlers>(kind: K, params: TaskParams<K>): Promise<TaskOutput<K>> => {
    const handler = handlers[kind] as unknown as TaskHandler<TaskKind>;
    const context = {
      host: lab.reopen(),
      node_id: 'nod_01jtest0000000000000000001',
      task_id: 'tsk_01jtest0000000000000000001',
      attempt: 1,
      correlation_id: 'test',
      log: silentLog(),
      signal: AbortSignal.timeout(SLOW_MS),
      progress: () => undefined,
      now: () => new Date(),
      state,
    };
    return (await handler(context, params as TaskParams<TaskKind>)) as TaskOutput<K>;
  };
  return { lab, state, tenant, slots, run };
};

test('a slice lives on real parts from its lease to a proven wipe', {
  skip: composedHostLacks(),
  timeout: SLOW_MS,
}, async (t) => {
  const { lab, state, tenant, slots, run } = await setUp(t);
  const blank = await Promise.all(slots.map((slot) => lab.loop.disks.hash(slot.nvme_serial)));

  const { plan } = await run('slice.bundle_lease', { ...leaseOf(slots), ...SMALL });
  await run('slice.image_clone', { ...of(slots), image: { name: TINY_IMAGE, digest: null } });
  const { domain } = await run('slice.vm_start', { ...startOf(slots), ssh_public_keys: [tenant.public_key] });
  const ready = await run('slice.vm_readiness', of(slots));
  assert.deepEqual([ready.lease_state, ready.actual_ip, ready.gpu_count], ['bound', plan.private_ip, 2]);

  const at = { ip: plan.private_ip, host_key: ready.ssh_host_key ?? '' };
  const said = await tenant.run(at, 'id -un; hostname; cat /sys/block/vda/serial; echo; cat /sys/block/vdb/serial');
  assert.deepEqual(said.split('\n'), ['ubuntu', 'trainer', ...plan.slots.map((slot) => slot.nvme_serial)]);

  const seen = await run('slice.reconcile', { rebind: [] });
  assert.deepEqual(seen, {
    domains: [{ name: domain, allocation_id: ALLOCATION, state: 'running', is_ours: true }],
    drift: [],
    rebound: [],
  });
  await assert.rejects(run('slice.cleanup', of(slots)), { code: 'blocked' });

  assert.deepEqual(await run('slice.vm_stop', { ...of(slots), grace_s: 60 }), { how: 'graceful' });
  assert.deepEqual(await run('slice.vm_stop', { ...of(slots), grace_s: 60 }), { how: 'absent' });

  const cleaned = await run('slice.cleanup', of(slots));
  assert.equal(cleaned.network_detached, true);
  assert.deepEqual(cleaned.blocked, []);
  assert.deepEqual(
    cleaned.disks.map((disk) => [disk.slot_id, disk.is_verified, disk.bytes_not_erased]),
    slots.map((slot) => [slot.slot_id, true, 0]),
  );
  assert.ok(cleaned.gpu_resets.every((reset) => reset.is_ok));
  assert.equal(cleaned.removed.length, 3, 'network, machine and partition');
  const { network, fabric_functions, partitions, ...gone } =
    cleaned.isolation ?? assert.fail('no evidence of isolation');
  assert.deepEqual(gone, { is_machine_removed: true, is_seed_removed: true });
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
