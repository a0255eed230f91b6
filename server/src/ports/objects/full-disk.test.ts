/** The files beside the database on a file system that is really full. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { readHeads } from '../../domain/audit-heads.ts';
import { createHeadsFile } from './heads-file.ts';
import { createIdentityFile } from './identity-file.ts';
import { createSegmentFiles } from './segment-files.ts';

const isFull = (err: NodeJS.ErrnoException): boolean => err.code === 'ENOSPC';

/** A file system of 64 KiB. */
const smallDisk = (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', dir]);
  t.after(() => {
    execFileSync('umount', [dir]);
    rmSync(dir, { recursive: true });
  });
  const filler = join(dir, 'filler');
  return {
    dir,
    /** Takes all the space that is left. */
    fill: () => {
      const file = openSync(filler, 'w');
      assert.throws(() => {
        for (;;) writeSync(file, Buffer.alloc(512));
      }, isFull);
      closeSync(file);
    },
    clear: () => rmSync(filler),
  };
};

test('on a full disk heads are refused, no partial line is counted, and with space they continue', {
  skip: requires('root'),
}, async (t) => {
  const disk = smallDisk(t);
  const file = join(disk.dir, 'heads.jsonl');
  const seed = randomBytes(32);
  const heads = createHeadsFile({ file, seeds: () => [seed], rotate_bytes: 4_000 });
  let end = { line: 0, hash: '0'.repeat(64) };
  /** As the sealer does: the newest end of each chain, again and again until they are recorded. */
  const append = async (chains: number, sequence: number): Promise<void> => {
    const ends = Array.from({ length: chains }, (_, n) => ({
      ...{ chain: `org_${n}`, sequence, hash: sequence.toString(16).padStart(64, '0'), sealed_at: '' },
    }));
    end = await heads.append(ends, end);
  };
  await append(3, 1);
  disk.fill();
  // More than the last page of the file has room for, so that a part of it is written.
  await assert.rejects(append(30, 2), isFull);
  await assert.rejects(append(30, 3), isFull);
  disk.clear();
  await append(30, 4);
  await append(1, 5);
  const { findings, heads: read } = await readHeads(() => heads.lines(), end);
  assert.deepEqual(findings, []);
  assert.deepEqual([read.size, read.get('org_0')?.at(-1)?.sequence, read.get('org_29')?.at(-1)?.sequence], [30, 5, 4]);
  assert.equal(await heads.lastLine(), end.line);
});

test('on a full disk changes of identities and segments are refused as a whole, and with space nothing is missing', {
  skip: requires('root'),
}, async (t) => {
  const disk = smallDisk(t);
  const identities = createIdentityFile(join(disk.dir, 'heads.identities'));
  const change = (sequence: number) => ({
    ...{ chain: 'org_1', sequence, at: '2026-01-01T00:00:00Z', action: 'ssh_key.delete', target_kind: 'ssh_key' },
    ...{ target_id: 'key_1', actor_id: 'usr_1', organization_id: 'org_1' },
  });
  const seed = randomBytes(32);
  const segments = createSegmentFiles({ directory: join(disk.dir, 'archive'), seeds: () => [seed] });
  await identities.append([change(1)]);
  await segments.write('org_1/a.jsonl', ['one']);
  disk.fill();
  const many = Array.from({ length: 60 }, (_, n) => change(n + 2));
  await assert.rejects(identities.append(many), isFull);
  await assert.rejects(segments.write('org_1/a.jsonl', ['x'.repeat(20_000)]), isFull);
  assert.deepEqual((await segments.read('org_1/a.jsonl'))?.lines, ['one'], 'the file of before is whole');
  disk.clear();
  await identities.append(many);
  assert.deepEqual(
    new Set((await identities.read()).map(({ sequence }) => sequence)),
    new Set([1, ...many.map(({ sequence }) => sequence)]),
  );
  assert.ok(readFileSync(join(disk.dir, 'heads.identities'), 'utf8').endsWith('\n'));
  await segments.write('org_1/a.jsonl', ['two']);
  const segment = await segments.read('org_1/a.jsonl');
  assert.deepEqual([segment?.lines, segment?.is_signed], [['two'], true]);
});
