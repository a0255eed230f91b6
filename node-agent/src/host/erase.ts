/**
 * Which erase a drive is asked for. Methods are ordered by what they promise: a sanitize reaches every block the drive has,
 * spare ones too; a format every block of the namespace; a discard what the drive cares to forget. What a drive reports
 * decides whether it can be asked at all, and where it has both, a cryptographic erase is taken: it ends in seconds.
 *
 * A cryptographic erase may leave noise where the others leave zeros, so what proves it is another rule.
 */
import { type DiskFacts, WIPE_METHODS, type WipeMethod } from '@gpuaas/contract/node';

export type EraseAbility = Extract<DiskFacts['erase'], { value: unknown }>['value'];
export type EraseKind = 'crypto' | 'block' | 'discard';

export const isBelow = (method: WipeMethod, minimum: WipeMethod): boolean =>
  WIPE_METHODS.indexOf(method) > WIPE_METHODS.indexOf(minimum);

/** Null where the drive does not offer it. */
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
