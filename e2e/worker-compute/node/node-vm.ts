/**
 * A GPU node as a VM: q35 with an IOMMU, four PCIe switches, and behind each of them one NVMe disk, one device in place
 * of a GPU and one in place of a fabric function. Everything is emulated, so it needs no hardware features. From
 * inside, only the loopback of this computer is reachable, at 10.0.2.2.
 *
 * The emulator always dies with the test, and all its files are in one directory that the test removes.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { NODE_HANGS } from '../../../tools/test/emulator-fault.ts';
import { freePort } from '../../platform-control/lab.ts';

/** The loopback of this computer, as seen from the node. */
export const OUTSIDE = '10.0.2.2';
export const GPU_ID = '1234:11e8';
export const FABRIC_ID = '1b36:0005';
export const serialOf = (slot: number): string => `NODE000${slot}`;

const SLOTS = [0, 1, 2, 3];
const DRIVE_BYTES = 512 * 1024 ** 2;
const MEMORY_MIB = 3072;
/** Two-mebibyte pages for slice VMs. */
const HUGEPAGES = 512;
/**
 * The disks live as long as the emulator, so a flush need not reach the disk of this computer. There it would wait for
 * all earlier writes, such as gigabytes of images that were just built: minutes for each flush of a guest.
 */
const NO_FLUSH = 'cache=unsafe';
const COMMAND_LINE = [
  'root=/dev/vda ro console=ttyS0 quiet net.ifnames=0',
  `intel_iommu=on iommu=pt hugepages=${HUGEPAGES}`,
  // On a busy computer the emulated timer may be late for the check at boot; a panic reboots.
  'no_timer_check panic=5 nowatchdog audit=0',
  // There is no attacker inside, and each mitigation costs twice under emulation.
  'mitigations=off',
].join(' ');
const BOOT_MS = 540_000;
const LOOK_MS = 500;
const WATCH_MS = 20_000;
/** Even a busy node responds within this time. */
const RESPONSE_MS = 60_000;
const MISSES_MAX = 2;

export type Ran = Readonly<{ status: number; stdout: string; stderr: string }>;

export type NodeVm = Readonly<{
  /** Runs as root of the node and returns its output. Throws with its error output if it failed. */
  sh(script: string, timeoutMs?: number): Promise<string>;
  /** By SSH through the node to one of its guests. */
  enter(guest: Readonly<{ ip: string; host_key: string; key: string; user: string }>, command: string): Promise<string>;
  /** Power off and on again, without a shutdown. Returns when it is up. */
  reset(): Promise<void>;
  /** Never resolves; rejects when the node stops responding, so that a test does not wait in vain. */
  hung: Promise<never>;
  /** The ends of serial console and journals, for the message of a failed test. */
  logs(): Promise<string>;
  close(): Promise<void>;
}>;

export type NodeVmOptions = Readonly<{
  /** Holds root.raw, vmlinuz and initrd, as build/node-image makes them. */
  image: string;
  /** Becomes a read-only disk of the node, with the files that an operator would bring. */
  medium: string;
  dir: string;
  /** A slot whose disk reports a discard without doing it. */
  lying_slot: number;
}>;

/** One switch with three ports: switch ports keep their devices in separate IOMMU groups. */
const slotDevices = (slot: number, drive: string, discard: 'unmap' | 'ignore'): readonly string[] => {
  const chassis = slot * 8 + 1;
  const port = (index: number): string =>
    `xio3130-downstream,id=port${slot}${index},bus=switch${slot},chassis=${chassis + 1 + index},slot=${index}`;
  return [
    `pcie-root-port,id=root${slot},chassis=${chassis},slot=${slot}`,
    `x3130-upstream,id=switch${slot},bus=root${slot}`,
    port(0),
    port(1),
    port(2),
    `edu,bus=port${slot}0`,
    `nvme,id=drive${slot},serial=${serialOf(slot)},bus=port${slot}1`,
    `nvme-ns,drive=disk${slot},bus=drive${slot},nsid=1`,
    `pci-testdev,bus=port${slot}2`,
  ]
    .flatMap((device) => ['-device', device])
    .concat('-drive', `file=${drive},if=none,id=disk${slot},format=raw,discard=${discard},${NO_FLUSH}`);
};

