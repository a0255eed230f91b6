import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { requires } from '../../../tools/test/requires.ts';
import { HostError } from '../host/host.ts';
import { inspectImage } from './image.ts';
import type { Inspection } from './image-facts.ts';

const MIB = 1024 ** 2;
const CLUSTER = 65_536;

/** Header, reference counts, first table, second table, one cluster of data. */
const qcow2 = (edit: (bytes: Buffer) => void = () => undefined): Buffer => {
  const bytes = Buffer.alloc(6 * CLUSTER);
  bytes.write('QFI\xfb', 0, 'latin1');
  bytes.writeUInt32BE(3, 4);
  bytes.writeUInt32BE(16, 20);
  bytes.writeBigUInt64BE(BigInt(8 * MIB), 24);
  bytes.writeUInt32BE(1, 36);
  bytes.writeBigUInt64BE(BigInt(3 * CLUSTER), 40);
  bytes.writeBigUInt64BE(BigInt(CLUSTER), 48);
  bytes.writeUInt32BE(1, 56);
  bytes.writeUInt32BE(4, 96);
  bytes.writeUInt32BE(104, 100);
  bytes.writeBigUInt64BE(BigInt(2 * CLUSTER), CLUSTER);
  bytes.writeBigUInt64BE((1n << 63n) | BigInt(4 * CLUSTER), 3 * CLUSTER);
  bytes.writeBigUInt64BE((1n << 63n) | BigInt(5 * CLUSTER), 4 * CLUSTER);
  edit(bytes);
  return bytes;
};
/** Runs an inspection on bytes in memory. */
const inspectBytes = <T>(inspection: Inspection<T>, bytes: Buffer): T => {
  let step = inspection.next();
  while (step.done !== true)
    step = inspection.next(bytes.subarray(step.value.offset, step.value.offset + step.value.length));
  return step.value;
};
const inspect = (bytes: Buffer, declared = 'qcow2', disk = 64 * MIB) =>
  inspectBytes(inspectImage({ declared, file_bytes: bytes.length, disk_bytes: disk }), bytes);
const refuses = (bytes: Buffer, pattern: RegExp, declared = 'qcow2', disk = 64 * MIB) =>
  assert.throws(
    () => inspect(bytes, declared, disk),
    (err) => err instanceof HostError && err.code === 'blocked' && pattern.test(err.message),
  );
/** A header extension right behind the header. */
const extension = (type: number, text: string) => (bytes: Buffer) => {
  bytes.writeUInt32BE(type, 104);
  bytes.writeUInt32BE(text.length, 108);
  bytes.write(text, 112);
};

