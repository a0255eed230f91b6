/**
 * Requirements of a test on its environment, in one vocabulary, so that every skip names its reason the same way:
 *
 * test('…', { skip: requires('nats-server') }, …)
 *
 * `make test` installs the Debian packages of packages.txt when it may, so on CI these are there.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { missingKeycloak } from './keycloak.ts';

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Daemons are in sbin directories that an ordinary user's PATH omits. */
export const findProgram = (...names: readonly string[]): string | undefined => {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...SYSTEM_FOLDERS];
  for (const name of names)
    for (const folder of folders) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Not in this directory.
      }
    }
  return undefined;
};

/** The shell without windows takes the least processor time; the others behave the same in tests. */
export const findBrowser = (): string | undefined =>
  findProgram('chromium-headless-shell', 'chromium', 'chromium-browser');

const NEEDS = {
  root: () => (process.getuid?.() === 0 ? false : 'root: it changes the system and must run as root'),
  loop: () =>
    process.getuid?.() !== 0
      ? 'root: loop devices need root'
      : existsSync('/dev/loop-control')
        ? false
        : 'loop: this kernel has no loop devices',
  'qemu-img': () => (findProgram('qemu-img') ? false : 'qemu-img: not installed (Debian: qemu-utils)'),
  sgdisk: () => (findProgram('sgdisk') ? false : 'sgdisk: not installed (Debian: gdisk)'),
  'nats-server': () => (findProgram('nats-server') ? false : 'nats-server: not installed (Debian: nats-server)'),
  chromium: () => (findBrowser() ? false : 'chromium: not installed (Debian: chromium-headless-shell)'),
  pgbench: () => {
    // Debian's /usr/bin/pgbench only looks for the pgbench of an installed server.
    const tried = spawnSync('pgbench', ['--version']);
    return tried.status === 0 ? false : 'pgbench: not installed (Debian: postgresql-contrib)';
  },
  promtool: () => (findProgram('promtool') ? false : 'promtool: not installed (Debian: prometheus)'),
  'ovs-vswitchd': () =>
    findProgram('ovs-vswitchd') ? false : 'ovs-vswitchd: not installed (Debian: openvswitch-switch)',
  dnsmasq: () => (findProgram('dnsmasq') ? false : 'dnsmasq: not installed (Debian: dnsmasq-base)'),
  nft: () => (findProgram('nft') ? false : 'nft: not installed (Debian: nftables)'),
  conntrack: () => (findProgram('conntrack') ? false : 'conntrack: not installed (Debian: conntrack)'),
  busybox: () => (findProgram('busybox') ? false : 'busybox: not installed (Debian: busybox-static)'),
  ethtool: () => (findProgram('ethtool') ? false : 'ethtool: not installed (Debian: ethtool)'),
  python3: () => (existsSync('/usr/bin/python3') ? false : 'python3: not installed (Debian: python3-minimal)'),
  netns: () => {
    const tried = spawnSync('unshare', ['--net', 'ip', 'tuntap', 'add', 'dev', 'try0', 'mode', 'tap']);
    return tried.status === 0 ? false : 'netns: this kernel or user cannot make network namespaces with tap devices';
  },
  qemu: () => (findProgram('qemu-system-x86_64') ? false : 'qemu: not installed (Debian: qemu-system-x86)'),
  libvirtd: () => {
    if (findProgram('libvirtd') === undefined)
      return 'libvirtd: not installed (Debian: libvirt-daemon-system, libvirt-daemon-driver-qemu)';
    return findProgram('virsh') ? false : 'virsh: not installed (Debian: libvirt-clients)';
  },
  dropbear: () => (findProgram('dropbear') ? false : 'dropbear: not installed (Debian: dropbear-bin)'),
  mtools: () => (findProgram('mcopy') ? false : 'mtools: not installed (Debian: mtools, dosfstools)'),
  mmdebstrap: () => (findProgram('mmdebstrap') ? false : 'mmdebstrap: not installed (Debian: mmdebstrap)'),
  ssh: () => (findProgram('ssh') ? false : 'ssh: not installed (Debian: openssh-client)'),
  'sftp-server': () =>
    existsSync('/usr/lib/openssh/sftp-server') ? false : 'sftp-server: not installed (Debian: openssh-sftp-server)',
  script: () => (findProgram('script') ? false : 'script: not installed (Debian: bsdutils)'),
  'libvirt-schemas': () =>
    existsSync('/usr/share/libvirt/schemas')
      ? false
      : 'libvirt-schemas: /usr/share/libvirt/schemas is missing (Debian: libvirt0)',
  rsync: () => (findProgram('rsync') ? false : 'rsync: not installed (Debian: rsync)'),
  bsdtar: () => (findProgram('bsdtar') ? false : 'bsdtar: not installed (Debian: libarchive-tools)'),
  mke2fs: () => (findProgram('mke2fs') ? false : 'mke2fs: not installed (Debian: e2fsprogs)'),
  history: () => {
    const asked = spawnSync('git', ['rev-parse', '--is-shallow-repository'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    });
    return asked.stdout.trim() === 'true' ? 'history: this clone is shallow (git fetch --unshallow)' : false;
  },
  keycloak: missingKeycloak,
  gpu: () => (existsSync('/dev/nvidiactl') ? false : 'gpu: this machine has no NVIDIA GPU'),
} as const satisfies Record<string, () => string | false>;

/**
 * Recordings of third-party hosts. Their licenses keep them out of this repository: GPUAAS_FIXTURES is their directory,
 * and the project's own recordings cover the same cases.
 */
export const RECORDINGS = process.env['GPUAAS_FIXTURES'] ?? join(import.meta.dirname, '../../../shared/fixtures');

/** False if the recording exists, else why not. */
export const requiresRecording = (path: string): string | false =>
  existsSync(join(RECORDINGS, path)) ? false : `recordings: ${path} is not there (set GPUAAS_FIXTURES)`;

export type Need = keyof typeof NEEDS;

/** False when all requirements are met, otherwise the reason: the value for `skip` of node:test. */
export const requires = (...needs: readonly Need[]): string | false => {
  for (const need of needs) {
    const reason = NEEDS[need]();
    if (reason !== false) return reason;
  }
  return false;
};
