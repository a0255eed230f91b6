/**
 * Ids sort by creation time (48 bits of milliseconds) and cannot be guessed (80 random bits): `prefix_` and 26
 * characters of Crockford base32 in lower case.
 */
import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** One pool of random bytes for many ids: a system call per id costs more than the id. */
let pool = Buffer.alloc(0);
let used = 0;

const randomByte = (): number => {
  if (used === pool.length) {
    pool = randomBytes(1024);
    used = 0;
  }
  return pool[used++] ?? 0;
};

export const mintId = (prefix: string, atMs: number = Date.now()): string => {
  let time = '';
  for (let rest = atMs, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  let random = '';
  for (let i = 0; i < 16; i++) random += ALPHABET[randomByte() & 31];
  return `${prefix}_${time}${random}`;
};
