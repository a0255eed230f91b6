/**
 * The tiny guest: a Debian kernel, busybox and dropbear, which takes from its seed what the control plane requires of
 * any image. It is built from packages once and cached outside the repository under the hash of its recipe.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RECIPE = ['build.sh', 'init'].map((name) => fileURLToPath(new URL(`tiny-guest/${name}`, import.meta.url)));
const CACHE = process.env['GPUAAS_IMAGE_CACHE'] ?? '/var/cache/gpuaas-images';

export type TinyGuest = Readonly<{ image: string; kernel: string; initrd: string; command_line: string }>;

export const tinyGuest = (): TinyGuest => {
  const hash = createHash('sha256');
  for (const file of RECIPE) hash.update(readFileSync(file));
  const folder = join(CACHE, `tiny-guest-${hash.digest('hex').slice(0, 16)}`);
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    const made = mkdtempSync(join(CACHE, 'making-'));
    try {
      execFileSync(RECIPE[0] ?? '', [made], { stdio: ['ignore', 'inherit', 'inherit'] });
      // The emulator runs as its own user.
      chmodSync(made, 0o755);
      renameSync(made, folder);
    } catch (error) {
      rmSync(made, { recursive: true, force: true });
      // Another process may have been first.
      if (!existsSync(folder)) throw error;
    }
  }
  return {
    image: join(folder, 'guest.raw'),
    kernel: join(folder, 'vmlinuz'),
    initrd: join(folder, 'initrd'),
    command_line: 'console=ttyS0 quiet panic=1 net.ifnames=0',
  };
};
