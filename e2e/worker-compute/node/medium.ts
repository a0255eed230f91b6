/**
 * What an operator brings to a new node: the shipped agent bundle with its install script and unit, Node.js, and the
 * kernel that guests of this tier boot. It becomes a read-only disk of the node.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TinyGuest } from '../../../node-agent/test/tiny-guest.ts';
import { bundleAgent } from '../../../tools/bundle-agent.ts';

const REPO = fileURLToPath(new URL('../../..', import.meta.url));

const put = (from: string, to: string): void => {
  try {
    linkSync(from, to);
  } catch {
    // On another file system.
    copyFileSync(from, to);
  }
};

export const makeMedium = async (dir: string, guest: TinyGuest): Promise<void> => {
  mkdirSync(dir, { recursive: true });
  await bundleAgent(dir);
  for (const file of ['node-agent/install.sh', 'node-agent/launch.sh', 'infra/systemd/gpuaas-node-agent.service'])
    put(join(REPO, file), join(dir, file.split('/').at(-1) ?? ''));
  put(process.execPath, join(dir, 'node'));
  put(guest.kernel, join(dir, 'vmlinuz'));
  put(guest.initrd, join(dir, 'initrd'));
};

/** The directory of the node's disk, built if its recipe was not built before. */
export const nodeImage = (): string =>
  execFileSync(join(REPO, 'build/node-image/build.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    .trim()
    .split('\n')
    .at(-1) ?? '';
