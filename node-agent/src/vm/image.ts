/**
 * Checks an image from its bytes before any of it is written. Name and digest identify an image, but not what opening
 * it would do: a qcow2 header can name other files of the host, which the conversion tool would copy to the tenant's
 * disk. So the format must be the one the catalog declares, and every external reference is refused.
 *
 * It reads nothing itself. `inspectImage` is a generator that requests ranges and receives their bytes.
 */
import { type ImageFacts, type Inspection, refuseImage } from './image-facts.ts';
import { inspectQcow2 } from './qcow2.ts';

export type ImageQuestion = Readonly<{ declared: string; file_bytes: number; disk_bytes: number }>;

const HEAD_BYTES = 4096;
const SECTOR = 512;

const KNOWN: readonly Readonly<{ format: string; at: number; magic: Buffer }>[] = [
  { format: 'qcow2', at: 0, magic: Buffer.from('QFI\xfb', 'latin1') },
  { format: 'vmdk', at: 0, magic: Buffer.from('KDMV') },
  { format: 'vmdk', at: 0, magic: Buffer.from('# Disk DescriptorFile') },
  { format: 'vhdx', at: 0, magic: Buffer.from('vhdxfile') },
  { format: 'vpc', at: 0, magic: Buffer.from('conectix') },
  { format: 'vdi', at: 64, magic: Buffer.from([0x7f, 0x10, 0xda, 0xbe]) },
  { format: 'qed', at: 0, magic: Buffer.from('QED\0') },
  { format: 'parallels', at: 0, magic: Buffer.from('WithoutFreeSpace') },
  { format: 'luks', at: 0, magic: Buffer.from('LUKS\xba\xbe', 'latin1') },
  { format: 'gzip', at: 0, magic: Buffer.from([0x1f, 0x8b]) },
  { format: 'xz', at: 0, magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]) },
  { format: 'zstd', at: 0, magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
];

/** Bytes that match no other format are raw. */
const formatOf = (head: Buffer): string =>
  KNOWN.find(({ at, magic }) => head.subarray(at, at + magic.length).equals(magic))?.format ?? 'raw';

export function* inspectImage({ declared, file_bytes, disk_bytes }: ImageQuestion): Inspection<ImageFacts> {
  if (declared !== 'raw' && declared !== 'qcow2')
    return refuseImage(`${JSON.stringify(declared)} is not a supported format`);
  const wanted = Math.min(HEAD_BYTES, file_bytes);
  const head = yield { offset: 0, length: wanted };
  if (head.length < wanted || wanted === 0) return refuseImage('it is empty or shorter than its declared size');
  const found = formatOf(head);
  if (found !== declared) return refuseImage(`it is ${found}, the catalog declares ${declared}`);
  const facts: ImageFacts =
    declared === 'qcow2'
      ? yield* inspectQcow2(head, file_bytes)
      : { format: 'raw', virtual_bytes: file_bytes, file_bytes, cluster_bytes: null, has_snapshots: false };
  if (declared === 'raw' && file_bytes % SECTOR !== 0) return refuseImage('it is truncated: it ends within a sector');
  if (facts.virtual_bytes > disk_bytes)
    return refuseImage(`it is a disk of ${facts.virtual_bytes} bytes, and the disk has ${disk_bytes}`);
  return facts;
}
