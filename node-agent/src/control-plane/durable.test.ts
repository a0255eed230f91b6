import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeDurably } from './durable.ts';

test('concurrent writes of one file all succeed, and the last one wins', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-durable-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'file');
  await Promise.all(Array.from({ length: 20 }, (_, index) => writeDurably(path, `text ${index}`)));
  assert.equal(await readFile(path, 'utf8'), 'text 19');
  assert.deepEqual(await readdir(dir), ['file']);
});

test('a failed write does not block other writes', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-durable-'));
  t.after(() => rm(dir, { recursive: true }));
  const [first, second] = await Promise.allSettled([
    writeDurably(join(dir, 'file'), 'x', 'no mode' as unknown as number),
    writeDurably(join(dir, 'file'), 'y'),
  ]);
  assert.deepEqual([first?.status, second?.status], ['rejected', 'fulfilled']);
  assert.equal(await readFile(join(dir, 'file'), 'utf8'), 'y');
});
