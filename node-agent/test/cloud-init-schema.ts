/**
 * The schema of cloud-init itself for a cloud-config, from Debian's package. The package is unpacked and not installed:
 * it would reconfigure the computer at its next boot. Cached with the built images.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const CACHE = process.env['GPUAAS_IMAGE_CACHE'] ?? '/var/cache/gpuaas-images';
const KEPT = join(CACHE, 'cloud-init-schema.json');
const INSIDE = './usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json';

const find = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
};

/** The schema, or null if the package is not available: no Debian, no network, no write permission. */
export const debianSchema = (): string | null => {
  const kept = find(KEPT);
  if (kept !== null) return kept;
  try {
    mkdirSync(CACHE, { recursive: true });
    const folder = mkdtempSync(join(CACHE, 'making-'));
    try {
      spawnSync('apt-get', ['-qq', 'download', 'cloud-init'], { cwd: folder });
      const [file] = readdirSync(folder);
      if (file === undefined) return null;
      const unpack = `dpkg-deb --fsys-tarfile "$1" | tar --extract "$2"`;
      spawnSync('sh', ['-c', unpack, 'sh', file, INSIDE], { cwd: folder });
      renameSync(join(folder, INSIDE), KEPT);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  } catch {
    return null;
  }
  return find(KEPT);
};
