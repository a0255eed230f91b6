/** Slurm as packaged by Debian, installed here when possible. */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const PACKAGES = ['slurmctld', 'slurm-client', 'munge', 'libslurm-dev', 'gcc', 'libc6-dev'];
const FILES = [
  '/usr/sbin/slurmctld',
  '/usr/bin/scontrol',
  '/usr/sbin/munged',
  '/usr/include/slurm/slurm.h',
  '/usr/bin/gcc',
];
const VERSION = /^slurm-wlm 22\.05\./;

const isInstalled = async (): Promise<boolean> => {
  const found = await Promise.allSettled(FILES.map((file) => access(file)));
  return found.every(({ status }) => status === 'fulfilled');
};

const apt = (...args: readonly string[]): Promise<unknown> =>
  run('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=600', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });

/** The package lists may be missing or old; then they are updated once and the installation is retried. */
const install = async (): Promise<void> => {
  const packages = ['install', '-y', '--no-install-recommends', ...PACKAGES];
  try {
    await apt(...packages);
  } catch {
    await apt('update');
    await apt(...packages);
  }
};

const findLack = async (): Promise<string | false> => {
  // Its controller and its clients run as root here: it authenticates them by munge only.
  if (process.getuid?.() !== 0) return 'root: Slurm is installed and run as root';
  const list = PACKAGES.join(', ');
  try {
    if (!(await isInstalled())) await install();
  } catch {
    return `slurm: could not be installed (Debian: ${list})`;
  }
  const { stdout } = await run('/usr/sbin/slurmctld', ['-V']);
  return VERSION.test(stdout) ? false : `slurm: needs version 22.05, as in Debian 12; this is ${stdout.trim()}`;
};

/** The missing requirement of a comparison with Slurm; installed here when possible, once for all its parts. */
let lack: Promise<string | false> | undefined;
export const lacksSlurm = (): Promise<string | false> => {
  lack ??= findLack();
  return lack;
};
