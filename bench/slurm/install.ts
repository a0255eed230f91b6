/** Slurm as Debian ships it, installed on the way when that is possible. */
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

const install = async (): Promise<void> => {
  const apt = ['-qq', '-o', 'DPkg::Lock::Timeout=600', 'install', '-y', '--no-install-recommends', ...PACKAGES];
  await run('apt-get', apt, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
};

/** Why there is no Slurm to measure against; null when there is. */
export const whyNoSlurm = async (): Promise<string | null> => {
  // Its controller runs as root here, and so do its clients: it takes nobody's word for who they are but munge's.
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
