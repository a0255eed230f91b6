import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { discover } from './discover.ts';

const ROOT = fileURLToPath(new URL('../../test/recordings/h200-guest', import.meta.url));

const run = async (...argv: readonly string[]) => {
  const text = { out: '', err: '' };
  const status = await discover(argv, {
    out: (one) => {
      text.out += one;
    },
    err: (one) => {
      text.err += one;
    },
  });
  return { status, ...text };
};

test('discover prints facts, candidates and their hash from a recording as JSON', async () => {
  const { status, out } = await run('--root', ROOT, '--json', '--node-id', 'nod_02');
  assert.equal(status, 0);
  const told = JSON.parse(out) as Record<string, Record<string, unknown>>;
  assert.deepEqual(Object.keys(told), ['facts', 'map', 'map_hash']);
  assert.match(String(told['map_hash']), /^[0-9a-f]{64}$/);
  const again = await run('--root', ROOT, '--json', '--node-id', 'nod_02');
  assert.equal((JSON.parse(again.out) as Record<string, unknown>)['map_hash'], told['map_hash']);
});

test('discover prints a table within 80 columns that contains every blocker', async () => {
  const { out } = await run('--root', ROOT);
  for (const line of out.split('\n')) assert.ok(line.length <= 80, line);
  for (const word of [
    'NVIDIA H200',
    '143771 MiB',
    'nvme_missing',
    'vf_missing',
    'iommu_group_missing',
    'requires a restart',
  ])
    assert.ok(out.includes(word), word);
});

test('discover answers an invalid option with its usage and exit status 2', async () => {
  const { status, err, out } = await run('--rot', ROOT);
  assert.equal(status, 2);
  assert.match(err, /--rot[\s\S]*Usage: gpuaas-node-agent discover/);
  assert.equal(out, '');
  assert.equal((await run('--root', ROOT, '--record', '/tmp/x')).status, 2);
  assert.match((await run('--help')).out, /^Usage/);
});

test('a recording of this host reads back as the same host, without host names', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-record-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const live = await run('--record', folder, '--json');
  const again = await run('--root', folder, '--json');
  type Told = { facts: Record<string, unknown>; map: { candidates: unknown }; map_hash: string };
  const [one, two] = [live.out, again.out].map((text) => JSON.parse(text) as Told);
  assert.equal(two?.map_hash, one?.map_hash);
  for (const part of ['pci', 'iommu_groups', 'tools']) assert.deepEqual(two?.facts[part], one?.facts[part], part);
  assert.equal((await readFile(join(folder, 'proc/sys/kernel/hostname'), 'utf8')).trim(), 'recorded-host');
  assert.ok((await readdir(folder)).includes('sys'));
});
