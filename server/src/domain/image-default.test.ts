import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ImageFacts, imageDefault, skusLosingDefault, withdrawsImage } from './image-default.ts';

const region = (region_name: string, is_available: boolean) => ({
  ...{ region_name, has_host: true, is_available, failure: null, node_name: null },
});
const IMAGE: ImageFacts = {
  ...{ name: 'debian', channel: 'stable', trust: 'verified', enabled: true },
  regions: [region('north', true), region('south', true)],
};

test('an image is the default where a host has fetched it, if it is stable, verified and in use', () => {
  assert.deepEqual(imageDefault(IMAGE), { default_regions: ['north', 'south'], default_blockers: [] });
  for (const [change, sentence] of [
    [
      { channel: 'candidate' },
      'Its channel is candidate. To change it: gpuaas admin image update debian --channel stable',
    ],
    [{ trust: 'unverified' }, 'It is unverified. Once it is tested: gpuaas admin image update debian --trust verified'],
    [{ enabled: false }, 'It has no version in use. Register one.'],
  ] as const)
    assert.deepEqual(imageDefault({ ...IMAGE, ...change }), { default_regions: [], default_blockers: [sentence] });
});

test('a region whose hosts have not fetched it states so, or why the last host could not', () => {
  const north = imageDefault({ ...IMAGE, regions: [region('north', false), region('south', true)] });
  assert.deepEqual(north.default_regions, ['south']);
  assert.deepEqual(north.default_blockers, [
    'No host in north has fetched it yet. An active host fetches it automatically. To start this yourself: gpuaas admin node image pull NODE debian',
  ]);
  const empty = { ...region('north', false), has_host: false };
  assert.deepEqual(imageDefault({ ...IMAGE, regions: [empty] }).default_blockers, [
    'north has no active host. The first one fetches it automatically. Next step: gpuaas admin setup',
  ]);
  const failed = { ...region('north', false), failure: 'The source has no image debian.', node_name: 'h1' };
  assert.deepEqual(imageDefault({ ...IMAGE, regions: [failed] }).default_blockers, [
    'h1 in north could not fetch it: The source has no image debian. Correct the image source of the host, then: gpuaas admin node image pull NODE debian',
  ]);
  const unnamed = { ...failed, node_name: null };
  assert.match(imageDefault({ ...IMAGE, regions: [unnamed] }).default_blockers.join(), /^A host in north could not/);
});

test('a failure withdraws an image only where it is about its source, not about one host', () => {
  assert.deepEqual(['bad_image', 'unsupported', 'no_space', 'bad_image_cache', null].map(withdrawsImage), [
    ...[true, true],
    ...[false, false, false],
  ]);
});

test('a SKU loses its default in a region where no other image of it is the default there', () => {
  const sku = (name: string, more: object = {}) => ({
    name,
    enabled: true,
    capacity_shape: 'gpu_slice' as const,
    ...more,
  });
  const image = (name: string, default_regions: string[], sku_names = ['s']) => ({
    ...{ name, sku_names, default_regions },
    available_regions: default_regions,
  });
  const losing = (skus: readonly ReturnType<typeof sku>[], gone: string) =>
    skusLosingDefault(
      skus,
      images,
      images.filter(({ name }) => name !== gone),
    );
  const images = [image('a', ['north', 'south']), image('b', ['north']), image('c', [], ['s', 't'])];
  assert.deepEqual(losing([sku('s'), sku('t')], 'a'), ['s'], 'b is none in the south');
  assert.deepEqual(losing([sku('s'), sku('t')], 'b'), []);
  assert.deepEqual(losing([sku('t')], 'c'), [], 'it never had one');
  assert.deepEqual(losing([sku('s', { enabled: false })], 'a'), []);
  assert.deepEqual(losing([{ ...sku('s'), capacity_shape: 'baremetal' as never }], 'a'), []);
});