const makeDisks = ({ image, medium, dir }: NodeVmOptions): void => {
  execFileSync('qemu-img', [
    ...['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', join(image, 'root.raw'), join(dir, 'root.qcow2')],
  ]);
  const blocks = Number(execFileSync('du', ['-sm', medium], { encoding: 'utf8' }).split('\t')[0]) + 32;
  execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', medium, join(dir, 'medium.raw'), `${blocks}M`]);
  for (const slot of SLOTS) {
    writeFileSync(join(dir, `drive${slot}.raw`), '');
    truncateSync(join(dir, `drive${slot}.raw`), DRIVE_BYTES);
  }
};

const emulatorArguments = (options: NodeVmOptions, sshPort: number, publicKey: string): readonly string[] => {
  const { image, dir } = options;
  const credential = Buffer.from(publicKey).toString('base64');
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-accel', 'tcg,thread=multi', '-machine', 'q35'],
    // A fifth level of page tables costs an emulated CPU time at every TLB miss.
    ...['-cpu', 'max,la57=off', '-smp', '2', '-m', String(MEMORY_MIB)],
    ...['-device', 'intel-iommu,intremap=on,caching-mode=on'],
    ...['-kernel', join(image, 'vmlinuz'), '-initrd', join(image, 'initrd'), '-append', COMMAND_LINE],
    ...['-drive', `file=${join(dir, 'root.qcow2')},if=virtio,${NO_FLUSH}`],
    ...['-drive', `file=${join(dir, 'medium.raw')},if=virtio,format=raw,readonly=on`],
    ...['-netdev', `user,id=net0,restrict=off,hostfwd=tcp:127.0.0.1:${sshPort}-:22`],
    ...['-device', 'virtio-net-pci,netdev=net0,romfile='],
    ...['-smbios', `type=11,value=io.systemd.credential.binary:ssh.authorized_keys.root=${credential}`],
    ...['-serial', `file:${join(dir, 'serial.log')}`, '-qmp', `unix:${join(dir, 'qmp')},server=on,wait=off`],
    ...SLOTS.flatMap((slot) =>
      slotDevices(slot, join(dir, `drive${slot}.raw`), slot === options.lying_slot ? 'ignore' : 'unmap'),
    ),
  ];
};

