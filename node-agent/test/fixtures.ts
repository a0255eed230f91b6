/**
 * Recordings of third-party hosts. Their licenses keep them out of this repository, so a test that reads one is skipped
 * if they are missing: GPUAAS_FIXTURES is their directory, and the project's own recordings cover the same cases.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = process.env['GPUAAS_FIXTURES'] ?? fileURLToPath(new URL('../../../shared/fixtures', import.meta.url));

/** False if it exists, else why not: the `skip` value for node:test. */
export const requiresFixture = (path: string): string | false =>
  existsSync(join(FOLDER, path)) ? false : `recordings: ${path} is not there (set GPUAAS_FIXTURES)`;

export const fixturePath = (path: string): string => join(FOLDER, path);
export const readFixture = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');

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
