/**
 * VMs compared. `overhead` is a slice from its bundle lease to a shell over SSH, by the agent's own tasks with all
 * their checks, compared with a simple script: clone, seed, define, start, wait. Both install the same Debian image on
 * the same disk. `tuned` is the same guest with huge pages, a CPU of its own and the tuned network, as far as the host
 * has them, compared with one without, by the duration of work in the guest. It has no goal, because an emulated CPU
 * gains little from these settings.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, rmdir } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HYPERVISOR_DEFAULTS } from '../node-agent/src/host/linux/hypervisor-config.ts';
import { cloudInit } from '../node-agent/src/vm/cloud-init.ts';
import { writeSeed } from '../node-agent/src/vm/seed.ts';
import { composedHostLacks } from '../node-agent/test/composed-host.ts';
import { makeSliceLab, type SliceLab } from '../node-agent/test/slice-lab.ts';
import { requires } from '../tools/test/requires.ts';
import { interleave, median, round } from './pairs.ts';
import type { Bench, Measurement } from './types.ts';
import { byHand, type Image } from './vms/by-hand.ts';

const run = promisify(execFile);
const GIB = 1024 ** 3;
const SMALL = { vcpu_count: 1, memory_mib: 1024 };
const IMAGE = 'debian-12-base';
const OVERHEAD_PAIRS = 3;
const TUNED_PAIRS = 3;
const MAX_MS = 15 * 60_000;
const seconds = (ms: number): string => `${round(ms / 1000)} s`;

const lacks = (): string | false => composedHostLacks() || requires('mmdebstrap');

const imageFolder = (): string => {
  const script = fileURLToPath(new URL('../build/slice-image/build.sh', import.meta.url));
  return execFileSync(script, [IMAGE], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
};

const withLab = async <T>(hypervisor: object, measure: (lab: SliceLab, image: Image) => Promise<T>): Promise<T> => {
  const folder = imageFolder();
  const image = {
    disk: join(folder, 'disk.qcow2'),
    kernel: join(folder, 'vmlinuz'),
    initrd: join(folder, 'initrd'),
    command_line: readFileSync(join(folder, 'cmdline'), 'utf8').trim(),
  };
  const { disk, ...files } = image;
  const lab = await makeSliceLab({
    slots: 1,
    disk_bytes: 2 * GIB,
    images: [{ name: IMAGE, file: disk, format: 'qcow2' }],
    hypervisor: { boot: { ...HYPERVISOR_DEFAULTS.boot, kernel: { kind: 'kernel', ...files } }, ...hypervisor },
  });
  try {
    await lab.host.host.images.pull({ name: IMAGE, digest: null }, () => undefined);
    return await measure(lab, image);
  } finally {
    await lab.close();
  }
};

/** As the control plane does: four tasks, then the tenant's first command. */
const launch = async (lab: SliceLab): Promise<Readonly<{ ip: string; host_key: string }>> => {
  await lab.run('slice.bundle_lease', { ...lab.lease, ...SMALL });
  await lab.run('slice.image_clone', { ...lab.held, image: { name: IMAGE, digest: null } });
  await lab.run('slice.vm_start', lab.start);
  const ready = await lab.run('slice.vm_readiness', lab.held);
  const at = { ...lab.at, host_key: ready.ssh_host_key ?? '' };
  await lab.tenant.run(at, 'true');
  return at;
};

const release = async (lab: SliceLab): Promise<void> => {
  await lab.run('slice.vm_stop', { ...lab.held, grace_s: 0 });
  await lab.run('slice.cleanup', lab.held);
};

