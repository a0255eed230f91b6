/** A tree of files with disks of plain bytes, replacement tools and a replacement for the kernel's PCI subsystem. */
import { mkdir, open, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { hostUnderTest, type Subject } from '../src/host/contract/subject.ts';
import { createFiles } from '../src/host/linux/files.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createRun } from '../src/host/linux/run.ts';
import { configOf, SILENT_CONFIG, withPciKernel } from './pci-kernel.ts';
import { makePrograms, makeTree, putTree, SWITCH_TREE } from './tree.ts';

const SIZE = 1024 * 1024;
const ERASE = 'dd if=/dev/zero of=/proc/self/fd/3 bs=4096 count=256 conv=notrunc status=none';
const DRIVES = [
  { serial: 'S64GNE0T000001', block: 'nvme0n1', number: '259:0', gpu: '0000:1b:00.0', vf: '0000:18:00.1' },
  { serial: 'S64GNE0T000002', block: 'nvme1n1', number: '259:1', gpu: '0000:3b:00.0', vf: '0000:38:00.1' },
] as const;

const driveOf = (serial: string) => {
  const drive = DRIVES.find((one) => one.serial === serial);
  if (drive === undefined) throw new Error(`no drive ${serial}`);
  return drive;
};

const CAPABILITIES = {
  parts: ['pci', 'pci.bind', 'pci.reset', 'disks', 'disks.open', 'disks.wipe', 'network'],
  slots: DRIVES.length,
  arrange: ['mount', 'hold', 'write', 'widenReset', 'dropOffBus'],
} as const;

const makeTreeSubject = async (): Promise<Subject<typeof CAPABILITIES>> => {
  const tree = await makeTree(SWITCH_TREE);
  const configAt = (address: string): string => join(tree.root, 'sys/bus/pci/devices', address, 'config');
  for (const { gpu } of DRIVES) await writeFile(configAt(gpu), configOf(0x10de, 0x2335));
  for (const block of ['nvme0n1', 'nvme1n1', 'nvme2n1'])
    await writeFile(join(tree.root, 'dev', block), Buffer.alloc(SIZE));
  const { path } = await makePrograms(join(tree.root, 'bin'), {
    nvme: `case "$1" in
      id-ctrl) echo '{"oacs": 23, "fna": 4, "sanicap": 3}' ;;
      sanitize-log) echo '{"nvme0":{"sprog":65535,"sstat":{"status":"(1) Completed."}}}' ;;
      *) ${ERASE} ;;
    esac`,
    blkdiscard: ERASE,
    // The two bytes by which the suite recognizes a file system.
    wipefs: `for file; do :; done
      case "$file" in /dev/*) file='${tree.root}'$file ;; esac
      magic=$(od -An -tx1 -j1080 -N2 "$file" | tr -d ' \\n')
      [ "$magic" = 53ef ] && echo '{"signatures":[{"device":"x","type":"ext4"}]}'
      exit 0`,
    lsblk: 'echo \'{"blockdevices":[]}\'',
  });
  const mountinfo = '/proc/1/mountinfo';
  return {
    host: createLinuxHost({
      root: tree.root,
      files: withPciKernel(createFiles(tree.root)),
      run: createRun(path),
    }),
    image: 'none',
    slots: DRIVES.map(({ serial, gpu, vf }, index) => ({
      gpu,
      vf,
      module_id: null,
      disk: { serial, device: `/dev/disk/by-id/nvme-eui.aabbccdd0000000${index + 1}` },
    })),
    arrange: {
      mount: async (serial) => {
        const { block, number } = driveOf(serial);
        const before = await readFile(join(tree.root, mountinfo), 'utf8');
        await putTree(tree.root, { [mountinfo]: `${before}30 1 ${number} / /mnt/data rw - ext4 /dev/${block} rw\n` });
      },
      hold: (serial) => mkdir(join(tree.root, 'sys/block', driveOf(serial).block, 'holders/md0')).then(() => undefined),
      write: async (serial, offset, bytes) => {
        const file = await open(join(tree.root, 'dev', driveOf(serial).block), 'r+');
        await file.write(bytes, 0, bytes.length, offset);
        await file.close();
      },
      /** A second function on the bus of the first: a bus reset affects both. */
      widenReset: async (address) => {
        const real = await realpath(join(tree.root, 'sys/bus/pci/devices', address));
        const other = address.replace(/0$/, '1');
        const path = relative(join(tree.root, 'sys'), join(dirname(real), other));
        await putTree(tree.root, {
          [`/sys/bus/pci/devices/${other}`]: { link: `../../../${path}` },
          [`/sys/${path}/vendor`]: '0x10de\n',
          [`/sys/${path}/device`]: '0x22ba\n',
          [`/sys/${path}/class`]: '0x040300\n',
        });
      },
      dropOffBus: (address) => writeFile(configAt(address), SILENT_CONFIG),
    },
    close: tree.remove,
  };
};

export const treeHost = hostUnderTest({
  name: 'linux on a tree of two slots',
  kind: 'linux',
  capabilities: CAPABILITIES,
  simulated: [],
  make: makeTreeSubject,
});
