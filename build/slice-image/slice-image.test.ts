import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createImageSource } from '../../node-agent/src/host/linux/image-source.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const script = (name: string): string => join(HERE, name);

/** Programs of a guest, as it would find them, and nothing else. */
const readiness = (folder: string, checks: string, programs: Readonly<Record<string, string>>) => {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, body] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'readiness'), readFileSync(script('readiness.sh')), { mode: 0o755 });
  writeFileSync(join(folder, 'checks'), checks);
  return spawnSync('sh', [join(folder, 'readiness')], { encoding: 'utf8', env: { PATH: `${bin}:/usr/bin:/bin` } });
};

test('agents find a published image by the digest of its bytes, and other bytes are refused', async (context) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-publish-'));
  context.after(() => rmSync(dir, { recursive: true }));
  const bytes = randomBytes(4096);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const built = join(dir, 'built');
  const folder = join(dir, 'folder');
  mkdirSync(built);
  writeFileSync(join(built, 'disk.qcow2'), bytes);
  const entry = { name: 'debian-12-base', digest, format: 'qcow2', size_bytes: bytes.length };
  writeFileSync(join(built, 'catalog.json'), JSON.stringify(entry, null, 2));
  for (let times = 0; times < 2; times++) execFileSync(script('publish.sh'), [folder, built]);
  const source = createImageSource(folder);
  const found = await source.find({ name: 'debian-12-base', digest });
  assert.deepEqual(found, entry);
  const read: Uint8Array[] = [];
  for await (const chunk of source.open(found)) read.push(chunk);
  assert.deepEqual(Buffer.concat(read), bytes);
  writeFileSync(join(built, 'disk.qcow2'), 'other');
  assert.notEqual(spawnSync(script('publish.sh'), [folder, built]).status, 0);
  assert.deepEqual(readdirSync(join(folder, 'blobs/sha256')).length, 2);
});

test('all checks run, and each reports whether it holds and why not', (context) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-ready-'));
  context.after(() => rmSync(dir, { recursive: true }));
  const absent = 'case "$*" in *ssh_host*) exit 0 ;; *) exit 2 ;; esac';
  const base = { 'cloud-init': 'true', ls: absent, lspci: 'true' };
  const judge = (name: string, checks: string, more: Readonly<Record<string, string>>) => {
    const { status, stdout } = readiness(join(dir, name), checks, { ...base, ...more });
    return [status, ...stdout.trim().split('\n')];
  };
  const plain = 'host_name ssh_host_key cloud_init no_cuda';
  const cuda = 'cuda_compiler cuda_compile gpu_driver';
  assert.deepEqual(judge('base', plain, {}), [0, ...plain.split(' ').map((name) => `ok ${name}`)]);
  assert.deepEqual(judge('with', 'no_cuda host_name', { nvcc: 'true' }), [
    1,
    'not ok no_cuda: nvcc is there',
    'ok host_name',
  ]);
  const device = { lspci: 'echo 10de:2335' };
  const good = { nvcc: 'true', 'nvidia-smi': 'true', ...device };
  assert.deepEqual(judge('good', cuda, good), [0, ...cuda.split(' ').map((name) => `ok ${name}`)]);
  assert.deepEqual(judge('bad', cuda, { nvcc: 'echo no ptxas >&2; exit 1', 'nvidia-smi': 'exit 9', ...device }), [
    1,
    'not ok cuda_compiler: nvcc does not run',
    'not ok cuda_compile: a program does not compile: no ptxas',
    'not ok gpu_driver: nvidia-smi does not answer',
  ]);
  assert.deepEqual(judge('none', 'gpu_driver rocm', { ...good, lspci: 'true' }), [
    1,
    'not ok gpu_driver: no NVIDIA device is on the bus',
    'not ok rocm: this image knows no such check',
  ]);
});
