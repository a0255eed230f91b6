/**
 * libvirt and its log daemon in their own namespaces: they see empty directories below /etc, /run and /var, a /dev with
 * the disks of the test, and the network of the test. The first process of the namespace lives as long as the test
 * holds its input, and every VM dies with it, however the test ends. Its mounts are slaves of the host's: a private copy
 * would keep a disk of another test busy that was mounted when this lab started.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type LibvirtLab = Readonly<{
  folder: string;
  connect: string;
  /** Runs inside and returns the output. */
  exec(...argv: readonly string[]): Promise<string>;
  virsh(...argv: readonly string[]): Promise<string>;
  stopLibvirt(): Promise<void>;
  startLibvirt(): Promise<void>;
  /** Every process inside ends at once, as when the host reboots; libvirt starts again without VMs. */
  reboot(): Promise<void>;
  close(): Promise<void>;
}>;

const SETUP = `set -e
exec 3<&0
mount -t tmpfs -o mode=755 dev "$lab/dev"
cd "$lab/dev"
mkdir -m 755 pts shm net vfio
mknod -m 666 null c 1 3; mknod -m 666 zero c 1 5; mknod -m 666 full c 1 7
mknod -m 666 random c 1 8; mknod -m 666 urandom c 1 9; mknod -m 666 tty c 5 0; mknod -m 666 net/tun c 10 200
[ -z "$kvm" ] || mknod -m 666 kvm c 10 232
ln -s /proc/self/fd fd; ln -s pts/ptmx ptmx
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 pts pts
[ -z "$drives" ] || cp -a "$drives/." .
cd /
umount --recursive --lazy /dev
mount --move "$lab/dev" /dev
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt /etc/libvirt
mount --bind "$lab/etc" /etc/libvirt
mount --bind "$lab/etc/nsswitch.conf" /etc/nsswitch.conf
mount -t tmpfs -o mode=755 lib /var/lib/libvirt
mount --bind "$lab/log" /var/log/libvirt
mount --bind "$lab/cache" /var/cache/libvirt
echo ready
cat <&3 >/dev/null &
wait $!
`;

/**
 * The first process of the namespace and the one that holds its input stay; the shell itself is excluded by its PID.
 */
const REBOOT = `set -e
for name in virtlogd libvirtd qemu-system-x86; do pkill -KILL -x "$name" || :; done
for name in virtlogd libvirtd qemu-system-x86; do while pgrep -x "$name" >/dev/null; do sleep 0.02; done; done
rm -rf /run/libvirt /run/*.pid
mkdir -p /run/libvirt
[ -z "$1" ] || cp -a --remove-destination "$1/." /dev
`;

const QEMU_CONF = `cgroup_controllers = [ ]
stdio_handler = "logd"
`;

export const startLibvirtLab = async (
  given: Readonly<{ network_prefix?: readonly string[]; drives?: string }> = {},
): Promise<LibvirtLab> => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-vm-'));
  // The emulator runs as its own user.
  await chmod(folder, 0o755);
  for (const name of ['dev', 'etc/qemu', 'log/qemu', 'cache', 'sock'])
    await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'etc/qemu.conf'), QEMU_CONF);
  // libvirt looks up the host's own name, and there may be no DNS server.
  await writeFile(join(folder, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files\n');
  await writeFile(join(folder, 'etc/virtlogd.conf'), 'max_size = 65536\nmax_backups = 1\n');
  await writeFile(
    join(folder, 'etc/libvirtd.conf'),
    `unix_sock_dir = "${folder}/sock"\nauth_unix_rw = "none"\nlog_outputs = "2:file:${folder}/libvirtd.log"\n`,
  );
  const [file = 'unshare', ...args] = [
    ...(given.network_prefix ?? []),
    ...['unshare', '--pid', '--fork', '--mount-proc', '--mount', '--propagation', 'slave', 'sh', '-c', SETUP],
  ];
  const holder = spawn(file, args, {
    env: { ...process.env, lab: folder, drives: given.drives ?? '', kvm: existsSync('/dev/kvm') ? 'yes' : '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    holder.stdout.on('data', (chunk: Buffer) => chunk.includes('ready') && resolve());
    holder.once('close', () => reject(new Error('the namespace of libvirt could not be made')));
  });
  const first = (await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')).trim();

  const exec = (...argv: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const into = ['--target', first, '--pid', '--mount', '--net'];
      execFile('nsenter', [...into, ...argv], { timeout: 120_000 }, (error, stdout, stderr) =>
        error === null
          ? resolve(stdout)
          : reject(new Error(`${argv.join(' ')}: ${error.signal ?? error.code} ${stderr}`)),
      );
    });
  const connect = `qemu+unix:///system?socket=${folder}/sock/libvirt-sock`;
  const virsh = (...argv: readonly string[]): Promise<string> =>
    exec('virsh', '--connect', connect, '--quiet', ...argv);
  const startLibvirt = async (): Promise<void> => {
    await exec(
      'nice',
      '-n',
      '5',
      'libvirtd',
      '--daemon',
      '--config',
      '/etc/libvirt/libvirtd.conf',
      '--pid-file',
      '/run/libvirtd.pid',
    );
    await virsh('version');
  };
  const startAll = async (): Promise<void> => {
    await exec('virtlogd', '--daemon', '--config', '/etc/libvirt/virtlogd.conf', '--pid-file', '/run/virtlogd.pid');
    await startLibvirt();
  };
  const close = async (): Promise<void> => {
    holder.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await startAll();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    folder,
    connect,
    exec,
    virsh,
    startLibvirt,
    stopLibvirt: async () => {
      await exec(
        'sh',
        '-c',
        'pid=$(cat /run/libvirtd.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done',
      );
    },
    reboot: async () => {
      await exec('sh', '-c', REBOOT, 'sh', given.drives ?? '');
      await startAll();
    },
    close,
  };
};
