/**
 * How much of a wiped disk must be read back, and where, before a wipe can count as proven. Both ends are read whole: they
 * hold partition tables and the superblocks of RAID and file systems. What lies between them is divided into equal regions,
 * and a sample of each is read, so that no large part of the disk goes without one. A small disk is read whole. The agent
 * chooses its samples by this rule, and the server judges the evidence by it.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

export const READ_BACK = {
  /** At each end. */
  end_bytes: 16 * MIB,
  region_count: 32,
  /** In each region. */
  sample_bytes: 64 * KIB,
} as const;

export type DiskRange = Readonly<{ offset: number; length: number }>;

/** Below this the part between the ends is read whole: samples would hardly be less. */
const MIDDLE_WHOLE_BYTES = 2 * READ_BACK.region_count * READ_BACK.sample_bytes;

/** What must be read: `bytes` of each range. The ranges lie in order and cover the disk. */
export const readBackFloor = (sizeBytes: number): ReadonlyArray<DiskRange & Readonly<{ bytes: number }>> => {
  const { end_bytes, region_count, sample_bytes } = READ_BACK;
  const middle = sizeBytes - 2 * end_bytes;
  if (middle <= MIDDLE_WHOLE_BYTES) return [{ offset: 0, length: sizeBytes, bytes: sizeBytes }];
  const bounds = Array.from(
    { length: region_count + 1 },
    (_, n) => end_bytes + Math.floor((middle * n) / region_count),
  );
  const regions = bounds.slice(0, -1).map((offset, n) => ({ offset, length: (bounds[n + 1] ?? offset) - offset }));
  return [
    { offset: 0, length: end_bytes, bytes: end_bytes },
    ...regions.map((region) => ({ ...region, bytes: sample_bytes })),
    { offset: sizeBytes - end_bytes, length: end_bytes, bytes: end_bytes },
  ];
};

/** In order, without overlap: what was read twice counts once. */
const mergedOf = (ranges: readonly DiskRange[]): DiskRange[] => {
  const merged: { offset: number; length: number }[] = [];
  for (const { offset, length } of ranges.toSorted((a, b) => a.offset - b.offset)) {
    const last = merged.at(-1);
    if (last === undefined || offset > last.offset + last.length) merged.push({ offset, length });
    else last.length = Math.max(last.length, offset + length - last.offset);
  }
  return merged;
};

const sharedBytes = (a: DiskRange, b: DiskRange): number =>
  Math.max(0, Math.min(a.offset + a.length, b.offset + b.length) - Math.max(a.offset, b.offset));

/** Why the samples are not sufficient for a disk of this size; null if they are. */
export const readBackGap = (sizeBytes: number, samples: readonly DiskRange[]): string | null => {
  if (sizeBytes <= 0) return 'The disk has no size.';
  if (samples.some(({ offset, length }) => offset < 0 || offset + length > sizeBytes))
    return 'A sample lies outside the disk.';
  const read = mergedOf(samples);
  for (const { bytes, ...range } of readBackFloor(sizeBytes)) {
    const found = read.reduce((sum, one) => sum + sharedBytes(one, range), 0);
    if (found < bytes)
      return `Too little was read back: ${found} of at least ${bytes} bytes between ${range.offset} and ${range.offset + range.length}.`;
  }
  return null;
};
