/**
 * File systems, partition tables and members on a disk, by the magic bytes that tools such as blkid look for: on the
 * disk itself and at its first partition.
 */
import type { Block } from './block.ts';

type Magic = Readonly<{ name: string; offset: number; bytes: Buffer }>;

const MAGICS: readonly Magic[] = [
  { name: 'dos', offset: 510, bytes: Buffer.from([0x55, 0xaa]) },
  { name: 'gpt', offset: 512, bytes: Buffer.from('EFI PART') },
  { name: 'LVM2_member', offset: 512, bytes: Buffer.from('LABELONE') },
  { name: 'linux_raid_member', offset: 4096, bytes: Buffer.from([0xfc, 0x4e, 0x2b, 0xa9]) },
  { name: 'swap', offset: 4086, bytes: Buffer.from('SWAPSPACE2') },
  { name: 'ext4', offset: 1080, bytes: Buffer.from([0x53, 0xef]) },
  { name: 'xfs', offset: 0, bytes: Buffer.from('XFSB') },
  { name: 'btrfs', offset: 65_600, bytes: Buffer.from('_BHRfS_M') },
  { name: 'crypto_LUKS', offset: 0, bytes: Buffer.from('LUKS\xba\xbe', 'latin1') },
];
const SPAN = 65_608;

export const FIRST_PARTITION = 1024 ** 2;
export const EXT4_MAGIC = { offset: 1080, bytes: Buffer.from([0x53, 0xef]) } as const;
export const GPT_MAGIC = { offset: 512, bytes: Buffer.from('EFI PART') } as const;

const scan = (bytes: Buffer): readonly string[] =>
  MAGICS.filter((magic) => bytes.subarray(magic.offset, magic.offset + magic.bytes.length).equals(magic.bytes)).map(
    ({ name }) => name,
  );

/** The last sector contains the second copy of a partition table, which survives a wipe of the first. */
export const signaturesOn = async (block: Block): Promise<readonly string[]> => {
  const found = new Set<string>(scan(await block.read(0, SPAN)));
  for (const name of scan(await block.read(FIRST_PARTITION, SPAN))) found.add(name);
  const last = await block.read(block.size_bytes - 512, 8);
  if (last.equals(GPT_MAGIC.bytes)) found.add('gpt');
  return [...found].sort();
};
