/** Recordings of third-party hosts. A test that reads one is skipped if it is missing. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RECORDINGS, requiresRecording } from '../../tools/test/requires.ts';

export { requiresRecording as requiresFixture };

export const fixturePath = (path: string): string => join(RECORDINGS, path);
export const readFixture = (path: string): string => readFileSync(join(RECORDINGS, path), 'utf8');

/** Parts that no parser reads; leaving them out saves thousands of files. */
const UNREAD = [
  '*/power',
  '*/msi_irqs',
  '*/local_cpu*',
  '*/system/cpu',
  '*/LNXSYSTM*',
  '*/firmware',
  '*/uevent',
  '*/irq',
];

/** Links in these trees are part of the test, so they are unpacked unchanged. */
export const unpackFixture = async (path: string): Promise<Readonly<{ root: string; remove(): Promise<void> }>> => {
  const root = await mkdtemp(join(tmpdir(), 'gpuaas-fixture-'));
  const argv = ['--extract', '--file', fixturePath(path), '--directory', root, '--no-same-owner'];
  const { status, stderr } = spawnSync('tar', [...argv, ...UNREAD.map((pattern) => `--exclude=${pattern}`)]);
  if (status !== 0) throw new Error(`tar failed: ${stderr.toString('utf8').slice(0, 200)}`);
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
};
