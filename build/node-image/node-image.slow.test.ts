/** The disk of a GPU node as it is built. The node tier boots it, and finds it built. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeImage } from '../../e2e/worker-compute/node/medium.ts';
import { requires } from '../../tools/test/requires.ts';

const timeout = 20 * 60_000;

test('the disk of a node is built with its kernel, and once', {
  skip: requires('root', 'mmdebstrap', 'mke2fs'),
  timeout,
}, () => {
  const folder = nodeImage();
  const builtAt = () =>
    ['root.raw', 'vmlinuz', 'initrd'].map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      assert.ok(size > 0, name);
      return mtimeMs;
    });
  const first = builtAt();
  assert.equal(nodeImage(), folder);
  assert.deepEqual(builtAt(), first);
});
