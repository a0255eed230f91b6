/**
 * The agent's reconciliation on a real host: libvirt that knows why a VM ended, an unmanaged VM on a disk of a slot, a
 * switch that lost its flows, and leftovers of an allocation without a claim.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Inventory } from '@gpuaas/contract/node';
import { pause, silentLog } from '@gpuaas/kit';
import { composedHostLacks, TINY_IMAGE } from '../../test/composed-host.ts';
import { ALLOCATION, OTHER } from '../../test/slice.ts';
import { makeSliceLab } from '../../test/slice-lab.ts';
import { domainName } from '../tasks/names.ts';
import { createReconciler } from './loop.ts';

const SLOW_MS = 600_000;
const NAME = domainName(ALLOCATION);
const SMALL = { vcpu_count: 1, memory_mib: 256 };

const codes = ({ drift }: Inventory): readonly string[] => drift.map(({ code }) => code).toSorted();

test('on a real host it finds running VMs, why others ended, and the disks of an unmanaged VM', {
  skip: composedHostLacks(),
  timeout: SLOW_MS,
}, async (t) => {
  const lab = await makeSliceLab({ slots: 2 });
  t.after(lab.close);
  const { libvirt, network, config } = lab.host;
  const [slot, spare] = lab.slots;
  assert.ok(slot && spare);
  const slots = [slot];
  await lab.run('slice.bundle_lease', { ...lab.lease, slots, ...SMALL });
  await lab.run('slice.image_clone', { allocation_id: ALLOCATION, slots, image: { name: TINY_IMAGE, digest: null } });
  await lab.run('slice.vm_start', { ...lab.start, slots });
  await lab.run('slice.vm_readiness', { allocation_id: ALLOCATION, slots });

  const answer = { unclaimed: [] as string[] };
  const start = () =>
    createReconciler({
      host: lab.host.reopen(),
      state: lab.state,
      now: () => new Date(),
      log: silentLog(),
      send: async () => ({ is_accepted: true, ...answer }),
    });
  let agent = start();
  const calm = await agent.runOnce();
  assert.deepEqual(calm.drift, []);
  assert.deepEqual(
    calm.vms.map(({ name, is_managed, state }) => [name, is_managed, state]),
    [[NAME, true, 'running']],
  );
  for (const device of [slot.gpu_pci_address, slot.nvme_serial])
    assert.ok(calm.vms[0]?.devices.includes(device), device);
  assert.ok(!calm.vms[0]?.devices.includes(slot.fabric_vf_pci_address));

  // Another agent process finds the same VM.
  agent = start();
  assert.deepEqual((await agent.runOnce()).drift, []);

  // The switch loses its flows; the VM gets its own back.
  await network.ofctl('del-flows', network.config.bridge);
  const mended = await agent.runOnce();
  assert.match(mended.repaired.join(), /restored the flows of gp/);
  assert.deepEqual(mended.drift, []);

  // An unmanaged VM, on a disk of an unclaimed slot.
  const xml = join(libvirt.folder, 'stranger.xml');
  await writeFile(
    xml,
    `<domain type='qemu'><name>somebodys</name><memory unit='MiB'>64</memory><os><type machine='q35'>hvm</type></os>
     <devices><disk type='block' device='disk'><source dev='${spare.nvme_device}'/><target dev='vda' bus='virtio'/></disk></devices></domain>`,
  );
  await libvirt.virsh('define', xml);
  const strange = await agent.runOnce();
  assert.deepEqual(codes(strange), ['unknown_vm']);
  const stranger = strange.vms.find(({ name }) => name === 'somebodys');
  assert.deepEqual([stranger?.is_managed, stranger?.state], [false, 'shut_off']);
  assert.ok(stranger?.devices.includes(spare.nvme_serial), JSON.stringify(stranger));
  await libvirt.virsh('undefine', 'somebodys');

  // A port and a directory of an allocation that holds nothing, according to the control plane.
  await lab.host.host.network.attach({
    name: 'gp000000000099',
    mac_address: '02:00:00:00:00:99',
    private_ip: '10.100.0.99',
    allocation_id: OTHER,
  });
  await mkdir(join(config.folder, domainName(OTHER)), { recursive: true });
  assert.deepEqual((await agent.runOnce()).leftovers, [OTHER]);
  answer.unclaimed = [OTHER];
  await agent.runOnce();
  const cleared = await agent.runOnce();
  assert.deepEqual([cleared.leftovers, cleared.drift], [[], []]);
  assert.equal(cleared.repaired.length, 2, cleared.repaired.join());

  // Shut down by the guest OS, then powered off outside of the agent.
  while ((await libvirt.virsh('domstate', NAME)).trim() !== 'shut off') {
    await libvirt.virsh('shutdown', NAME, '--mode', 'acpi').catch(() => '');
    await pause(500);
  }
  const shut = await agent.runOnce();
  assert.deepEqual([codes(shut), shut.vms[0]?.ended_by], [['vm_off'], 'guest']);
  await lab.run('slice.vm_start', { ...lab.start, slots });
  await libvirt.virsh('destroy', NAME);
  const off = await agent.runOnce();
  assert.deepEqual([codes(off), off.vms[0]?.ended_by], [['vm_off'], 'host']);
});
