/**
 * The lifecycle of slices on one real host, through the public API: the control plane and the agent are processes, VMs,
 * network and disks are real, and the agent is killed at critical points. The tests share a host and run in order.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Allocation } from '@gpuaas/sdk';
import { domainName } from '../../../node-agent/src/tasks/names.ts';
import { composedHostLacks } from '../../../node-agent/test/composed-host.ts';
import { METADATA, OUTSIDE } from '../../../node-agent/test/network-lab.ts';
import { eventually } from '../../sim/platform.ts';
import { createStory } from '../../story.ts';
import { PROFILE, REGION, SKU } from '../cloud.ts';
import { type HostLab, startHostLab } from './host-lab.ts';
import { countOnDrive, type Held, tracesOf } from './seen.ts';

const GPUAAS = fileURLToPath(new URL('../../../bin/gpuaas', import.meta.url));
const EVERYWHERE = ['domain', 'port', 'flows', 'rules', 'lease', 'reservation', 'seed'];
const CANARY = 'canary-of-the-first-tenant';
const SLOW_MS = 240_000;
const skip = composedHostLacks();

let lab: HostLab;
let first: Allocation;
let second: Allocation;

const test = createStory(() => lab.report());

before(async () => {
  if (skip === false) lab = await startHostLab({ slots: 3 });
});
after(() => lab?.close());

const heldBy = async (id: string): Promise<Held & Readonly<{ serial: string }>> => {
  const { mac_address, private_ip, nvme_serial } = await lab.slotOf(id);
  assert.ok(mac_address && private_ip && nvme_serial);
  return { allocation_id: id, mac_address, private_ip, serial: nvme_serial };
};
/** State that a guest OS would lose in a restart. */
const lifeOf = async (allocation: Allocation): Promise<string> =>
  (await lab.ssh(allocation, 'cat /proc/sys/kernel/random/boot_id')).trim();
const launch = (name: string): Promise<Allocation> =>
  lab.cloud.launch(name, { ssh_key_ids: [lab.key_id], image_name: lab.image.name });

test('a tenant launches with the CLI and connects with their key to the host key shown by the API', {
  skip,
}, async () => {
  const { token } = await lab.cloud.client.apiTokenCreate({
    body: { name: 'shell', scopes: ['all'], expires_in_s: 3600 },
  });
  const words = ['launch', 'first', '--sku', SKU, '--region', REGION, '--gpus', '1', '--vm-profile', PROFILE];
  const more = ['--image', lab.image.name, '--ssh-key', 'tenant', '--wait', '--json'];
  const launched = spawnSync(GPUAAS, [...words, ...more], {
    encoding: 'utf8',
    env: {
      ...process.env,
      XDG_CONFIG_HOME: join(lab.cloud.scratch, 'config'),
      GPUAAS_URL: lab.cloud.platform.url,
      GPUAAS_TOKEN: token,
    },
  });
  assert.equal(launched.status, 0, launched.stderr);
  const { id } = JSON.parse(launched.stdout) as { id: string };
  first = await lab.cloud.get(id);
  assert.equal(first.state, 'active');
  assert.ok(first.ssh);
  const at = { ip: first.ssh.address ?? '', host_key: first.ssh.host_key };
  const said = await lab.tenant.ask(at, 'id -un; hostname; exit 7');
  assert.deepEqual([said.status, said.stdout], [7, 'ubuntu\nfirst\n']);
  const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp';
  const refused = await lab.tenant.ask({ ...at, host_key: other }, 'true');
  assert.match(refused.stderr, /Host key verification failed/);
  const held = await heldBy(id);
  assert.deepEqual(await tracesOf(lab.host, held), EVERYWHERE);
  await lab.ssh(first, `printf '${CANARY}' >/state/tenant/canary; sync`);
  assert.notEqual(await countOnDrive(lab.host, held.serial, CANARY), 0);
});

test('an agent killed during a clone resumes it, and the VM is created once', { skip }, async () => {
  const clone = await lab.hold('qemu-img');
  const { id } = await launch('second');
  await clone.reached();
  await lab.agent.kill();
  await lab.putBack('qemu-img');
  await lab.agent.start();
  second = await lab.cloud.reaches(id, 'active');
  const tasks = (await lab.cloud.tasks(id)).map(({ kind, attempt, state }) => [kind, attempt, state]);
  assert.deepEqual(
    tasks,
    ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness'].map((kind) => [
      kind,
      1,
      'completed',
    ]),
  );
  assert.equal((await lab.ssh(second, 'hostname')).trim(), 'second');
  // In place of a GPU there is an edu, of a fabric function a pci-testdev: the region does not isolate the fabric.
  for (const { id, fabric, gpu_count } of [first, second]) {
    const xml = await lab.host.libvirt.virsh('dumpxml', domainName(id));
    assert.deepEqual([xml.match(/edu,id=stand-in/g)?.length, /pci-testdev/.test(xml)], [gpu_count, false]);
    assert.equal(fabric.available, false);
  }
});

