/**
 * Failures on a real host, seen from the control plane: the launch fails with its reason, nothing is left half done,
 * and its slots are free only after a verified wipe. The tests share a host and run in order.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { TaskKind } from '@gpuaas/contract/node';
import type { Allocation } from '@gpuaas/sdk';
import { composedHostLacks } from '../../../node-agent/test/composed-host.ts';
import { arp, EVERYBODY } from '../../../node-agent/test/frames.ts';
import { putFile } from '../../../node-agent/test/image-folder.ts';
import { eventually } from '../../sim/platform.ts';
import { createStory } from '../../story.ts';
import { addToCatalog, type TaskRow } from '../cloud.ts';
import { type HostLab, startHostLab } from './host-lab.ts';

const MIB = 1024 ** 2;
const NO_MAC = '00:00:00:00:00:00';
const skip = composedHostLacks();
let lab: HostLab;

const test = createStory(() => lab.report());

before(async () => {
  if (skip === false) lab = await startHostLab({ slots: 2, state_bytes: 16 * MIB });
});
after(() => lab?.close());

const launch = (name: string, image_name = lab.image.name): Promise<Allocation> =>
  lab.cloud.launch(name, { ssh_key_ids: [lab.key_id], image_name });

/** There is one host, and every test fails a launch on it: clears the failures, as an operator who has checked it. */
const clearFailures = async (): Promise<void> => {
  // A refused image counts against no host while no other host has used the image.
  const { launch_failures } = await lab.cloud.client.adminNodeGet({ params: { node_id: lab.node_id } });
  if (launch_failures === 0) return;
  const body = { reason: 'The test has put it there.' };
  await lab.cloud.client.adminNodeLaunchFailuresClear({ params: { node_id: lab.node_id }, body });
};

/** The task that ended the launch. */
const failsAt = async (id: string, kind: TaskKind): Promise<TaskRow> => {
  await lab.cloud.reaches(id, 'failed');
  await clearFailures();
  const failed = (await lab.cloud.tasks(id)).find((task) => task.state === 'failed');
  assert.equal(failed?.kind, kind, failed?.state_reason ?? '');
  return failed;
};
const becomes = async (id: string, status: string): Promise<void> => {
  await eventually(`the slot of ${id} is ${status}`, async () => (await lab.slotOf(id)).status === status || undefined);
};
const repaired = async (id: string): Promise<void> => {
  const { node_id, id: slot_id, version } = await lab.slotOf(id);
  const body = { reason: 'The address is free again.' };
  await lab.cloud.client.adminNodeSlotRepair({ params: { node_id, slot_id }, body }, { ifMatch: version });
  await becomes(id, 'available');
};
const cleanAgain = async (id: string): Promise<void> => {
  const body = { reason: 'What stood in the way is gone.', runtime_verified_absent: false };
  await lab.cloud.client.adminAllocationForceCleanup({ params: { allocation_id: id }, body });
  await becomes(id, 'available');
};

test('a host without its bridge starts no VM and leaves no port, and works again with the bridge', {
  skip,
}, async () => {
  const { network, libvirt } = lab.host;
  const { bridge, gateway } = network.config;
  await network.vsctl('del-br', bridge);
  const { id } = await launch('no-bridge');
  const failed = await failsAt(id, 'slice.bundle_lease');
  assert.match(failed.state_reason ?? '', /bridge/);
  assert.equal((await libvirt.virsh('list', '--all', '--name')).trim(), '');
  assert.equal(await network.vsctl('list-br'), '');
  await network.vsctl('add-br', bridge, '--', 'set', 'bridge', bridge, 'datapath_type=netdev');
  await network.host.must('ethtool', '-K', bridge, 'tx', 'off');
  await network.host.must('ip', 'addr', 'replace', `${gateway}/24`, 'dev', bridge);
  await network.host.must('ip', 'link', 'set', bridge, 'up');
  await becomes(id, 'available');
});

test('a corrupt or truncated image, or one with a backing file, is refused before any disk is written', {
  skip,
}, async () => {
  const { source, cache, root } = lab.host.spec;
  const raw = join(lab.cloud.scratch, 'image.raw');
  await writeFile(raw, randomBytes(MIB));
  const backed = join(lab.cloud.scratch, 'image.qcow2');
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', raw, '-F', 'raw', backed]);
  const other = `sha256:${randomBytes(32).toString('hex')}`;
  const put = async (file: string, said: Parameters<typeof putFile>[2], format: 'raw' | 'qcow2' = 'raw') => ({
    ...(await putFile(source, file, { ...said, format })),
    format,
  });
  const bad = [
    await put(raw, { name: 'tiny-forged', digest: other }),
    await put(raw, { name: 'tiny-cut', size_bytes: 2 * MIB, digest: `sha256:${randomBytes(32).toString('hex')}` }),
    await put(backed, { name: 'tiny-backed' }, 'qcow2'),
  ];
  const began = join(root, 'bin/clone-began');
  await lab.replace('qemu-img', `: >'${began}'; exit 1`);
  const kept = await readdir(cache);
  const words = [/was fetched as/, /ended after/, /backing/];
  for (const [index, image] of bad.entries()) {
    await addToCatalog(lab.cloud.client, image);
    const { id } = await launch(image.name, image.name);
    const failed = await failsAt(id, 'slice.image_clone');
    assert.match(failed.state_reason ?? '', words[index] ?? /never/);
    await becomes(id, 'available');
  }
  assert.equal(existsSync(began), false, 'nothing was cloned');
  assert.deepEqual(await readdir(cache), kept);
  await lab.putBack('qemu-img');
});

