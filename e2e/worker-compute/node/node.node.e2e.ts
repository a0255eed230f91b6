/**
 * The lifecycle of slices on a GPU node with only the hardware emulated: a VM with systemd, libvirt, an Open vSwitch in
 * the kernel, an IOMMU and NVMe disks, the agent installed by its own script, and the control plane as processes beside
 * it. The tests share one node and run in order; each continues from the state of the one before.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pause } from '@gpuaas/kit';
import type { Allocation } from '@gpuaas/sdk';
import { Client as SqlClient } from 'pg';
import { putFile } from '../../../node-agent/test/image-folder.ts';
import { tinyGuest } from '../../../node-agent/test/tiny-guest.ts';
import { emptyDatabase } from '../../../server/test/database.ts';
import { requires } from '../../../tools/test/requires.ts';
import { type Platform, startPlatform } from '../../sim/platform.ts';
import { failureReport } from '../../story.ts';
import { addToCatalog, IMAGE, SKU } from './catalog.ts';
import { type ImageServer, serveFolder } from './image-server.ts';
import { makeMedium, nodeImage } from './medium.ts';
import { FABRIC_ID, GPU_ID, type NodeVm, OUTSIDE, serialOf, startNodeVm } from './node-vm.ts';

/** Only ends the test of a broken node: not a measurement. */
const PATIENCE_MS = 900_000;
/** The node needs the CPU more than the test does. */
const LOOK_MS = 500;
const HONEST = 0;
const LIAR = 3;

const skip = requires(
  'root',
  'qemu',
  'qemu-img',
  'mmdebstrap',
  'mke2fs',
  'sgdisk',
  'mtools',
  'dropbear',
  'busybox',
  'ssh',
);
const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-node-'));
const cleanups: (() => unknown)[] = [];

let platform: Platform;
let sql: SqlClient;
let vm: NodeVm;
let store: ImageServer;
let project_id: string;
let node_id: string;
let ssh_key_id: string;
const tenantKey = join(scratch, 'tenant');
const running = new Map<string, Allocation>();

before(
  async () => {
    if (skip !== false) return;
    const guest = tinyGuest();
    const image = nodeImage();
    const images = join(scratch, 'images');
    mkdirSync(images);
    const qcow2 = join(scratch, 'tiny.qcow2');
    execFileSync('qemu-img', ['convert', '-q', '-c', '-f', 'raw', '-O', 'qcow2', guest.image, qcow2]);
    const entry = await putFile(images, qcow2, { name: IMAGE, format: 'qcow2' });
    store = await serveFolder(images);
    cleanups.push(() => store.close());

    const medium = join(scratch, 'medium');
    await makeMedium(medium, guest);
    const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
    const names = `${OUTSIDE},localhost,127.0.0.1`;
    const booting = startNodeVm({ image, medium, dir: join(scratch, 'vm'), lying_slot: LIAR });
    cleanups.push(async () => (await booting).close());
    platform = await startPlatform({ database_url, dir: scratch, env: { GPUAAS_NODE_API_NAMES: names } });
    cleanups.push(() => platform.stop());
    await addToCatalog(platform.client, entry);
    sql = new SqlClient({ connectionString: database_url });
    await sql.connect();
    cleanups.push(() => sql.end());
    project_id = (await platform.client.meGet()).projects[0]?.id ?? '';
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'tenant', '-f', tenantKey]);
    const public_key = readFileSync(`${tenantKey}.pub`, 'utf8').trim();
    ssh_key_id = (await platform.client.sshKeyCreate({ body: { name: 'tenant', public_key } })).id;
    vm = await booting;
  },
  { timeout: 900_000 },
);

after(async () => {
  // In reverse order: what was started last may need what was started first.
  for (const clean of cleanups.toReversed()) await Promise.resolve(clean()).catch(() => undefined);
  rmSync(scratch, { recursive: true, force: true });
});