test('two VMs on one host reach the internet, but not each other, the host or the metadata address', {
  skip,
}, async () => {
  const { network } = lab.host;
  await network.host.must('ip', 'addr', 'add', `${METADATA}/32`, 'dev', 'lo');
  for (const address of [network.config.gateway, '203.0.113.1', METADATA]) await network.host.serve(address);
  await network.outside.serve(OUTSIDE);
  const reaches = async (from: Allocation, ip: string, port: number): Promise<boolean> => {
    const s = ip === OUTSIDE ? 20 : 3;
    const ask = `printf 'GET /hello HTTP/1.0\\r\\n\\r\\n' | timeout ${s} nc -w ${s} ${ip} ${port}`;
    return (await lab.ssh(from, `${ask} | head -c 1 | grep -q . && echo yes || echo no`)).trim() === 'yes';
  };
  for (const [from, to] of [
    [first, second],
    [second, first],
  ] as const) {
    const places = [
      [OUTSIDE, 8080],
      [to.ssh?.address ?? '', 22],
      [network.config.gateway, 8080],
      ['203.0.113.1', 8080],
      [METADATA, 8080],
    ] as const;
    const seen = await Promise.all(places.map(([ip, port]) => reaches(from, ip, port)));
    assert.deepEqual(seen, [true, false, false, false, false], from.name);
  }
});

test('an agent and a libvirt that die find the running VMs again, and the VMs are not affected', {
  skip,
}, async () => {
  const lives = await Promise.all([first, second].map(lifeOf));
  const before = await lab.cloud.sql.query('select count(*)::int as n from node_tasks');
  await lab.agent.kill();
  await lab.host.libvirt.stopLibvirt();
  assert.deepEqual(await Promise.all([first, second].map(lifeOf)), lives);
  await lab.host.libvirt.startLibvirt();
  await lab.agent.start();
  const running = (await lab.host.libvirt.virsh('list', '--name')).split('\n').filter(Boolean).sort();
  assert.deepEqual(running, [first, second].map(({ id }) => domainName(id)).sort());
  assert.deepEqual(await Promise.all([first, second].map(lifeOf)), lives);
  const asked = await lab.cloud.sql.query(
    `select count(*)::int as n from node_tasks where kind in ('slice.bundle_lease', 'slice.image_clone', 'slice.vm_start')`,
  );
  assert.equal(asked.rows[0].n, 6, 'nothing was made again');
  assert.ok(before.rows[0].n >= 6);
});

test('a released VM is stopped, disconnected and then wiped; its neighbor keeps running', {
  skip,
}, async () => {
  const held = await heldBy(first.id);
  const life = await lifeOf(second);
  const wipe = await lab.hold('blkdiscard');
  await lab.cloud.release(first.id);
  await wipe.reached();
  // At this point the VM is unreachable, and all data of the tenant still exists.
  assert.deepEqual(await tracesOf(lab.host, held), ['domain', 'seed']);
  assert.equal((await lab.host.libvirt.virsh('domstate', domainName(first.id))).trim(), 'shut off');
  assert.notEqual(await countOnDrive(lab.host, held.serial, CANARY), 0);
  assert.equal((await lab.slotOf(first.id)).status, 'cleaning');
  await wipe.let();
  await lab.cloud.reaches(first.id, 'released');
  await lab.putBack('blkdiscard');

  assert.deepEqual(await tracesOf(lab.host, held), []);
  assert.equal(await countOnDrive(lab.host, held.serial, CANARY), 0);
  const slot = await lab.slotOf(first.id);
  assert.deepEqual([slot.status, slot.wipe_proof_id === null], ['available', false]);
  const { rows } = await lab.cloud.sql.query<{ is_verified: boolean; evidence: Record<string, unknown> }>(
    'select is_verified, evidence from wipe_proofs where allocation_id = $1',
    [first.id],
  );
  assert.deepEqual(
    rows.map(({ is_verified, evidence }) => [is_verified, evidence['serial'], evidence['bytes_not_erased']]),
    [[true, held.serial, 0]],
  );
  assert.equal(await lifeOf(second), life);
  assert.deepEqual(await tracesOf(lab.host, await heldBy(second.id)), EVERYWHERE);
});

