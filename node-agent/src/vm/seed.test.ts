import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { requires } from '../../../tools/test/requires.ts';
import { machineOf } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { cloudInit } from './cloud-init.ts';
import { SEED_LABEL, writeSeed } from './seed.ts';

const SECTOR = 2048;
const FILES = cloudInit(machineOf(1), { username: 'gpuaas', accelerators: ['10de:2335'] });

type Found = Readonly<{ label: string; files: Readonly<Record<string, string>> }>;

/** An independent reader, written from the standard: descriptor, root, records. */
const readDisc = (disc: Buffer, isJoliet: boolean): Found => {
  const at = (isJoliet ? 17 : 16) * SECTOR;
  assert.equal(disc[at], isJoliet ? 2 : 1);
  assert.equal(disc.toString('latin1', at + 1, at + 6), 'CD001');
  assert.equal(disc.readUInt32LE(at + 80), disc.length / SECTOR);
  assert.equal(disc.readUInt32BE(at + 84), disc.length / SECTOR);
  const text = (bytes: Buffer): string =>
    isJoliet ? Buffer.from(bytes).swap16().toString('utf16le') : bytes.toString('latin1');
  const root = disc.readUInt32LE(at + 156 + 2) * SECTOR;
  assert.equal(disc.readUInt32LE(disc.readUInt32LE(at + 140) * SECTOR + 2) * SECTOR, root);
  assert.equal(disc.readUInt32BE(disc.readUInt32BE(at + 148) * SECTOR + 2) * SECTOR, root);
  const files: Record<string, string> = {};
  for (let from = root; disc[from] !== 0; from += disc[from] ?? 0) {
    const length = disc[from + 32] ?? 0;
    const start = disc.readUInt32LE(from + 2) * SECTOR;
    const content = disc.subarray(start, start + disc.readUInt32LE(from + 10));
    if (((disc[from + 25] ?? 0) & 2) !== 0) continue;
    const fields = disc.subarray(from + 33 + length + (length % 2 === 0 ? 1 : 0), from + (disc[from] ?? 0));
    const name = isJoliet ? text(disc.subarray(from + 33, from + 33 + length)) : rockRidgeName(fields);
    files[name] = content.toString('utf8');
  }
  return { label: text(disc.subarray(at + 40, at + 72)).trim(), files };
};

const rockRidgeName = (fields: Buffer): string => {
  for (let from = 0; from + 4 <= fields.length; from += fields[from + 2] ?? 4)
    if (fields.toString('latin1', from, from + 2) === 'NM')
      return fields.toString('utf8', from + 5, from + (fields[from + 2] ?? 0));
  return '';
};

describe('a seed', () => {
  for (const isJoliet of [false, true])
    it(`contains the files under their names for a reader of ${isJoliet ? 'Joliet' : 'Rock Ridge'}`, () =>
      assert.deepEqual(readDisc(writeSeed(FILES), isJoliet), { label: SEED_LABEL, files: FILES }));

  it('contains files of any size, also empty ones', () => {
    const files = { empty: '', exact: 'x'.repeat(SECTOR), more: 'y'.repeat(3 * SECTOR + 1) };
    assert.deepEqual(readDisc(writeSeed(files), true).files, files);
    assert.deepEqual(readDisc(writeSeed({}), false).files, {});
  });

  it('is the same bytes each time', () => assert.ok(writeSeed(FILES).equals(writeSeed(FILES))));

  it('accepts no name that leads to another directory', () => {
    for (const name of ['../x', 'a/b', 'A', '', 'user data']) assert.throws(() => writeSeed({ [name]: '' }), HostError);
    assert.throws(() => writeSeed({ 'user-data-a': '', 'user-data-b': '' }), /first eight letters/);
  });

  it('is readable by another program', {
    skip: requires('bsdtar'),
  }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuaas-seed-'));
    try {
      const disc = join(folder, 'seed.iso');
      const to = mkdtempSync(join(folder, 'files-'));
      writeFileSync(disc, writeSeed(FILES));
      for (const option of ['iso9660:rockridge', 'iso9660:!rockridge']) {
        const { status, stderr } = spawnSync('bsdtar', ['-x', '-f', disc, '-C', to, '--options', option]);
        assert.equal(status, 0, stderr.toString('utf8'));
        const found = readdirSync(to).map((name) => [name, readFileSync(join(to, name), 'utf8')]);
        assert.deepEqual(Object.fromEntries(found), FILES);
        for (const name of readdirSync(to)) rmSync(join(to, name));
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