const eventually = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${PATIENCE_MS / 1000} s in vain until ${what}.`);
    await pause(LOOK_MS);
  }
};

let isBroken = false;

/** A failed test shows the logs of the node, and the tests after it are skipped. */
const story = (name: string, run: () => Promise<void>): void => {
  test(name, { skip, timeout: 1_200_000 }, async () => {
    assert.equal(isBroken, false, 'an earlier story failed');
    const startedAt = Date.now();
    try {
      await Promise.race([run(), vm.hung]);
      console.log(`${Math.round((Date.now() - startedAt) / 1000)} s: ${name}`);
    } catch (error) {
      isBroken = true;
      const said = platform.servers.map((server) => server.said().slice(-3000)).join('\n');
      const report = await failureReport(platform.client).catch(String);
      throw new Error(`${(error as Error).message}\n${report}\n${await vm.logs()}\n--- server\n${said}`, {
        cause: error,
      });
    }
  });
};

const client = () => platform.client;
const getNode = () => client().adminNodeGet({ params: { node_id } });
const slots = async () => (await client().adminNodeSlotList({ params: { node_id }, query: { limit: 20 } })).items;
const slotOf = async (allocation: string) =>
  (await slots()).find((slot) => slot.allocation_id === allocation) ?? assert.fail(`${allocation} holds no slot`);
const slotAt = async (index: number) =>
  (await slots()).find((slot) => slot.slot_index === index) ?? assert.fail(`there is no slot ${index}`);
const get = (id: string) => client().allocationGet({ params: { project_id, allocation_id: id } });

const launch = (name: string) =>
  client().allocationCreate({
    params: { project_id },
    body: {
      name,
      sku_name: SKU,
      region_name: 'us-buffalo-1',
      gpu_count: 1,
      image_name: IMAGE,
      ssh_key_ids: [ssh_key_id],
    },
  });
const release = (id: string) => client().allocationRelease({ params: { project_id, allocation_id: id }, body: {} });

const reaches = (id: string, state: Allocation['state']): Promise<Allocation> =>
  eventually(`${id} is ${state}`, async () => {
    const found = await get(id);
    const isOver = ['failed', 'released', 'release_failed'].includes(found.state);
    if (isOver && found.state !== state) assert.fail(`${id} is ${found.state}: ${found.state_reason}`);
    return found.state === state ? found : undefined;
  });

/** As its tenant, with the address from the API and the guest's own host key. */
const enter = (allocation: Allocation, command: string): Promise<string> => {
  const { ssh } = allocation;
  assert.ok(ssh !== null, `${allocation.id} does not say how it is reached`);
  const guest = { ip: ssh.address ?? '', host_key: ssh.host_key, user: ssh.username, key: tenantKey };
  return vm.enter(guest, command);
};

const driverOf = async (address: string | null): Promise<string> =>
  (await vm.sh(`basename $(readlink /sys/bus/pci/devices/${address}/driver)`)).trim();

const SETTINGS = () => `GPUAAS_NODE_IMAGE_SOURCE=http://${OUTSIDE}:${store.port}
GPUAAS_NODE_GPU_IDS=${GPU_ID}
GPUAAS_NODE_FABRIC_IDS=${FABRIC_ID}
GPUAAS_NODE_ACCELERATOR=probe
GPUAAS_NODE_HEALTH_S=45
GPUAAS_NODE_BOOT_KERNEL=/var/lib/gpuaas/boot/vmlinuz
GPUAAS_NODE_BOOT_INITRD=/var/lib/gpuaas/boot/initrd
GPUAAS_NODE_BOOT_COMMAND_LINE=${tinyGuest().command_line} mitigations=off no_timer_check
`;

story('install.sh installs the agent, which enrolls and runs under systemd', async () => {
  const { node, enrollment } = await client().adminNodeCreate({
    body: {
      name: 'node-under-test',
      region_name: 'us-buffalo-1',
      gpu_model: 'edu',
      gpu_count: 4,
      capacity_mode: 'slice',
    },
  });
  node_id = node.id;
  await vm.sh(`
    mkdir -p /media/medium /opt/node /var/lib/gpuaas/boot /etc/gpuaas
    mount -o ro /dev/vdb /media/medium
    cp /media/medium/node /opt/node/node
    cp /media/medium/vmlinuz /media/medium/initrd /var/lib/gpuaas/boot/
    cat >/etc/gpuaas/node-agent.env <<'END'
