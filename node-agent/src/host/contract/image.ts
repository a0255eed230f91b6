/** The image cache and cloning. */
import assert from 'node:assert/strict';
import { contractTest, noProgress, refuses, slotAt } from './subject.ts';

export const imageTests = [
  contractTest('images', 'an image that is pulled twice is cached once', {}, async ({ host, image }) => {
    const percents: number[] = [];
    const first = await host.images.pull({ name: image, digest: null }, ({ percent }) => percents.push(percent));
    const second = await host.images.pull({ name: image, digest: first.digest }, noProgress);
    assert.deepEqual(second, first);
    assert.match(first.digest, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual([...(await host.images.list())], [first]);
    assert.deepEqual(
      percents,
      percents.toSorted((a, b) => a - b),
    );
    assert.ok(percents.every((percent) => percent >= 0 && percent <= 100));
  }),
  contractTest(
    'images',
    'an eviction frees the image size, and a second one frees nothing',
    {},
    async ({ host, image }) => {
      const { digest, size_bytes: size } = await host.images.pull({ name: image, digest: null }, noProgress);
      assert.deepEqual(await host.images.evict(digest), { freed_bytes: size });
      assert.deepEqual(await host.images.evict(digest), { freed_bytes: 0 });
      assert.deepEqual([...(await host.images.list())], []);
    },
  ),
  contractTest(
    'images',
    'a full cache refuses an image and keeps no part of it',
    { arrange: ['fillImageCache'] },
    async ({ host, image, arrange }) => {
      await arrange.fillImageCache();
      const before = await host.images.list();
      await refuses(host.images.pull({ name: image, digest: null }, noProgress), 'no_space');
      assert.deepEqual([...(await host.images.list())], [...before]);
    },
  ),
  contractTest('images', 'an image is checked against the disk size before any change', {}, async ({ host, image }) => {
    const ROOM = 1024 ** 4;
    await refuses(host.images.check({ name: image, digest: null }, ROOM), 'bad_image_cache');
    const { digest } = await host.images.pull({ name: image, digest: null }, noProgress);
    await host.images.check({ name: image, digest }, ROOM);
    await refuses(host.images.check({ name: image, digest }, 512), 'blocked');
    assert.equal((await host.images.list()).length, 1, 'it fits another drive');
  }),
  contractTest(
    'images.clone',
    'a clone writes the disk from start to end, and can be repeated',
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
  contractTest('images.clone', 'nothing is cloned to a closed disk', { slots: 1 }, async (subject) => {
    const { host, image } = subject;
    await host.images.pull({ name: image, digest: null }, noProgress);
    const disk = await host.disks.open(slotAt(subject, 0).disk);
    await disk.close();
    await refuses(host.images.clone({ name: image, digest: null }, disk, noProgress));
  }),
];
