/** Checks of the launch form while a person types, by the contract's limits. The server still decides. */
import { USER_DATA_BYTES_MAX, USER_DATA_PATTERN } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { maxDurationProblem } from '../../rules/max-duration.ts';

export const durationProblem = (typed: string, seconds: number | null): string | null =>
  typed.trim() === '' ? null : maxDurationProblem(seconds ?? Number.NaN);

const USER_DATA = new RegExp(USER_DATA_PATTERN);

export const userDataSize = (text: string): number => new TextEncoder().encode(text).length;

export const userDataProblem = (text: string): string | null => {
  if (text === '') return null;
  if (text.includes('\0')) return 'User data must not contain a NUL character.';
  if (!USER_DATA.test(text)) return 'User data must start with #cloud-config, #cloud-boothook or #!.';
  const size = userDataSize(text);
  return size > USER_DATA_BYTES_MAX
    ? `User data must not exceed ${bytes(USER_DATA_BYTES_MAX)}; this is ${bytes(size)}.`
    : null;
};

const FIRST =
  'amber brisk calm clear coral deep early fleet green keen lucid mild noble quick quiet solid swift vivid'.split(' ');
const SECOND =
  'atlas birch comet delta ember falcon grove harbor iris lotus maple orbit otter quartz raven reef tern willow'.split(
    ' ',
  );

/** Suggests a name. `random` returns numbers from 0 up to, but not including, 1. */
export const suggestName = (random: () => number): string => {
  const pick = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? 'a';
  return `${pick(FIRST)}-${pick(SECOND)}-${Math.floor(random() * 90) + 10}`;
};
