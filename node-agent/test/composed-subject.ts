/**
 * The composed host as the contract suite takes it. Libvirt, QEMU, switch and disks are started once for all cases; after
 * each case VMs, ports, users, images and everything on the disks are removed, and the simulated devices are made again.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARRANGEMENTS, hostUnderTest, PARTS, type Subject } from '../src/host/contract/subject.ts';
import type { Host } from '../src/host/host.ts';
import { addFault } from '../src/host/sim/fault.ts';
import { type AccountLab, startAccountLab } from './account-lab.ts';
import { type ComposedHost, composedHostLacks, makeComposedHost, TINY_IMAGE } from './composed-host.ts';
import { bootIdFile, openComposedHost } from './composed-open.ts';
import { fillCache } from './loop-host.ts';
import { tinyGuest } from './tiny-guest.ts';

const CAPABILITIES = { parts: PARTS, slots: 2, arrange: ARRANGEMENTS } as const;
const SMALL = { vcpu_count: 1, memory_mib: 256, cpuset: '0' };

type Shared = Readonly<{ lab: ComposedHost; accounts: AccountLab }>;
let shared: Shared | undefined;

export const closeComposedHost = async (): Promise<void> => {
  await shared?.accounts.close();
  await shared?.lab.close();
  shared = undefined;
};

const foreignXml = (name: string): string => `<domain type='qemu'><name>${name}</name><memory unit='MiB'>16</memory>
<vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><video><model type='none'/></video></devices></domain>`;

/** Through the serial console, which has a root shell. */
const typeInto = async (host: Host, name: string, command: string): Promise<void> => {
  const line = await host.access?.serial(name);
  if (line === undefined) throw new Error(`${name} has no serial console`);
  let shown = '';
  await line.write(Buffer.from(`\r\n${command}; echo "done: $((40 + 2))"\r\n`));
  while (!shown.includes('done: 42')) shown += String((await once(line.output, 'data'))[0]);
  line.close();
};

const foreign = async ({ libvirt }: ComposedHost, name: string): Promise<void> => {
  const file = join(libvirt.folder, `${name}.xml`);
  await writeFile(file, foreignXml(name));
  await libvirt.virsh('create', file);
};

const running = async (host: Host): Promise<readonly string[]> =>
  (await host.hypervisor.list()).flatMap((one) =>
    one.allocation_id !== null && one.state === 'running' ? one.name : [],
  );

const clear = async (
  { lab, accounts }: Shared,
  host: Host,
  undo: readonly (() => Promise<unknown>)[],
): Promise<void> => {
  for (const step of undo.toReversed()) await step();
  for (const { name, allocation_id, state } of await host.hypervisor.list())
    if (allocation_id === null) await lab.libvirt.virsh('destroy', name);
    else {
      if (state === 'running') await host.hypervisor.stop(name, 0);
      await host.hypervisor.remove(name);
    }
  for (const port of await host.network.ports()) await host.network.detach(port);
  for (const { digest } of await host.images.list()) await host.images.evict(digest);
  if ((await accounts.run({ argv: ['id', 'tenant-a'], recorded: 'none' })).status === 0)
    await host.system.removeUser('tenant-a');
  await lab.loop.disks.release();
  for (const { disk } of lab.loop.slots) {
    const open = await host.disks.open(disk);
    await open.wipe('blkdiscard');
    await open.close();
  }
  await rm(join(lab.spec.dir, 'sim'), { recursive: true, force: true });
};

const makeComposedSubject = async (): Promise<Subject<typeof CAPABILITIES>> => {
  shared ??= {
    lab: await makeComposedHost({ disk_bytes: statSync(tinyGuest().image).size, hypervisor: { reboot_grace_s: 20 } }),
    accounts: await startAccountLab(),
  };
  const made = shared;
  const { lab, accounts } = made;
  const { disks, cache, slots } = lab.loop;
  const host = openComposedHost(lab.spec, undefined, accounts.run);
  const sim = join(lab.spec.dir, 'sim');
  const undo: (() => Promise<unknown>)[] = [];
  return {
    host,
    image: TINY_IMAGE,
    machine: SMALL,
    boot_kind: 'kernel',
    slots,
    arrange: {
      mount: disks.mount,
      hold: disks.hold,
      write: disks.write,
      widenReset: async (address) => void addFault(sim, { state: 'reset_reaches_neighbours', address }),
      dropOffBus: async (address) => void addFault(sim, { state: 'gpu_off_the_bus', address }),
      restartFabricManager: async () => void addFault(sim, { state: 'fabric_manager_restarted' }),
      foreignDomain: (name) => foreign(lab, name),
      ignoreShutdown: async () => {
        for (const name of await running(host)) await typeInto(host, name, 'killall acpid');
      },
      fillImageCache: async () => void undo.push(fillCache(cache)),
      openSession: accounts.openSession,
      removeBootKernel: async () => {
        const kernel = lab.config.boot.kernel?.kernel ?? '';
        await rename(kernel, `${kernel}.away`);
        undo.push(() => rename(`${kernel}.away`, kernel));
      },
      reboot: async () => {
        const [one, other] = slots.map(({ disk }) => disk.serial);
        if (one === undefined || other === undefined) throw new Error('the host has two disks');
        await disks.rename(one, other);
        await lab.libvirt.reboot();
        await writeFile(bootIdFile(lab.spec.dir), randomUUID());
      },
    },
    close: () => clear(made, host, undo),
  };
};

export const composedHost = hostUnderTest({
  name: 'linux with libvirt, switch, disks and users of its own',
  kind: 'linux',
  capabilities: CAPABILITIES,
  // No test computer has passthrough devices. linux.test.ts and fabric-act.test.ts run the Linux code of these parts.
  simulated: ['pci', 'pci.bind', 'pci.reset', 'network', 'fabric', 'gpu'],
  missing: composedHostLacks(),
  make: makeComposedSubject,
});
