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

/** Why there is no Slurm to measure against; null when there is. */
export const whyNoSlurm = async (): Promise<string | null> => {
  // Its controller and its clients run as root here: it authenticates them by munge only.
  if (process.getuid?.() !== 0) return 'Slurm needs root';
  try {
    if (!(await isInstalled())) await install();
    const { stdout } = await run('/usr/sbin/slurmctld', ['-V']);
    return VERSION.test(stdout) ? null : `needs Slurm 22.05, this is ${stdout.trim()}`;
  } catch (error) {
    const [line] = String(error).split('\n');
    return `Slurm cannot be installed: ${line}`;
  }
};