test('a VM without its DHCP lease is not ready, and the reason names its MAC', { skip }, async () => {
  const { network } = lab.host;
  const { bridge } = network.config;
  await lab.restartWith({ limits_s: { 'slice.vm_readiness': 12 } });
  await network.ofctl('add-flow', bridge, 'priority=65000,udp,tp_src=68,tp_dst=67,actions=drop');
  const { id } = await launch('no-lease');
  const failed = await failsAt(id, 'slice.vm_readiness');
  const { mac_address } = await lab.slotOf(id);
  assert.match(failed.state_reason ?? '', new RegExp(`MAC ${mac_address} has no address lease`));
  await network.ofctl('--strict', 'del-flows', bridge, 'priority=65000,udp,tp_src=68,tp_dst=67');
  await becomes(id, 'available');
  await lab.restartWith({});
});

test('an address answered by another device fails the launch, and the reason names both MACs', {
  skip,
}, async () => {
  const { network } = lab.host;
  const stranger = { name: 'foreign0', mac: '02:00:00:00:00:99' };
  const place = await network.guest(stranger.name, stranger.mac);
  await network.vsctl('add-port', network.config.bridge, stranger.name);
  const wire = await place.wire('eth0');
  const { id } = await launch('conflict');
  const { mac_address, private_ip } = await lab.slotOf(id);
  assert.ok(private_ip);
  const { mac } = stranger;
  const claim = arp('reply', { to: EVERYBODY, from: mac, sha: mac, spa: private_ip, tha: NO_MAC, tpa: private_ip });
  await eventually('the launch has failed', async () => {
    wire.send(claim);
    return (await lab.cloud.get(id)).state === 'failed' || undefined;
  });
  const failed = await failsAt(id, 'slice.vm_readiness');
  for (const word of [private_ip, mac_address, mac])
    assert.ok(failed.state_reason?.includes(word ?? ''), failed.state_reason ?? '');
  await becomes(id, 'quarantined');
  await network.vsctl('del-port', network.config.bridge, stranger.name);
  await repaired(id);
});

test('a VM with fewer GPUs than claimed is not activated, and its slots wait for an operator', {
  skip,
}, async () => {
  const { hypervisor } = lab.host.spec;
  const { boot } = hypervisor;
  assert.ok(boot.kernel);
  const less = { ...boot, kernel: { ...boot.kernel, command_line: `${boot.kernel.command_line} lose_gpu` } };
  await lab.restartWith({ host: { ...lab.host.spec, hypervisor: { ...hypervisor, boot: less } } });
  const { id } = await lab.cloud.launch('lost', {
    gpu_count: 2,
    ssh_key_ids: [lab.key_id],
    image_name: lab.image.name,
  });
  const failed = await failsAt(id, 'slice.vm_readiness');
  assert.match(failed.state_reason ?? '', /sees 1 GPUs instead of 2/);
  await becomes(id, 'cleanup_blocked');
  assert.equal((await lab.host.libvirt.virsh('list', '--name')).trim(), '', 'it does not run on');
  await lab.restartWith({});
  await cleanAgain(id);
});

test('an agent without disk space for its journal refuses tasks, reports it, and resumes with space', {
  skip,
}, async () => {
  const fill = join(lab.state, 'fill');
  execFileSync('sh', ['-c', `cat /dev/zero >'${fill}' 2>/dev/null || true`]);
  const { id } = await launch('no-room');
  await lab.cloud.reaches(id, 'failed');
  await clearFailures();
  const failed = (await lab.cloud.tasks(id)).find((task) => task.state === 'failed');
  assert.match(failed?.state_reason ?? '', /free space, then try again/);
  assert.equal((await lab.host.libvirt.virsh('list', '--all', '--name')).trim(), '');
  await becomes(id, 'cleanup_blocked');
  await rm(fill);
  await cleanAgain(id);
});

test('mounted disks are neither cloned to nor wiped: no byte changes, and they stay mounted', {
  skip,
}, async () => {
  const { disks, slots } = lab.host.loop;
  const serials = slots.map(({ disk }) => disk.serial);
  const params = { node_id: lab.node_id };
  // What a tenant left on a disk is no use of the host: after a wipe the agent must have seen it free once.
  const wiped = Date.now();
  await eventually('the agent has seen the wiped disks', async () => {
    const { reports } = await lab.cloud.client.adminNodeHealthGet({ params });
    return reports.some(({ observed_at }) => Date.parse(observed_at) > wiped) || undefined;
  });
  for (const serial of serials) await disks.mount(serial);
  const hashes = (): Promise<string[]> => Promise.all(serials.map((serial) => disks.hash(serial)));
  const before = await hashes();
  const healths = async () =>
    (await lab.cloud.client.adminNodeSlotList({ params, query: {} })).items.map(({ health }) => health);
  await eventually(
    'no slot is schedulable',
    async () => (await healths()).every((health) => health === 'unhealthy') || undefined,
    180_000,
  );
  // An operator who does not trust the alert: the agent refuses all the same.
  const source = { ...params, source: 'node-agent' };
  await lab.cloud.client.adminNodeHealthOverridePut({
    params: source,
    body: {
      ...{ mode: 'merge', alerts: [], muted_alert_ids: ['disk_in_use'] },
      ...{ expires_at: null, reason: 'The test.' },
    },
  });
  const { id } = await launch('mounted');
  const failed = await failsAt(id, 'slice.bundle_lease');
  assert.match(failed.state_reason ?? '', /mounted at .*; free it: the agent never unmounts/);
  await becomes(id, 'cleanup_blocked');
  assert.deepEqual(await hashes(), before);
  for (const serial of serials) disks.unmount(serial);
  await lab.cloud.client.adminNodeHealthOverrideDelete({ params: source });
  await cleanAgain(id);
  const { is_clean } = await lab.cloud.client.adminInvariantCheck({});
  assert.equal(is_clean, true);
});