const measureOverhead = (): Promise<Measurement> =>
  withLab({}, async (lab, image) => {
    const dir = await mkdtemp(join(tmpdir(), 'gpuaas-by-hand-'));
    try {
      const hand = await byHand(lab, { ...image, ...SMALL, dir });
      const seed = cloudInit(
        {
          name: 'by-hand',
          allocation_id: lab.held.allocation_id,
          plan: { mac_address: hand.mac_address } as never,
          passes_fabric: false,
          seed: { hostname: 'by-hand', ssh_public_keys: [lab.tenant.public_key], user_data: null },
        },
        { username: 'ubuntu', accelerators: [] },
      );
      // Prerequisites of the script; creating the disk is part of the script's time.
      for (const [name, text] of Object.entries(seed)) writeFileSync(join(dir, name), text);
      writeFileSync(join(dir, 'seed.iso'), writeSeed(seed));
      const timed = async (work: () => Promise<unknown>): Promise<number> => {
        const startedAt = performance.now();
        await work();
        return performance.now() - startedAt;
      };
      const pairs = await interleave(
        async () => {
          const spent = await timed(() => launch(lab));
          await release(lab);
          return spent;
        },
        async () => {
          await hand.prepare();
          const spent = await timed(() => run('sh', ['-e', hand.script], { timeout: MAX_MS, env: hand.env }));
          await hand.remove();
          return spent;
        },
        OVERHEAD_PAIRS,
        { warm: false },
      );
      return {
        name: 'overhead',
        ratio: pairs.ratio,
        goal: '<=1.25',
        reference: `${seconds(pairs.reference)} by a script: qemu-img, virsh define, virsh start, ssh until it answers`,
        ours: `${seconds(pairs.ours)} from lease to a command over SSH, by the agent’s tasks`,
        pairs: pairs.pairs,
      };
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

/** Writes to all of the memory, then sends megabytes over the network; measured together on the host. */
const WORK =
  'dd if=/dev/zero of=/dev/shm/x bs=1M count=256 2>&1 | tail -1; sha256sum /dev/shm/x >/dev/null; rm /dev/shm/x';
const workIn = async (lab: SliceLab, at: Readonly<{ ip: string; host_key: string }>): Promise<number> => {
  const startedAt = performance.now();
  await lab.tenant.run(at, WORK, MAX_MS);
  await lab.tenant.run(at, 'head -c 750000 /dev/urandom | base64 -w 0', MAX_MS);
  return performance.now() - startedAt;
};

const PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';
/** Sets the number of huge pages of the host, restored at the end; returns the real number. */
const reserve = async (count: number): Promise<number> => {
  try {
    writeFileSync(PAGES, `${count}\n`);
    return Number(await readFile(PAGES, 'utf8'));
  } catch {
    return 0;
  }
};

/** Not below /dev: the lab's libvirt has its own /dev. */
const MOUNT = '/mnt/gpuaas-hugepages';
/** Libvirt uses the huge page file system that is mounted when it starts. Returns whether this call mounted it. */
const mountPages = async (): Promise<boolean> => {
  if ((await readFile('/proc/mounts', 'utf8')).includes(' hugetlbfs ')) return false;
  await mkdir(MOUNT, { recursive: true });
  await run('mount', ['-t', 'hugetlbfs', '-o', 'pagesize=2M', 'hugetlbfs', MOUNT]);
  return true;
};

const timesOf = (hypervisor: object): Promise<readonly number[]> =>
  withLab(hypervisor, async (lab) => {
    const at = await launch(lab);
    const times: number[] = [];
    for (let n = 0; n < TUNED_PAIRS; n++) times.push(await workIn(lab, at));
    await release(lab);
    return times;
  });

const measureTuned = async (): Promise<Measurement> => {
  const plain = await timesOf({});
  const before = Number(await readFile(PAGES, 'utf8').catch(() => '0'));
  const wanted = before + SMALL.memory_mib / 2;
  const pages = (await reserve(wanted)) - before;
  const isMounted = await mountPages();
  try {
    const isPaged = pages >= SMALL.memory_mib / 2;
    const isPinned = cpus().length > 1;
    // The first CPU is left to the host.
    const cpu = isPinned ? { host_cpus: '0', has_guest_numa: true } : {};
    const tuned = await timesOf({ ...cpu, is_network_tuned: true });
    const [ours, reference] = [median(tuned), median(plain)];
    const how = [
      isPaged ? 'huge pages' : 'no huge pages to be had here',
      isPinned ? 'a CPU of its own' : 'one CPU only',
      'the tuned network',
    ];
    return {
      name: 'tuned',
      ratio: round(ours / reference),
      goal: null,
      reference: `${seconds(reference)} of work in a plain guest`,
      ours: `${seconds(ours)} with ${how.join(', ')}; an emulated CPU where KVM is not usable`,
      pairs: TUNED_PAIRS,
    };
  } finally {
    if (isMounted) await run('umount', [MOUNT]).then(() => rmdir(MOUNT));
    await reserve(before);
  }
};

export const machineBenches: readonly Bench[] = [
  { name: 'overhead', lacks, run: measureOverhead },
  { name: 'tuned', lacks, run: measureTuned },
];