${SETTINGS()}END
    echo '${enrollment.token}' | /media/medium/install.sh --bundle /media/medium/gpuaas-node-agent.mjs \\
      --node /opt/node/node --node-api-url '${enrollment.node_api_url}' --ca-sha256 '${enrollment.ca_sha256}' --token-file -
  `);
  await eventually('the platform hears of the node', async () => {
    const found = await getNode();
    return found.is_connected && found.health === 'ok' && found.state !== 'enrolling' ? found : undefined;
  });
  assert.equal((await vm.sh('systemctl show --property=NRestarts --value gpuaas-node-agent')).trim(), '0');
  assert.equal((await vm.sh('systemctl is-active gpuaas-node-agent')).trim(), 'active');
});

const discover = async () => {
  await client().adminNodeDiscoveryCreate({ params: { node_id }, body: {} });
  return eventually('the host was discovered', async () => {
    const found = await client().adminNodeDiscoveryGet({ params: { node_id } });
    if (['failed', 'expired', 'unknown'].includes(found.task.state)) assert.fail(String(found.task.state_reason));
    return found.task.state === 'completed' ? (found.map ?? undefined) : undefined;
  });
};

story('discovery finds real IOMMU groups and disks, and pairs devices behind one switch', async () => {
  const map = await discover();
  assert.deepEqual(
    map.prerequisites.filter((one) => !one.is_met),
    [],
  );
  assert.deepEqual(
    map.candidates.map(({ content }) => [content.slot_index, content.nvme_serial, content.blockers]),
    [0, 1, 2, 3].map((slot) => [slot, serialOf(slot), []]),
  );
  for (const { content } of map.candidates) {
    const [gpu, drive, vf] = (
      await vm.sh(`
        for serial in ${content.gpu_pci_address} $(basename $(readlink -f /sys/block/$(basename $(readlink -f ${content.nvme_device}))/device/device)) ${content.fabric_vf_pci_address}; do
          echo "$(cat /sys/bus/pci/devices/$serial/vendor):$(cat /sys/bus/pci/devices/$serial/device) $(basename $(readlink /sys/bus/pci/devices/$serial/iommu_group)) $(readlink -f /sys/bus/pci/devices/$serial)"
        done`)
    )
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    assert.deepEqual([gpu?.[0], vf?.[0]], ['0x1234:0x11e8', '0x1b36:0x0005']);
    assert.equal(new Set([gpu?.[1], drive?.[1], vf?.[1]]).size, 3, 'each is in a group of its own');
    for (const device of [gpu, drive, vf])
      assert.ok(
        device?.[2]?.includes(`/${content.upstream_port}/`),
        `${device?.[2]} is below ${content.upstream_port}`,
      );
  }
});

story('an operator approves two slots, one with the wipe method blkdiscard', async () => {
  const { map } = await client().adminNodeDiscoveryGet({ params: { node_id } });
  const map_hash = map?.map_hash ?? '';
  await client().adminNodeSlotApprove({ params: { node_id }, body: { map_hash, slot_indexes: [HONEST] } });
  await client().adminNodeSlotApprove({
    params: { node_id },
    body: { map_hash, slot_indexes: [LIAR], wipe_method: 'blkdiscard' },
  });
  await eventually('the first wipes are proven', async () =>
    (await slots()).every(({ status }) => status === 'available') ? true : undefined,
  );
  assert.deepEqual(
    (await slots()).map((slot) => [slot.slot_index, slot.approval, slot.wipe_outcome]),
    [HONEST, LIAR].map((index) => [index, 'approved', 'verified']),
  );
});

story('two slices start: image on a raw disk, devices on vfio-pci, a port of the kernel switch', async () => {
  const launched = await Promise.all([launch('one'), launch('two')]);
  for (const { id } of launched) {
    const allocation = await reaches(id, 'active');
    running.set((await slotOf(id)).slot_index === LIAR ? 'liar' : 'honest', allocation);
  }
  assert.equal(running.size, 2);
  for (const { id } of running.values()) {
    const slot = await slotOf(id);
    const xml = await vm.sh(
      `virsh --connect qemu:///system dumpxml $(virsh --connect qemu:///system list --name | grep -F '${id.replace('_', '-')}')`,
    );
    // The GPU alone: the region does not isolate the fabric, so its function stays on the host.
    assert.equal((xml.match(/<hostdev mode='subsystem' type='pci' managed='no'>/g) ?? []).length, 1);
    assert.match(xml, new RegExp(`<serial>${slot.nvme_serial}</serial>`));
    for (const address of [slot.gpu_pci_address, slot.fabric_vf_pci_address])
      assert.equal(await driverOf(address), 'vfio-pci');
  }
  const datapath = await vm.sh('ovs-dpctl show');
  assert.match(datapath, /system@ovs-system/);
  assert.equal((datapath.match(/port \d+: gp/g) ?? []).length, 2, datapath);
});

story(
  'a tenant enters by SSH and finds the GPU that was claimed, but not the fabric function of its slot',
  async () => {
    for (const allocation of running.values()) {
      assert.equal((await enter(allocation, 'id -un')).trim(), allocation.ssh?.username);
      const ids = await enter(
        allocation,
        'for d in /sys/bus/pci/devices/*; do echo $(cat $d/vendor):$(cat $d/device); done | tr -d "\\r" | sort | uniq -c',
      );
      const entryOf = (id: string) => `0x${id.replace(':', ':0x')}`;
      assert.match(ids, new RegExp(`^ *1 ${entryOf(GPU_ID)}$`, 'm'));
      assert.ok(!ids.includes(entryOf(FABRIC_ID)), ids);
      assert.equal(allocation.fabric.available, false);
    }
  },
);

