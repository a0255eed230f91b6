/** The image cache and cloning. */
import assert from 'node:assert/strict';
import { contractTest, noProgress, refuses, slotAt } from './subject.ts';

export const imageTests = [
  contractTest('images', 'an image that is pulled twice is cached once', {}, async ({ host, image }) => {
    const told: number[] = [];
    const first = await host.images.pull({ name: image, digest: null }, ({ percent }) => told.push(percent));
    const second = await host.images.pull({ name: image, digest: first.digest }, noProgress);
    assert.deepEqual(second, first);
    assert.match(first.digest, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual([...(await host.images.list())], [first]);
    assert.deepEqual(
      told,
      told.toSorted((a, b) => a - b),
    );
    assert.ok(told.every((percent) => percent >= 0 && percent <= 100));
  }),
  contractTest('images', 'evicting frees what it took, and nothing the second time', {}, async ({ host, image }) => {
    const { digest, size_bytes: size } = await host.images.pull({ name: image, digest: null }, noProgress);
    assert.deepEqual(await host.images.evict(digest), { freed_bytes: size });
    assert.deepEqual(await host.images.evict(digest), { freed_bytes: 0 });
    assert.deepEqual([...(await host.images.list())], []);
  }),
  contractTest(
    'images',
    'a cache without room refuses and keeps nothing',
    { arrange: ['fillImageCache'] },
    async ({ host, image, arrange }) => {
      await arrange.fillImageCache();
      const before = await host.images.list();
      await refuses(host.images.pull({ name: image, digest: null }, noProgress), 'no_space');
      assert.deepEqual([...(await host.images.list())], [...before]);
    },
  ),
  contractTest(
    'images',
    'an image is judged for a drive before anything is done to it',
    {},
    async ({ host, image }) => {
      const ROOM = 1024 ** 4;
      await refuses(host.images.check({ name: image, digest: null }, ROOM), 'drift');
      const { digest } = await host.images.pull({ name: image, digest: null }, noProgress);
      await host.images.check({ name: image, digest }, ROOM);
      await refuses(host.images.check({ name: image, digest }, 512), 'blocked');
      assert.equal((await host.images.list()).length, 1, 'it fits another drive');
    },
  ),
  contractTest(
    'images.clone',
    'a clone writes the drive from its start to its end, and twice is once',
    { slots: 1 },
    async (subject) => {
      const { host, image } = subject;
      const cached = await host.images.pull({ name: image, digest: null }, noProgress);
      const disk = await host.disks.open(slotAt(subject, 0).disk);
      const edges = async () => [await disk.read(0, 4096), await disk.read(disk.size_bytes - 4096, 4096)];
      const first = await host.images.clone({ name: image, digest: cached.digest }, disk, noProgress);
      const written = await edges();
      assert.equal(first.digest, cached.digest);
      assert.ok(first.bytes_written > 0);
      assert.ok(written.every((bytes) => bytes.some((byte) => byte !== 0)));
      assert.ok((await disk.signatures()).length > 0);
      assert.deepEqual(await host.images.clone({ name: image, digest: cached.digest }, disk, noProgress), first);
      assert.deepEqual(await edges(), written);
      await disk.close();
    },
  ),
  contractTest(
    'images.clone',
    'an image that is not cached is not cloned, and nothing is written',
    { slots: 1 },
    async (subject) => {
      const { host, image } = subject;
      const disk = await host.disks.open(slotAt(subject, 0).disk);
      await refuses(host.images.clone({ name: image, digest: `sha256:${'0'.repeat(64)}` }, disk, noProgress));
      assert.deepEqual([...(await disk.signatures())], []);
      await disk.close();
    },
  ),
  contractTest('images.clone', 'nothing is cloned to a drive that was closed', { slots: 1 }, async (subject) => {
    const { host, image } = subject;
    await host.images.pull({ name: image, digest: null }, noProgress);
    const disk = await host.disks.open(slotAt(subject, 0).disk);
    await disk.close();
    await refuses(host.images.clone({ name: image, digest: null }, disk, noProgress));
  }),
];
