/**
 * The schema that cloud-init itself judges a cloud-config by, out of Debian's package. The package is unpacked and not
 * installed: it would take over the machine at its next boot. Kept where built images are kept.
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

/** The schema, or null where no package can be had: no Debian, no network, no right to write. */
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
