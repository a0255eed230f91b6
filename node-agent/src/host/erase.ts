/**
 * Chooses the wipe command for a disk. Methods are ordered by strength: a sanitize reaches every block including spare
 * ones, a format every block of the namespace, a discard only what the disk drops. The disk's reported abilities decide
 * what is possible. If both exist, a cryptographic erase is used, because it takes seconds.
 *
 * A cryptographic erase may leave random content where the others leave zeros, so its read-back rule differs.
 */
import { type DiskFacts, WIPE_METHODS, type WipeMethod } from '@gpuaas/contract/node';

export type EraseAbility = Extract<DiskFacts['erase'], { value: unknown }>['value'];
export type EraseKind = 'crypto' | 'block' | 'discard';

export const isBelow = (method: WipeMethod, minimum: WipeMethod): boolean =>
  WIPE_METHODS.indexOf(method) > WIPE_METHODS.indexOf(minimum);

/** Null if the disk does not support it. */
export const eraseKindOf = (method: WipeMethod, can: EraseAbility): EraseKind | null => {
  switch (method) {
    case 'nvme_sanitize':
      return can.sanitize_crypto ? 'crypto' : can.sanitize_block ? 'block' : null;
    case 'nvme_format':
      return can.format ? (can.format_crypto ? 'crypto' : 'block') : null;
    case 'blkdiscard':
      return can.discard ? 'discard' : null;
  }
};
