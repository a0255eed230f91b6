/** The image cache: a listed image is complete and matches its digest, whatever happened during the pull. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync, writeFileSync } from 'node:fs';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { putFile } from '../../../test/image-folder.ts';
import { noProgress, refuses } from '../contract/subject.ts';
import { createImages, type ImagesOptions } from './images.ts';
import { createRun } from './run.ts';

const MIB = 1024 ** 2;

const setUp = async (context: TestContext, options: Partial<ImagesOptions> = {}) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-cache-'));
  context.after(() => rm(dir, { recursive: true, force: true }));
  const [source, cache] = [join(dir, 'source'), join(dir, 'cache')];
  await mkdir(source);
  await mkdir(cache);
  const make = (more: Partial<ImagesOptions> = {}) =>
    createImages(createRun(), { dir: cache, source, ...options, ...more });
  const file = join(dir, 'image');
  return { dir, source, cache, make, images: make(), file };
};

/** Two pieces of data with a hole between them. */
const writeSparse = async (file: string, sizeBytes: number): Promise<void> => {
  await writeFile(file, randomBytes(MIB));
  await truncate(file, sizeBytes - MIB);
  await appendFile(file, randomBytes(MIB));
};

test('an image is pulled completely, stays sparse, and concurrent callers share one pull', async (context) => {
  const { source, cache, images, file } = await setUp(context);
  await writeSparse(file, 64 * MIB);
  const image = await putFile(source, file);
  const told: number[] = [];
  const pulls = await Promise.all([1, 2, 3].map(() => images.pull(image, ({ percent }) => told.push(percent))));
  for (const { verified_at, ...pulled } of pulls) {
    assert.deepEqual(pulled, { digest: image.digest, name: 'image', size_bytes: 64 * MIB });
    assert.notEqual(verified_at, undefined);
  }
  assert.equal(told.filter((percent) => percent === 100).length, 1);
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
  const blob = join(cache, image.digest.replace(':', '-'));
  assert.ok((await stat(blob)).blocks * 512 < 8 * MIB);
  execFileSync('cmp', [file, blob]);
});

test('an image with other bytes, another size or another format than declared is not kept', async (context) => {
  const { source, cache, images, file } = await setUp(context);
  await writeFile(file, randomBytes(MIB));
  const wrong = [
    { digest: `sha256:${'1'.repeat(64)}` },
    { digest: `sha256:${'2'.repeat(64)}`, size_bytes: 2 * MIB },
    { digest: `sha256:${'3'.repeat(64)}`, size_bytes: 4096 },
    { format: 'qcow2' },
  ];
  for (const said of wrong) {
    const image = await putFile(source, file, said);
    await refuses(images.pull(image, noProgress), 'bad_image');
  }
  await refuses(images.pull({ name: 'absent', digest: `sha256:${'4'.repeat(64)}` }, noProgress), 'bad_image');
  assert.deepEqual(await readdir(cache), []);
  assert.deepEqual(await images.list(), []);
});

test('an image that refers to other files or is truncated is refused before it is listed', {
  skip: requires('qemu-img'),
}, async (context) => {
  const { dir, source, cache, images, file } = await setUp(context);
  const base = join(dir, 'base.raw');
  await writeFile(base, randomBytes(MIB));
  const make = (...args: readonly string[]): void => void execFileSync('qemu-img', ['create', '-q', ...args]);
  make('-f', 'qcow2', '-F', 'raw', '-b', base, file);
  await refuses(images.pull(await putFile(source, file, { format: 'qcow2' }), noProgress), 'bad_image');
  make('-f', 'qcow2', '-o', `data_file=${join(dir, 'data.raw')},data_file_raw=on`, file, '1M');
  await refuses(images.pull(await putFile(source, file, { format: 'qcow2' }), noProgress), 'bad_image');
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', base, file]);
  const whole = await putFile(source, file, { format: 'qcow2' });
  await truncate(file, (await stat(file)).size - 512 * 1024);
  await refuses(images.pull(await putFile(source, file, { format: 'qcow2' }), noProgress), 'bad_image');
  assert.deepEqual(await readdir(cache), []);
  assert.equal((await images.pull(whole, noProgress)).digest, whole.digest);
});

