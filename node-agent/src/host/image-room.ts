/**
 * Which cached images to evict for another one. The least recently used go first, and only as many as needed. An image
 * that is being cloned, or was requested a moment ago, stays. If evicting all of them is not enough, none is evicted.
 */
export type Candidate = Readonly<{ digest: string; size_bytes: number; verified_at?: string; last_used_at?: string }>;

const usedAt = ({ last_used_at, verified_at }: Candidate): number => Date.parse(last_used_at ?? verified_at ?? '') || 0;

/** Null: not possible. */
export const makeRoom = (
  images: readonly Candidate[],
  given: Readonly<{ missing_bytes: number; is_needed: (digest: string) => boolean }>,
): readonly string[] | null => {
  const going: string[] = [];
  let missing = given.missing_bytes;
  for (const image of images.toSorted((a, b) => usedAt(a) - usedAt(b))) {
    if (missing <= 0) break;
    if (given.is_needed(image.digest)) continue;
    going.push(image.digest);
    missing -= image.size_bytes;
  }
  return missing > 0 ? null : going;
};