story('a restart of the agent does not affect running VMs', async () => {
  const before = await vm.sh('virsh --connect qemu:///system list --name; pgrep -x dnsmasq');
  await vm.sh('systemctl restart gpuaas-node-agent');
  const restartedAt = Date.now();
  await eventually('the agent is back', async () =>
    Date.parse((await getNode()).last_seen_at ?? '') > restartedAt ? true : undefined,
  );
  assert.equal(await vm.sh('virsh --connect qemu:///system list --name; pgrep -x dnsmasq'), before);
});

const proofOf = async (id: string | null) => {
  const { rows } = await sql.query('select * from wipe_proofs where id = $1', [id]);
  return rows[0] ?? assert.fail(`there is no proof ${id}`);
};

story(
  'a released slice leaves a proven disk and its devices on vfio-pci, and the other slice keeps running',
  async () => {
    const honest = running.get('honest') ?? assert.fail('there is no slice on the honest drive');
    const other = running.get('liar') ?? assert.fail('there is no slice on the other drive');
    const up = await enter(other, 'cut -d. -f1 /proc/uptime');
    await release(honest.id);
    await reaches(honest.id, 'released');
    const slot = await slotAt(HONEST);
    assert.deepEqual([slot.status, slot.allocation_id], ['available', null], slot.status_reason ?? '');
    assert.ok(slot.wipe_proof_id !== null);
    const proof = await proofOf(slot.wipe_proof_id);
    assert.deepEqual([proof.method, proof.is_verified, proof.allocation_id], ['nvme_format', true, honest.id]);
    for (const address of [slot.gpu_pci_address, slot.fabric_vf_pci_address])
      assert.equal(await driverOf(address), 'vfio-pci');
    await vm.sh(`cmp -n 67108864 /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_${serialOf(HONEST)} /dev/zero`);
    const left = await vm.sh('ls /var/lib/gpuaas/slices /run/gpuaas/report; ovs-vsctl list-ports ovsbr0');
    assert.equal(left.includes(honest.id.replace('_', '-')), false, left);
    assert.ok(Number(await enter(other, 'cut -d. -f1 /proc/uptime')) >= Number(up), 'the other one did not restart');
  },
);

story(
  'a disk that reports a discard and keeps its data is detected, while the proven one is schedulable again',
  async () => {
    const { id } = running.get('liar') ?? assert.fail('there is no slice on the lying drive');
    await release(id);
    const again = await launch('three');
    await eventually('the slot is blocked', async () =>
      (await slotAt(LIAR)).status === 'cleanup_blocked' ? true : undefined,
    );
    assert.notEqual((await get(id)).state, 'released');
    const verified = await sql.query('select id from wipe_proofs where allocation_id = $1 and is_verified', [id]);
    assert.equal(verified.rowCount, 0);
    const allocation = await reaches(again.id, 'active');
    assert.equal((await slotOf(again.id)).slot_index, HONEST);
    running.set('again', allocation);
  },
);

story('after a loss of power the agent reconnects and the VM is started again unchanged', async () => {
  const allocation = running.get('again') ?? assert.fail('there is no slice');
  const { id } = allocation;
  const slot = await slotOf(id);
  await vm.reset();
  const boot = (await vm.sh('cat /proc/sys/kernel/random/boot_id')).trim();
  const now = await eventually(
    'the platform has looked at the host after its boot and started the machine again',
    async () => {
      const [{ boot_id }, found] = [await client().adminNodeInventoryGet({ params: { node_id } }), await get(id)];
      if (boot_id !== boot || found.power?.state !== 'on' || found.ssh === null) return undefined;
      // Until it is reconciled, the control plane has the earlier state.
      const names = await vm.sh('virsh --connect qemu:///system list --name');
      return names.includes(id.replace('_', '-')) ? found : undefined;
    },
  );
  // It has the same disk and therefore the same host key.
  assert.deepEqual(now.ssh, allocation.ssh);
  assert.equal((await enter(now, 'id -un')).trim(), allocation.ssh?.username);
  assert.equal((await slotOf(id)).id, slot.id, 'the claim stands');
  for (const address of [slot.gpu_pci_address, slot.fabric_vf_pci_address])
    assert.equal(await driverOf(address), 'vfio-pci');
});

story('slices that ran before and after a loss of power are released with proof', async () => {
  const { id } = running.get('again') ?? assert.fail('there is no slice');
  await release(id);
  await reaches(id, 'released');
  const slot = await slotAt(HONEST);
  assert.deepEqual([slot.status, slot.allocation_id], ['available', null], slot.status_reason ?? '');
  assert.equal((await proofOf(slot.wipe_proof_id)).allocation_id, id);
  assert.equal((await vm.sh('virsh --connect qemu:///system list --all --name')).trim(), '');
  const { is_clean, violations } = await client().adminInvariantCheck({});
  assert.deepEqual([is_clean, violations], [true, []]);
});
