/** IDs with the contract's grammar that sort by time, the same in every run. */
import { ID_PREFIXES, type IdKind } from '@gpuaas/contract';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LETTERS = 10;
const COUNT_LETTERS = 16;

const lettersOf = (value: number, length: number): string => {
  let text = '';
  for (let rest = Math.max(0, Math.trunc(value)); text.length < length; rest = Math.floor(rest / 32))
    text = (ALPHABET[rest % 32] ?? '0') + text;
  return text;
};

export type Mint = (kind: IdKind, atMs: number) => string;

/** The start time of IDs, fixed so that a URL into the demo stays valid after a reload. */
const EPOCH_MS = Date.parse('2026-11-01T00:00:00Z');

export const createMint = (startMs: number): Mint => {
  let count = 0;
  return (kind, atMs) => {
    // The factor is odd, so that neighbors differ in more than their last letter and no ID repeats.
    count += 1;
    const scattered = (count * 2_654_435_761) % 2 ** 40;
    return `${ID_PREFIXES[kind]}_${lettersOf(EPOCH_MS + atMs - startMs, TIME_LETTERS)}${lettersOf(count, COUNT_LETTERS - 8)}${lettersOf(scattered, 8)}`;
  };
};