const run = (file: string, args: readonly string[], timeoutMs: number, input = ''): Promise<Ran> =>
  new Promise((resolve) => {
    const child = execFile(
      file,
      args,
      { timeout: timeoutMs, maxBuffer: 16 * 1024 ** 2, encoding: 'utf8' },
      (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 124;
        resolve({ status, stdout, stderr: stderr || (error?.message ?? '') });
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });

const printed = async (what: string, ran: Promise<Ran>): Promise<string> => {
  const { status, stdout, stderr } = await ran;
  if (status !== 0) throw new Error(`${what}: status ${status}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
  return stdout;
};

/** Whether the computer that runs the test was short of CPU, memory or disk. */
const machineState = (): string =>
  ['/proc/loadavg', '/proc/pressure/cpu', '/proc/pressure/io', '/proc/pressure/memory', '/proc/meminfo']
    .filter((file) => existsSync(file))
    .map((file) => {
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      const shown = file.endsWith('meminfo')
        ? lines.filter((line) => /^(MemAvail|Dirty|Writeback:)/.test(line))
        : lines;
      return `${file}: ${shown.join(' | ')}`;
    })
    .join('\n');

/** One command to the emulator's monitor. */
const commandEmulator = (socket: string, command: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const door = connect(socket);
    let said = '';
    door.on('error', reject);
    door.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if ((said.match(/"return"/g) ?? []).length < 2) return;
      door.end();
      resolve();
    });
    for (const execute of ['qmp_capabilities', command]) door.write(`${JSON.stringify({ execute })}\n`);
  });

export const startNodeVm = async (options: NodeVmOptions): Promise<NodeVm> => {
  const { dir } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  makeDisks(options);
  const key = join(dir, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'operator', '-f', key]);
  const port = await freePort();
  const argv = ['--pdeathsig', 'KILL', '--', 'qemu-system-x86_64'];
  const emulator = spawn(
    'setpriv',
    [...argv, ...emulatorArguments(options, port, readFileSync(`${key}.pub`, 'utf8'))],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  emulator.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4000);
  });

  const door = [
    ...['-i', key, '-p', String(port), '-o', 'BatchMode=yes', '-o', 'LogLevel=ERROR', '-o', 'ConnectTimeout=10'],
    ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
  ];
  const shared = ['-o', 'ControlMaster=auto', '-o', `ControlPath=${join(dir, 'ssh')}`, '-o', 'ControlPersist=yes'];
  const ssh = (script: string, timeoutMs = 300_000): Promise<Ran> =>
    run('ssh', [...shared, ...door, 'root@127.0.0.1', 'sh -eu'], timeoutMs, script);
  const sh = (script: string, timeoutMs?: number): Promise<string> =>
    printed(`on the node: ${script.slice(0, 200)}`, ssh(script, timeoutMs));

  const serial = (): string => {
    const file = join(dir, 'serial.log');
    return existsSync(file) ? readFileSync(file, 'utf8').slice(-12_000) : '';
  };
  const bootId = async (): Promise<string | undefined> => {
    const { status, stdout } = await ssh('cat /proc/sys/kernel/random/boot_id', 20_000);
    return status === 0 ? stdout.trim() : undefined;
  };
  const up = async (before?: string): Promise<void> => {
    const deadline = Date.now() + BOOT_MS;
    for (;;) {
      if (emulator.exitCode !== null || emulator.signalCode !== null)
        throw new Error(`the emulator ended: ${said}\n${serial()}`);
      const boot = await bootId();
      if (boot !== undefined && boot !== before) return;
      if (Date.now() > deadline) throw new Error(`the node did not come up:\n${said}\n${serial()}`);
      await pause(LOOK_MS);
    }
  };
  const closing = new AbortController();
  let isWatched = true;
  const watch = async (): Promise<never> => {
    for (let misses = 0; misses < MISSES_MAX; ) {
      await pause(WATCH_MS, closing.signal);
      closing.signal.throwIfAborted();
      misses = !isWatched || (await ssh('true', RESPONSE_MS)).status === 0 ? 0 : misses + 1;
    }
    throw new Error(`${NODE_HANGS}: no response over SSH, ${MISSES_MAX} times in a row.`);
  };
  const close = async (): Promise<void> => {
    closing.abort();
    await run('ssh', [...shared, ...door, '-O', 'exit', 'root@127.0.0.1'], 10_000);
    if (emulator.exitCode === null && emulator.signalCode === null) {
      const ended = once(emulator, 'exit');
      emulator.kill('SIGKILL');
      await ended;
    }
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await up();
  } catch (error) {
    await close();
    throw error;
  }
  const hung = watch();
  hung.catch(() => undefined);
  return {
    sh,
    hung,
    enter: (guest, command) => {
      const known = join(dir, `known-${guest.ip}`);
      writeFileSync(known, `${guest.ip} ${guest.host_key}\n`);
      const proxy = `ssh ${door.join(' ')} -W %h:%p root@127.0.0.1`;
      const trust = ['-o', `UserKnownHostsFile=${known}`, '-o', 'StrictHostKeyChecking=yes', '-o', 'BatchMode=yes'];
      const args = ['-i', guest.key, ...trust, '-o', `ProxyCommand=${proxy}`, `${guest.user}@${guest.ip}`, command];
      return printed(`in the guest: ${command}`, run('ssh', args, 180_000));
    },
    reset: async () => {
      const before = await bootId();
      isWatched = false;
      await commandEmulator(join(dir, 'qmp'), 'system_reset');
      await run('ssh', [...shared, ...door, '-O', 'exit', 'root@127.0.0.1'], 10_000);
      await up(before);
      isWatched = true;
    },
    logs: async () => {
      const { stdout } = await ssh(
        'cat /proc/loadavg; journalctl --no-pager --lines=60 --output=cat --unit=gpuaas-node-agent; tail -n 20 /var/log/libvirt/qemu/*.log || true',
        30_000,
      );
      return `--- machine\n${machineState()}\n--- serial\n${serial()}\n--- node\n${stdout.slice(-12_000)}\n--- emulator\n${said}`;
    },
    close,
  };
};
