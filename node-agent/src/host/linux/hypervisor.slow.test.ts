/**
 * VMs on real libvirt and QEMU, with loop devices as disks and a real switch. They boot once and are used by all tests
 * in order, because booting takes most of the time.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ComposedHost, composedHostLacks, makeComposedHost, TINY_IMAGE } from '../../../test/composed-host.ts';
import { makeTenant, type Tenant } from '../../../test/tenant.ts';
import { portName } from '../../tasks/names.ts';
import { ALLOCATION, eventually, machineOf, noProgress, OTHER_ALLOCATION, refuses } from '../contract/subject.ts';
import type { Host, VmPlan } from '../host.ts';

const SMALL = { vcpu_count: 1, memory_mib: 256, cpuset: '0' };
/** In the VM the tenant is root and may ignore the power button. */
const IGNORES_THE_BUTTON = '#cloud-config\nruncmd: ["killall acpid"]\n';

const FOREIGN = `<domain type='qemu'><name>somebodys</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os><devices><video><model type='none'/></video></devices></domain>`;

describe('VMs on libvirt and QEMU', { skip: composedHostLacks() }, () => {
  let lab: ComposedHost;
  let host: Host;
  let tenant: Tenant;
  let first: VmPlan;
  let second: VmPlan;
  const keys = new Map<string, string>();

  const machine = (index: number, allocation_id: string, user_data: string | null): VmPlan => {
    const slot = lab.loop.slots[index];
    assert.ok(slot);
    const address = { mac_address: `02:00:00:00:00:0${index + 1}`, private_ip: `10.100.0.1${index + 1}` };
    const plan = { ...SMALL, ...address, ovs_port: portName(allocation_id), allocation_id };
    const ssh_public_keys = [tenant.public_key];
    return {
      ...machineOf([slot], plan),
      boot_kind: 'kernel',
      seed: { hostname: `guest${index}`, ssh_public_keys, user_data },
    };
  };
  const attach = ({ plan, allocation_id }: VmPlan) =>
    host.network.attach({
      name: plan.ovs_port,
      mac_address: plan.mac_address,
      private_ip: plan.private_ip,
      allocation_id,
    });
  const report = (one: VmPlan) => eventually(() => host.hypervisor.guest(one.name));
  const stateOf = async (name: string) =>
    (await host.hypervisor.list()).find((domain) => domain.name === name)?.state ?? 'none';
  const inGuest = (one: VmPlan, command: string) =>
    tenant.run({ ip: one.plan.private_ip, host_key: keys.get(one.name) ?? '' }, command);
  const bootId = (one: VmPlan) => inGuest(one, 'cat /proc/sys/kernel/random/boot_id');
  const filesOf = (one: VmPlan) => join(lab.config.folder, one.name);

  before(async () => {
    lab = await makeComposedHost({ hypervisor: { reboot_grace_s: 3 } });
    host = lab.host;
    tenant = makeTenant(lab.network.config.command_prefix);
    first = machine(0, ALLOCATION, null);
    second = machine(1, OTHER_ALLOCATION, IGNORES_THE_BUTTON);
    await host.images.pull({ name: TINY_IMAGE, digest: null }, noProgress);
    for (const slot of lab.loop.slots) {
      await host.pci.bind(slot.gpu, 'vfio-pci');
      await host.pci.bind(slot.vf, 'vfio-pci');
      const disk = await host.disks.open(slot.disk);
      await host.images.clone({ name: TINY_IMAGE, digest: null }, disk, noProgress);
      await disk.close();
    }
  });
  after(async () => {
    tenant?.remove();
    await lab?.close();
  });

  test('a start with a missing requirement is refused before anything is created', async () => {
    await refuses(host.hypervisor.start(first), 'blocked');
    await attach(first);
    await host.pci.bind(first.plan.slots[0]?.gpu_pci_address ?? '', null);
    await refuses(host.hypervisor.start(first), 'drift');
    await host.pci.bind(first.plan.slots[0]?.gpu_pci_address ?? '', 'vfio-pci');
    const pages = { size_kib: 1024 ** 2, count: 4096 };
    await refuses(host.hypervisor.start({ ...first, plan: { ...first.plan, hugepages: pages } }), 'no_space');
    const swapped = first.plan.slots.map((slot) => ({ ...slot, nvme_device: second.plan.slots[0]?.nvme_device ?? '' }));
    await refuses(host.hypervisor.start({ ...first, plan: { ...first.plan, slots: swapped } }), 'drift');
    const hostile = { ...first.seed, user_data: '#cloud-config\nhostname: mine\n' };
    await refuses(host.hypervisor.start({ ...first, seed: hostile }), 'blocked');
    assert.deepEqual(await host.hypervisor.list(), []);
    assert.equal(existsSync(filesOf(first)), false);
  });

  test('two VMs start, report their host keys and GPUs, and accept the named keys', async () => {
    await attach(second);
    await Promise.all([host.hypervisor.start(first), host.hypervisor.start(second)]);
    assert.equal(statSync(join(filesOf(first), `${first.name}.iso`)).mode & 0o777, 0o600);
    for (const one of [first, second]) {
      const said = await report(one);
      assert.equal(said.gpu_count, 1);
      keys.set(one.name, said.ssh_host_key);
    }
    assert.notEqual(keys.get(first.name), keys.get(second.name));
    assert.equal(await inGuest(first, 'id -un; hostname'), 'ubuntu\nguest0\n');
    assert.equal(
      await inGuest(second, 'hostname; cat /sys/block/vda/serial'),
      `guest1\n${second.plan.slots[0]?.nvme_serial}`,
    );
    const knock = `nc -w 3 ${second.plan.private_ip} 22 </dev/null >/dev/null 2>&1 && echo open || echo shut`;
    assert.equal(await inGuest(first, knock), 'shut\n', 'guests do not reach each other');
    assert.ok(existsSync(join(filesOf(first), `${first.name}.log`)), 'the console is kept');
    assert.equal((await host.network.lease(first.plan.mac_address, first.plan.private_ip)).ip, first.plan.private_ip);
  });

  test('a VM is started once, and no other VM can take its name or devices', async () => {
    const before = await bootId(first);
    await host.hypervisor.start(first);
    assert.equal(await bootId(first), before);
    await refuses(host.hypervisor.start({ ...first, plan: { ...first.plan, memory_mib: 512 } }), 'conflict');
    const third = 'alc_01jz0000000000000000000003';
    const thief = {
      ...machine(0, third, null),
      plan: { ...machine(0, third, null).plan, mac_address: '02:00:00:00:00:03' },
    };
    await refuses(host.hypervisor.start(thief), 'conflict');
    await refuses(host.disks.open(lab.loop.slots[0]?.disk ?? { serial: '', device: '' }), 'blocked');
    assert.equal(await stateOf(thief.name), 'none');
  });

  test('a domain that is not managed by the agent is reported and never changed', async () => {
    await writeFile(join(lab.libvirt.folder, 'foreign.xml'), FOREIGN);
    await lab.libvirt.virsh('create', join(lab.libvirt.folder, 'foreign.xml'));
    const told = (await host.hypervisor.list()).find(({ name }) => name === 'somebodys');
    assert.deepEqual(told, { name: 'somebodys', allocation_id: null, state: 'running' });
    await refuses(host.hypervisor.stop('somebodys', 1), 'conflict');
    await refuses(host.hypervisor.reboot('somebodys', true), 'conflict');
    await refuses(host.hypervisor.remove('somebodys'), 'conflict');
    assert.equal(await stateOf('somebodys'), 'running');
    await lab.libvirt.virsh('destroy', 'somebodys');
  });

  test('VMs survive a libvirt restart, and a restarted agent finds them by name', async () => {
    const before = await bootId(first);
    await lab.libvirt.stopLibvirt();
    await refuses(host.hypervisor.list(), 'host_error');
    assert.equal(await bootId(first), before);
    await lab.libvirt.startLibvirt();
    host = lab.reopen();
    const found = (await host.hypervisor.list()).map(({ allocation_id, state }) => `${allocation_id} ${state}`);
    assert.deepEqual(new Set(found), new Set([`${ALLOCATION} running`, `${OTHER_ALLOCATION} running`]));
    await host.hypervisor.start(first);
    assert.equal(await bootId(first), before);
    assert.equal((await report(first)).ssh_host_key, keys.get(first.name));
  });

  test('a VM restarts on request or by force and keeps its host key', async () => {
    await refuses(host.hypervisor.remove(first.name), 'conflict');
    const [before, other] = [await bootId(first), await bootId(second)];
    await host.hypervisor.reboot(first.name, false);
    await refuses(host.hypervisor.reboot(second.name, false), 'timeout');
    assert.equal(await bootId(second), other, 'a guest that does not want to is left as it was');
    await host.hypervisor.reboot(second.name, true);
    for (const one of [first, second]) assert.equal((await report(one)).ssh_host_key, keys.get(one.name));
    assert.notEqual(await bootId(first), before);
    assert.notEqual(await bootId(second), other);
  });

  test('a VM stops on request and is removed with all of its files, while the other keeps running', async () => {
    const other = await bootId(second);
    assert.equal(await host.hypervisor.stop(first.name, 30), 'graceful');
    assert.equal(await host.hypervisor.stop(first.name, 30), 'absent');
    assert.equal(await host.hypervisor.guest(first.name), null);
    await refuses(host.hypervisor.reboot(first.name, true), 'drift');
    await host.hypervisor.remove(first.name);
    await host.hypervisor.remove(first.name);
    assert.equal(await stateOf(first.name), 'none');
    assert.equal(existsSync(filesOf(first)), false, 'definition, seed and console');
    for (const folder of [lab.config.libvirt_log_folder, lab.config.report_folder])
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith(first.name)),
        [],
      );
    const disk = await host.disks.open(lab.loop.slots[0]?.disk ?? { serial: '', device: '' });
    await disk.wipe('blkdiscard');
    await disk.close();
    assert.equal(await bootId(second), other);
  });

  test('a VM that ignores the request is stopped by force', async () => {
    assert.equal(await host.hypervisor.stop(second.name, 2), 'hard');
    assert.equal(await stateOf(second.name), 'shut_off');
    await host.hypervisor.remove(second.name);
    assert.deepEqual(await host.hypervisor.list(), []);
  });
});
