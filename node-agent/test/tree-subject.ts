/** A tree with drives of plain bytes and stand-in tools, as the contract suite takes a host. */
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Subject } from '../src/host/host.contract.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createRun } from '../src/host/linux/run.ts';
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

export const treeSubject = async (): Promise<Subject> => {
  const tree = await makeTree(SWITCH_TREE);
  for (const block of ['nvme0n1', 'nvme1n1', 'nvme2n1'])
    await writeFile(join(tree.root, 'dev', block), Buffer.alloc(SIZE));
  const { path } = await makePrograms(join(tree.root, 'bin'), {
    nvme: `case "$1" in
      id-ctrl) echo '{"oacs": 23, "fna": 4, "sanicap": 3}' ;;
      sanitize-log) echo '{"nvme0":{"sprog":65535,"sstat":{"status":"(1) Completed."}}}' ;;
      *) ${ERASE} ;;
    esac`,
    blkdiscard: ERASE,
    // The two bytes by which the suite knows a file system.
    wipefs: `for file; do :; done
      case "$file" in /dev/*) file='${tree.root}'$file ;; esac
      magic=$(od -An -tx1 -j1080 -N2 "$file" | tr -d ' \\n')
      [ "$magic" = 53ef ] && echo '{"signatures":[{"device":"x","type":"ext4"}]}'
      exit 0`,
    lsblk: 'echo \'{"blockdevices":[]}\'',
  });
  const mountinfo = '/proc/1/mountinfo';
  return {
    host: createLinuxHost({ root: tree.root, run: createRun(path) }),
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
    },
    close: tree.remove,
  };
};
