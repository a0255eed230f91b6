/** A directory that images are pulled from, and images with known content. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const run = (file: string, ...args: readonly string[]): void => void execFileSync(file, args, { stdio: 'pipe' });

/** As on a disk with an operating system: a partition table at both ends and a file system between them. */
export const makeRaw = async (path: string, sizeBytes: number): Promise<void> => {
  const part = `${path}.part`;
  await writeFile(path, '');
  await truncate(path, sizeBytes);
  run('sgdisk', '--new=1:2048:0', path);
  await writeFile(part, '');
  await truncate(part, sizeBytes - 2 * 1024 ** 2);
  run('mke2fs', '-q', '-F', '-t', 'ext4', part);
  run('dd', `if=${part}`, `of=${path}`, 'bs=1M', 'seek=1', 'conv=notrunc,sparse', 'status=none');
  await rm(part);
};

const hashFile = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

type Listed = { name: string; digest: string; format: string; size_bytes: number };

/** Puts a file into the directory; its entry can be made to differ from the file. */
export const putFile = async (folder: string, file: string, said: Partial<Listed> = {}): Promise<Listed> => {
  const blobs = join(folder, 'blobs', 'sha256');
  const digest = said.digest ?? `sha256:${await hashFile(file)}`;
  const entry = { name: 'image', format: 'raw', size_bytes: (await stat(file)).size, ...said, digest };
  await mkdir(blobs, { recursive: true });
  await copyFile(file, join(blobs, digest.slice('sha256:'.length)));
  const index = join(folder, 'index.json');
  const before = JSON.parse(await readFile(index, 'utf8').catch(() => '{"images":[]}')) as { images: Listed[] };
  await writeFile(`${index}.new`, JSON.stringify({ images: [...before.images, entry] }));
  await rename(`${index}.new`, index);
  return entry;
};

export const putImage = async (
  folder: string,
  { name, size_bytes, format = 'raw' }: Readonly<{ name: string; size_bytes: number; format?: 'raw' | 'qcow2' }>,
): Promise<Listed> => {
  await mkdir(folder, { recursive: true });
  const raw = join(folder, `${name}.raw`);
  const file = format === 'raw' ? raw : join(folder, `${name}.qcow2`);
  await makeRaw(raw, size_bytes);
  if (format === 'qcow2') run('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', raw, file);
  const entry = await putFile(folder, file, { name, format });
  await rm(raw);
  if (file !== raw) await rm(file);
  return entry;
};