test('a cache that fills up during a pull keeps nothing, and the pull succeeds with space', {
  skip: requires('root'),
}, async (context) => {
  const { source, cache, images, file } = await setUp(context);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', cache]);
  try {
    await writeFile(file, randomBytes(8 * MIB));
    const image = await putFile(source, file);
    const other = join(cache, 'other');
    /** Another process takes the space during the pull. */
    const fill = (): void => {
      if (!existsSync(other)) writeFileSync(other, randomBytes(8 * MIB));
    };
    await refuses(images.pull(image, fill), 'no_space');
    assert.deepEqual(await readdir(cache), ['other']);
    await refuses(images.pull(image, noProgress), 'no_space');
    await rm(other);
    assert.equal((await images.pull(image, noProgress)).size_bytes, 8 * MIB);
  } finally {
    execFileSync('umount', [cache]);
  }
});

test('the cache limit is enforced, and the next pull removes files left by a crash', async (context) => {
  const { source, cache, make, file } = await setUp(context);
  const images = make({ max_bytes: 3 * MIB });
  await writeFile(file, randomBytes(2 * MIB));
  const first = await putFile(source, file, { name: 'first' });
  await writeFile(file, randomBytes(2 * MIB));
  const second = await putFile(source, file, { name: 'second' });
  const hex = 'a'.repeat(64);
  for (const left of [`sha256-${hex}.partial`, `sha256-${hex}`, `sha256-${hex}.json.new`])
    await writeFile(join(cache, left), 'left');
  assert.deepEqual(await images.list(), []);
  await images.pull(first, noProgress);
  assert.equal((await readdir(cache)).length, 2);
  await refuses(images.pull(second, noProgress), 'no_space');
  assert.deepEqual(await images.evict(first.digest), { freed_bytes: 2 * MIB });
  await images.pull(second, noProgress);
  assert.deepEqual(
    (await images.list()).map(({ name }) => name),
    ['second'],
  );
});

test('a plain HTTP server serves images only by digest', async (context) => {
  const { source, make, file } = await setUp(context);
  await writeFile(file, randomBytes(3 * MIB));
  const image = await putFile(source, file);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/moved/index.json') response.writeHead(302, { location: '/images/index.json' }).end();
    else
      createReadStream(join(source, (request.url ?? '').replace('/images/', '')))
        .on('error', () => response.writeHead(404).end())
        .pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const images = make({ source: `${url}/images` });
  await refuses(images.pull({ name: image.name, digest: null }, noProgress), 'blocked');
  assert.deepEqual(asked, []);
  assert.equal((await images.pull(image, noProgress)).size_bytes, 3 * MIB);
  assert.deepEqual(asked, ['/images/index.json', `/images/blobs/sha256/${image.digest.slice(7)}`]);
  await images.evict(image.digest);
  for (const gone of [`${url}/moved`, `${url}/absent`, 'http://127.0.0.1:1/'])
    await refuses(make({ source: gone }).pull(image, noProgress), 'host_error');
});

test('a pull evicts the least recently used images, but not one requested recently', async (context) => {
  const { source, make, file } = await setUp(context);
  const at = { ms: Date.parse('2026-11-15T10:00:00Z') };
  const images = make({ max_bytes: 5 * MIB, evicts_unused: true, now: () => new Date(at.ms) });
  const names = async () => (await images.list()).map(({ name }) => name ?? '').sort();
  const imageOf = async (name: string) => {
    await writeFile(file, randomBytes(2 * MIB));
    return putFile(source, file, { name });
  };
  const [first, second, third] = [await imageOf('first'), await imageOf('second'), await imageOf('third')];
  const pull = async (image: Parameters<typeof images.pull>[0]) => {
    at.ms += 60_000;
    return images.pull(image, noProgress);
  };
  await pull(first);
  await pull(second);
  await refuses(pull(third), 'no_space');
  assert.deepEqual(await names(), ['first', 'second'], 'both are about to be used');
  at.ms += 15 * 60_000;
  await pull(first);
  await pull(third);
  assert.deepEqual(await names(), ['first', 'third']);
  await writeFile(file, randomBytes(6 * MIB));
  const large = await putFile(source, file, { name: 'large' });
  at.ms += 15 * 60_000;
  await refuses(pull(large), 'no_space');
  assert.deepEqual(await names(), ['first', 'third'], 'nothing goes for what does not fit anyway');
});