test('an agent killed during a wipe completes its proof after the restart, and the slot is not free before', {
  skip,
}, async () => {
  const held = await heldBy(second.id);
  // Stopped outside of the platform: its release is no different.
  await lab.host.libvirt.virsh('destroy', domainName(second.id));
  const half = 32 * 1024 ** 2;
  const wipe = await lab.hold('blkdiscard', `/usr/sbin/blkdiscard --force --length ${half} /proc/self/fd/3`);
  await lab.cloud.release(second.id);
  await wipe.reached();
  await lab.agent.kill();
  await wipe.let();
  assert.equal((await lab.slotOf(second.id)).status, 'cleaning');
  await lab.putBack('blkdiscard');
  await lab.agent.start();
  await lab.cloud.reaches(second.id, 'released');
  const cleanup = await lab.cloud.task(second.id, 'slice.cleanup');
  assert.deepEqual([cleanup?.state, cleanup?.attempt], ['completed', 1]);
  assert.deepEqual(await tracesOf(lab.host, held), []);
  const slot = await lab.slotOf(second.id);
  assert.deepEqual([slot.status, slot.wipe_proof_id === null], ['available', false]);
});

test('a disk that falsely reports a wipe is detected and blocked, and free only after a real wipe', {
  skip,
}, async () => {
  const { id } = await launch('third');
  const third = await lab.cloud.reaches(id, 'active');
  await lab.ssh(third, `printf '${CANARY}' >/state/tenant/canary; sync`);
  const { serial } = await heldBy(id);
  await lab.replace('blkdiscard', 'exit 0');
  await lab.cloud.release(id);
  const failed = await lab.cloud.reaches(id, 'release_failed');
  assert.match(failed.state_reason ?? '', /could not be verified/);
  const blocked = await lab.slotOf(id);
  assert.equal(blocked.status, 'cleanup_blocked');
  assert.match(
    blocked.status_reason ?? '',
    /could not be verified\. .*Next: fix the cause, then run gpuaas admin allocation/,
  );
  assert.notEqual(await countOnDrive(lab.host, serial, CANARY), 0);
  const kept = await lab.cloud.sql.query(
    `select is_verified, (evidence ->> 'bytes_not_erased')::bigint > 0 as shows from wipe_proofs where allocation_id = $1`,
    [id],
  );
  assert.equal(kept.rows.length, 3, 'each try leaves what it saw');
  assert.ok(kept.rows.every((row) => row.is_verified === false && row.shows === true));
  const node = await lab.cloud.client.adminNodeGet({ params: { node_id: lab.node_id } });
  assert.equal(node.free_gpus, 2, 'a blocked slot is not available');

  await lab.putBack('blkdiscard');
  const body = { reason: 'The drive was given honest firmware.', runtime_verified_absent: false };
  await lab.cloud.client.adminAllocationForceCleanup({ params: { allocation_id: id }, body });
  await lab.cloud.reaches(id, 'released');
  assert.equal((await lab.slotOf(id)).status, 'available');
  assert.equal(await countOnDrive(lab.host, serial, CANARY), 0);
  const { is_clean } = await lab.cloud.client.adminInvariantCheck({});
  assert.equal(is_clean, true);
});

test('data disks are formatted and mounted, and a reinstallation that keeps them formats nothing again', {
  skip,
}, async () => {
  const { id } = await lab.cloud.launch('disks', {
    ssh_key_ids: [lab.key_id],
    image_name: lab.image.name,
    gpu_count: 2,
    storage: 'formatted',
    user_data: '#cloud-config\nruncmd:\n  - echo booted >>/data/1/boots\n',
  });
  await lab.cloud.reaches(id, 'active');
  /** The commands of the tenant run after the VM is ready. */
  const hasBooted = (times: number) =>
    eventually(
      `it has booted ${times} times with its data disk`,
      async () => {
        const text = await lab.ssh(await lab.cloud.get(id), 'grep " /data/1 " /proc/mounts; cat /data/1/boots; true');
        return /^\/dev\/\w+ \/data\/1 ext4 /.test(text) && text.split('booted').length === times + 1 ? true : undefined;
      },
      SLOW_MS,
    );
  await hasBooted(1);
  const params = { project_id: lab.cloud.project_id, allocation_id: id };
  await lab.cloud.client.allocationReinstall({ params, body: {} });
  await eventually(
    'it is reinstalled',
    async () => {
      const { power } = await lab.cloud.get(id);
      assert.equal(power?.reason, null);
      return (power?.install_number === 1 && power.state === 'on') || undefined;
    },
    SLOW_MS,
  );
  await hasBooted(2);
  await lab.cloud.release(id);
  await lab.cloud.reaches(id, 'released');
});
