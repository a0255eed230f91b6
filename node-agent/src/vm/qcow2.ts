/**
 * The header and tables of a qcow2 image, as in its specification (docs/interop/qcow2.txt of QEMU). The tables are
 * walked down to every referenced cluster: a truncated download has a valid header and refers to clusters that are
 * missing.
 */
import { type ImageFacts, type Inspection, refuseImage } from './image-facts.ts';

const V2_HEADER = 72;
const V3_HEADER = 104;
const EXTENSIONS = { end: 0, external_data: 0x44415441, encryption: 0x0537be77 } as const;

/** Feature bits that a reader must support to read the image correctly. */
const INCOMPATIBLE = { dirty: 1n, corrupt: 2n, external_data: 4n, compression: 8n, extended_l2: 16n } as const;
const HARMLESS = INCOMPATIBLE.compression | INCOMPATIBLE.extended_l2;

const OFFSET = 0x00ff_ffff_ffff_fe00n;
const COMPRESSED = 1n << 62n;
/** A table larger than this is not legitimate. */
const TABLE_BYTES_MAX = 32 * 1024 ** 2;
const SIZE_MAX = 2n ** 53n;

type Header = Readonly<{
  cluster_bits: number;
  cluster_bytes: number;
  size: number;
  l1: Readonly<{ offset: number; entries: number }>;
  refcounts: Readonly<{ offset: number; bytes: number }>;
  l2_entry_bytes: number;
  snapshots: number;
}>;

const numberAt = (head: Buffer, at: number): number => {
  const value = head.readBigUInt64BE(at);
  return value < SIZE_MAX ? Number(value) : refuseImage('a number in its header is too large');
};

/** Extensions end at the first cluster; those beyond the read range are refused. */
const refuseExtensions = (head: Buffer, from: number, until: number): void => {
  for (let at = from; at + 8 <= until; ) {
    if (at + 8 > head.length) refuseImage('its header has more extensions than an image needs');
    const type = head.readUInt32BE(at);
    const length = head.readUInt32BE(at + 4);
    if (type === EXTENSIONS.end) return;
    if (type === EXTENSIONS.external_data) refuseImage('it keeps its data in another file');
    if (type === EXTENSIONS.encryption) refuseImage('it is encrypted');
    at += 8 + Math.ceil(length / 8) * 8;
  }
};

const readHeader = (head: Buffer): Header => {
  if (head.length < V2_HEADER) return refuseImage('it is truncated: its header is not whole');
  const version = head.readUInt32BE(4);
  if (version !== 2 && version !== 3) return refuseImage(`its version ${version} is not known`);
  const isNew = version === 3;
  if (isNew && head.length < V3_HEADER) return refuseImage('it is truncated: its header is not whole');
  if (head.readBigUInt64BE(8) !== 0n || head.readUInt32BE(16) !== 0) return refuseImage('it has a backing file');
  if (head.readUInt32BE(32) !== 0) return refuseImage('it is encrypted');
  const features = isNew ? head.readBigUInt64BE(72) : 0n;
  if ((features & INCOMPATIBLE.external_data) !== 0n) return refuseImage('it keeps its data in another file');
  if ((features & (INCOMPATIBLE.dirty | INCOMPATIBLE.corrupt)) !== 0n) return refuseImage('it was not closed properly');
  if ((features & ~(HARMLESS | 7n)) !== 0n) return refuseImage('it needs features that are not known');
  const clusterBits = head.readUInt32BE(20);
  if (clusterBits < 9 || clusterBits > 21) return refuseImage('the size of its clusters is invalid');
  const cluster_bytes = 2 ** clusterBits;
  const headerBytes = isNew ? head.readUInt32BE(100) : V2_HEADER;
  if (headerBytes < (isNew ? V3_HEADER : V2_HEADER) || headerBytes > cluster_bytes || headerBytes % 8 !== 0)
    return refuseImage('the length of its header is invalid');
  refuseExtensions(head, headerBytes, cluster_bytes);
  return {
    cluster_bits: clusterBits,
    cluster_bytes,
    size: numberAt(head, 24),
    l1: { offset: numberAt(head, 40), entries: head.readUInt32BE(36) },
    refcounts: { offset: numberAt(head, 48), bytes: head.readUInt32BE(56) * cluster_bytes },
    l2_entry_bytes: (features & INCOMPATIBLE.extended_l2) === 0n ? 8 : 16,
    snapshots: head.readUInt32BE(60),
  };
};

function* readTable(what: string, offset: number, bytes: number, fileBytes: number): Inspection<Buffer> {
  if (bytes > TABLE_BYTES_MAX) return refuseImage(`its ${what} is too large`);
  if (offset === 0 || offset + bytes > fileBytes)
    return refuseImage(`it is truncated: its ${what} ends at ${offset + bytes}, the file at ${fileBytes}`);
  if (bytes === 0) return Buffer.alloc(0);
  const table = yield { offset, length: bytes };
  return table.length === bytes ? table : refuseImage(`it is truncated: its ${what} cannot be read`);
}

/** Where the cluster of a second-level entry ends; null for an empty one. */
const endOf = (entry: bigint, header: Header): number | null => {
  if ((entry & COMPRESSED) !== 0n) {
    const shift = BigInt(62 - (header.cluster_bits - 8));
    // The last sector of compressed data may be truncated, so only its start must exist.
    return Number(entry & ((1n << shift) - 1n)) + 1;
  }
  const offset = Number(entry & OFFSET);
  return offset === 0 ? null : offset + header.cluster_bytes;
};

function* refuseMissing(header: Header, fileBytes: number): Inspection<void> {
  const refcounts = yield* readTable(
    'table of reference counts',
    header.refcounts.offset,
    header.refcounts.bytes,
    fileBytes,
  );
  for (let at = 0; at < refcounts.length; at += 8) {
    const block = Number(refcounts.readBigUInt64BE(at) & OFFSET);
    if (block !== 0 && block + header.cluster_bytes > fileBytes)
      return refuseImage(`it is truncated: reference counts at ${block} are missing, the file ends at ${fileBytes}`);
  }
  const perL2 = header.cluster_bytes / header.l2_entry_bytes;
  if (header.l1.entries < Math.ceil(header.size / header.cluster_bytes / perL2))
    return refuseImage('its first table is too short for its size');
  if (header.l1.entries === 0) return;
  const l1 = yield* readTable('first table', header.l1.offset, header.l1.entries * 8, fileBytes);
  for (let at = 0; at < l1.length; at += 8) {
    const offset = Number(l1.readBigUInt64BE(at) & OFFSET);
    if (offset === 0) continue;
    const l2 = yield* readTable('second table', offset, header.cluster_bytes, fileBytes);
    for (let entry = 0; entry < l2.length; entry += header.l2_entry_bytes) {
      const end = endOf(l2.readBigUInt64BE(entry), header);
      if (end !== null && end > fileBytes)
        return refuseImage(`it is truncated: it has data up to ${end}, the file ends at ${fileBytes}`);
    }
  }
}

export function* inspectQcow2(head: Buffer, fileBytes: number): Inspection<ImageFacts> {
  const header = readHeader(head);
  yield* refuseMissing(header, fileBytes);
  return {
    format: 'qcow2',
    virtual_bytes: header.size,
    file_bytes: fileBytes,
    cluster_bytes: header.cluster_bytes,
    has_snapshots: header.snapshots > 0,
  };
}
