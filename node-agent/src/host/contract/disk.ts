/** Disks: identified by serial, refused while in use, wiped completely. */
import assert from 'node:assert/strict';
import { WIPE_METHODS } from '@gpuaas/contract/node';
import type { OpenDisk } from '../host.ts';
import { type Arranged, cloneTo, contractTest, refuses, type Subject, slotAt } from './subject.ts';

const CHUNK = 1024 ** 2;

/** The first offset with a nonzero byte. */
const firstByte = async (disk: OpenDisk): Promise<number | null> => {
  for (let offset = 0; offset < disk.size_bytes; offset += CHUNK) {
    const bytes = await disk.read(offset, Math.min(CHUNK, disk.size_bytes - offset));
    if (!bytes.equals(Buffer.alloc(bytes.length))) return offset + bytes.findIndex((byte) => byte !== 0);
  }
  return null;
};

const withDisk = async <T>(subject: Subject, index: number, work: (disk: OpenDisk) => Promise<T>): Promise<T> => {
  const disk = await subject.host.disks.open(slotAt(subject, index).disk);
  try {
    return await work(disk);
  } finally {
    await disk.close();
  }
};

const factsAt = async (subject: Subject, index: number) => {
  const facts = (await subject.host.disks.list()).find((one) => one.serial === slotAt(subject, index).disk.serial);
  assert.ok(facts, `the drive of slot ${index} is listed`);
  return facts;
};

const blockedTest = (what: 'mount' | 'hold', key: 'mounts' | 'holders') =>
  contractTest(
    'disks.open',
    what === 'mount'
      ? 'a mounted disk is listed with its mounts and refused'
      : 'a disk with holders is listed with them and refused',
    { slots: 2, arrange: [what] },
    async (subject: Arranged) => {
      const { disk } = slotAt(subject, 0);
      await subject.arrange[what](disk.serial);
      assert.ok((await factsAt(subject, 0))[key].length > 0);
      await refuses(subject.host.disks.open(disk), 'blocked');
      await withDisk(subject, 1, async (other) => assert.equal(other.serial, slotAt(subject, 1).disk.serial));
    },
  );

export const diskTests = [
  contractTest('disks', 'every disk is listed once by name and by serial', {}, async ({ host }) => {
    const list = await host.disks.list();
    assert.equal(new Set(list.map((disk) => disk.name)).size, list.length);
    const serials = list.flatMap((disk) => disk.serial ?? []);
    assert.equal(new Set(serials).size, serials.length);
  }),
  contractTest(
    'disks.open',
    'a disk opens by its identity with the listed device number',
    { slots: 1 },
    async (subject) => {
      const facts = await factsAt(subject, 0);
      await withDisk(subject, 0, async (disk) => {
        assert.equal(disk.serial, facts.serial);
        assert.equal(disk.major_minor, facts.major_minor);
        assert.equal(disk.size_bytes, facts.size_bytes);
      });
    },
  ),
  contractTest('disks.open', 'a path that holds another serial is refused', { slots: 2 }, async (subject) => {
    const wrong = { serial: slotAt(subject, 0).disk.serial, device: slotAt(subject, 1).disk.device };
    await refuses(subject.host.disks.open(wrong), 'drift');
  }),
  contractTest('disks.open', 'a path that holds nothing is refused', { slots: 1 }, async (subject) => {
    const { serial } = slotAt(subject, 0).disk;
    await refuses(subject.host.disks.open({ serial, device: '/dev/disk/by-id/nvme-eui.0000000000000000' }), 'drift');
  }),
  contractTest('disks.open', 'the boot disk is refused', {}, async ({ host }) => {
    const boot = (await host.disks.list()).find((disk) => disk.is_boot);
    assert.ok(boot?.serial && boot.device, 'a host boots from a drive');
    await refuses(host.disks.open({ serial: boot.serial, device: boot.device }), 'blocked');
  }),
  blockedTest('mount', 'mounts'),
  blockedTest('hold', 'holders'),
  contractTest(
    'disks.open',
    'closing twice is allowed, and a closed disk is not read',
    { slots: 1 },
    async (subject) => {
      const disk = await subject.host.disks.open(slotAt(subject, 0).disk);
      await disk.close();
      await disk.close();
      await refuses(disk.read(0, 512));
    },
  ),
  contractTest(
    'disks.open',
    'a disk keeps its path across a reboot, whatever its kernel name',
    { slots: 1, arrange: ['reboot'] },
    async (subject) => {
      const before = await factsAt(subject, 0);
      await subject.arrange.reboot();
      const after = await factsAt(subject, 0);
      assert.equal(after.device, before.device);
      await withDisk(subject, 0, async (disk) => assert.equal(disk.serial, before.serial));
    },
  ),
  contractTest(
    'disks.wipe',
    'a wipe leaves no byte and no signature',
    { slots: 1, arrange: ['write'] },
    async (subject) => {
      const slot = slotAt(subject, 0);
      const { size_bytes: size } = await factsAt(subject, 0);
      for (const offset of [0, 1080, Math.floor(size / 3), size - 512]) {
        await subject.arrange.write(slot.disk.serial, offset, Buffer.from([0x53, 0xef, 0xff]));
      }
      await withDisk(subject, 0, async (disk) => {
        // By these two bytes alone some tools call it by its older name.
        assert.match((await disk.signatures()).join(), /^ext[24]$/);
        assert.equal(await firstByte(disk), 0);
        for (const method of WIPE_METHODS) {
          assert.equal((await disk.wipe(method)).command_status, 0);
          assert.equal(await firstByte(disk), null);
          assert.deepEqual([...(await disk.signatures())], []);
        }
      });
    },
  ),
  contractTest(
    'disks.wipe',
    'a wipe of one disk leaves the others alone',
    { slots: 2, arrange: ['write'] },
    async (subject) => {
      await subject.arrange.write(slotAt(subject, 1).disk.serial, 4096, Buffer.from('keep'));
      await withDisk(subject, 0, (disk) => disk.wipe('nvme_sanitize'));
      await withDisk(subject, 1, async (disk) => assert.equal((await disk.read(4096, 4)).toString(), 'keep'));
    },
  ),
  contractTest(
    'disks.wipe',
    'a disk mounted after it was opened is not wiped',
    { slots: 1, arrange: ['mount', 'write'] },
    async (subject) => {
      const { serial } = slotAt(subject, 0).disk;
      await subject.arrange.write(serial, 4096, Buffer.from('keep'));
      const disk = await subject.host.disks.open(slotAt(subject, 0).disk);
      await subject.arrange.mount(serial);
      await refuses(disk.wipe('nvme_sanitize'), 'blocked');
      assert.equal((await disk.read(4096, 4)).toString(), 'keep');
      await disk.close();
    },
  ),
  contractTest('images.clone', 'a cloned image is listed until the wipe', { slots: 1 }, async (subject) => {
    await cloneTo(subject, slotAt(subject, 0));
    assert.ok((await factsAt(subject, 0)).filesystems.length > 0);
    await withDisk(subject, 0, (disk) => disk.wipe('nvme_sanitize'));
    assert.deepEqual((await factsAt(subject, 0)).filesystems, []);
  }),
];