test('an image uses the space of its data, and holes use none', async (context) => {
  const { source, make, file } = await setUp(context);
  const images = make({ max_bytes: 20 * MIB, evicts_unused: true });
  await writeSparse(file, 16 * MIB);
  await images.pull(await putFile(source, file, { name: 'sparse' }), noProgress);
  await writeFile(file, randomBytes(8 * MIB));
  await images.pull(await putFile(source, file, { name: 'full' }), noProgress);
  assert.deepEqual((await images.list()).map(({ name }) => name ?? '').toSorted(), ['full', 'sparse']);
});

test('an image removed while the cache is listed is not listed', async (context) => {
  const { source, cache, images, file } = await setUp(context);
  await writeFile(file, randomBytes(MIB));
  const image = await putFile(source, file);
  await images.pull(image, noProgress);
  // As an eviction between the two reads leaves it: a name whose entry can no longer be opened.
  const going = join(cache, `sha256-${'b'.repeat(64)}`);
  await writeFile(going, 'bytes');
  await symlink('nowhere', `${going}.json`);
  assert.deepEqual(
    (await images.list()).map(({ digest }) => digest),
    [image.digest],
  );
});

test('an image is hashed again on request and dropped if it changed', async (context) => {
  const { source, cache, make, file } = await setUp(context);
  const images = make();
  await writeFile(file, randomBytes(MIB));
  const image = await putFile(source, file);
  await refuses(images.verify(image.digest), 'bad_image_cache');
  await images.pull(image, noProgress);
  assert.deepEqual(await images.verify(image.digest), { is_intact: true, size_bytes: MIB });
  const blob = join(cache, image.digest.replace(':', '-'));
  // As a failing disk does it: other bytes, and unchanged metadata.
  const { atime, mtime } = await stat(blob);
  execFileSync('chmod', ['u+w', blob]);
  const bytes = await readFile(blob);
  bytes[4096] = (bytes[4096] ?? 0) ^ 1;
  await writeFile(blob, bytes);
  await utimes(blob, atime, mtime);
  assert.deepEqual(await images.verify(image.digest), { is_intact: false, size_bytes: MIB });
  assert.deepEqual(await readdir(cache), []);
});

test('a damaged copy is removed and fetched again; only a cache that keeps nothing is the fault of the host', async (context) => {
  const { source, cache, make, images, file } = await setUp(context);
  await writeFile(file, randomBytes(MIB));
  const image = await putFile(source, file);
  const blob = join(cache, image.digest.replace(':', '-'));
  const entry = `${blob}.json`;
  const damages = [
    () => appendFile(blob, 'x'),
    () => rm(blob).then(() => symlink(file, blob)),
    () => writeFile(entry, 'no JSON'),
  ];
  await images.pull(image, noProgress);
  for (const damage of damages) {
    execFileSync('chmod', ['u+w', blob]);
    await damage();
    assert.equal((await images.pull(image, noProgress)).digest, image.digest);
    execFileSync('cmp', [file, blob]);
    await images.check(image, 2 * MIB);
  }
  execFileSync('chmod', ['u+w', blob]);
  await appendFile(blob, 'x');
  await refuses(createImages(createRun(), { dir: cache }).pull(image, noProgress), 'bad_image_cache');
  assert.deepEqual(await images.list(), []);

  // The image is fine, and its copy cannot be kept.
  await refuses(make({ dir: join(file, 'no-directory') }).pull(image, noProgress), 'bad_image_cache');
  await rm(join(source, 'blobs'), { recursive: true });
  await refuses(images.pull(image, noProgress), 'host_error');
});
