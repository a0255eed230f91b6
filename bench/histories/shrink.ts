/**
 * The smallest part of a failing history that still fails, by removing ever smaller parts. A part that fails only
 * sometimes may be kept or removed; what is returned has failed.
 */
export const shrink = async <T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  triesMax: number,
): Promise<readonly T[]> => {
  let smallest = items;
  let tries = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1 && tries < triesMax; ) {
    let hasShrunk = false;
    // From the end: what comes after the failure is not needed.
    for (let end = smallest.length; end > 0 && tries < triesMax; end -= size) {
      const part = [...smallest.slice(0, Math.max(0, end - size)), ...smallest.slice(end)];
      if (part.length === smallest.length) continue;
      tries += 1;
      if (!(await fails(part))) continue;
      smallest = part;
      hasShrunk = true;
    }
    if (size === 1 && !hasShrunk) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return smallest;
};