describe('an image', () => {
  it('is described when it is valid', () => {
    assert.deepEqual(inspect(qcow2()), {
      format: 'qcow2',
      virtual_bytes: 8 * MIB,
      file_bytes: 6 * CLUSTER,
      cluster_bytes: CLUSTER,
      has_snapshots: false,
    });
    assert.equal(inspect(Buffer.alloc(MIB), 'raw').virtual_bytes, MIB);
  });

  it('is refused if it refers to another file', () => {
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(4096n, 8)),
      /backing file/,
    );
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(11, 16)),
      /backing file/,
    );
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(4n, 72)),
      /another file/,
    );
    refuses(qcow2(extension(0x44415441, '/etc/shadow')), /another file/);
    refuses(
      qcow2((bytes) => {
        extension(0x6803f857, 'x'.repeat(48))(bytes);
        bytes.writeUInt32BE(0x44415441, 104 + 8 + 48);
      }),
      /another file/,
    );
  });

  it('is refused if it differs from its declaration', () => {
    refuses(qcow2(), /it is qcow2, the catalog declares raw/, 'raw');
    refuses(Buffer.alloc(MIB), /it is raw, the catalog declares qcow2/);
    refuses(Buffer.concat([Buffer.from('KDMV'), Buffer.alloc(MIB)]), /it is vmdk/, 'raw');
    refuses(Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(510)]), /it is gzip/, 'raw');
    refuses(Buffer.alloc(MIB), /not a supported format/, 'vmdk');
  });

  it('is refused if it is encrypted, damaged or of an unknown type', () => {
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(1, 32)),
      /encrypted/,
    );
    refuses(qcow2(extension(0x0537be77, 'x'.repeat(16))), /encrypted/);
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(1n, 72)),
      /not closed properly/,
    );
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(2n, 72)),
      /not closed properly/,
    );
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(32n, 72)),
      /not known/,
    );
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(9, 4)),
      /version 9/,
    );
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(63, 20)),
      /clusters is invalid/,
    );
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE(2n ** 60n, 24)),
      /too large|invalid/,
    );
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(0, 36)),
      /too short for its size/,
    );
    refuses(
      qcow2((bytes) => bytes.writeUInt32BE(2 ** 31, 36)),
      /is too large/,
    );
  });

  it('is refused if the disk is smaller', () => {
    refuses(qcow2(), /the disk has 8388607/, 'qcow2', 8 * MIB - 1);
    assert.equal(inspect(qcow2(), 'qcow2', 8 * MIB).virtual_bytes, 8 * MIB);
    refuses(Buffer.alloc(MIB), /the disk has 1024/, 'raw', 1024);
  });

  it('is refused if any cluster that it refers to is cut off', () => {
    for (let clusters = 0; clusters < 6; clusters += 1)
      refuses(qcow2().subarray(0, clusters * CLUSTER), /truncated|empty/);
    refuses(qcow2().subarray(0, 6 * CLUSTER - 1), /truncated/);
    refuses(qcow2().subarray(0, 80), /truncated/);
    refuses(
      qcow2((bytes) => bytes.writeBigUInt64BE((1n << 62n) | BigInt(9 * CLUSTER), 4 * CLUSTER)),
      /truncated/,
    );
    refuses(Buffer.alloc(1000), /truncated/, 'raw');
  });
});

const folder = mkdtempSync(join(tmpdir(), 'gpuaas-image-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('an image made by qemu-img', { skip: requires('qemu-img') }, () => {
  const tool = (...argv: string[]): void => {
    const { status, stderr } = spawnSync('qemu-img', argv, { cwd: folder });
    assert.equal(status, 0, stderr.toString('utf8'));
  };
  const made = (name: string, ...argv: string[]): Buffer => {
    tool('create', '-q', '-f', 'qcow2', ...argv.slice(0, -1), name, argv.at(-1) ?? '');
    return readFileSync(join(folder, name));
  };

  it('is described in every variant', () => {
    // Clusters of preallocated images exist as far as the file goes.
    for (const options of [
      'compat=0.10',
      'compat=1.1',
      'extended_l2=on,cluster_size=128k',
      'compression_type=zstd',
      'preallocation=metadata',
    ])
      assert.equal(inspect(made(`${options.length}.qcow2`, '-o', options, '16M')).virtual_bytes, 16 * MIB, options);
  });

  it('is described with data, plain and compressed, and refused when truncated', () => {
    const text = spawnSync('sh', ['-c', 'seq 1 400000 > data.raw && truncate -s 4M data.raw'], { cwd: folder });
    assert.equal(text.status, 0);
    for (const flags of [[], ['-c']]) {
      tool('convert', ...flags, '-f', 'raw', '-O', 'qcow2', 'data.raw', 'data.qcow2');
      const whole = readFileSync(join(folder, 'data.qcow2'));
      assert.equal(inspect(whole).virtual_bytes, 4 * MIB);
      refuses(whole.subarray(0, Math.floor(whole.length * 0.6)), /truncated/);
    }
  });

  it('is refused with a backing file, a data file or encryption', () => {
    made('base.qcow2', '16M');
    refuses(made('over.qcow2', '-b', 'base.qcow2', '-F', 'qcow2', '16M'), /backing file/);
    refuses(made('ext.qcow2', '-o', 'data_file=ext.raw', '16M'), /another file/);
    refuses(
      made('aes.qcow2', '--object', 'secret,id=s,data=x', '-o', 'encrypt.format=aes,encrypt.key-secret=s', '16M'),
      /encrypted/,
    );
  });
});
