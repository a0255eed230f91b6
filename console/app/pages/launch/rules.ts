/** What the contract takes, said as one types: the server decides, but nobody should have to send a form to hear of a typo. */
import { bytes } from '../../format/size.ts';

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME_MAX = 63;

/** Null where it is good. */
export const nameProblem = (name: string): string | null => {
  if (name === '') return 'Give it a name.';
  if (NAME.test(name)) return null;
  if (name.length > NAME_MAX) return `At most ${NAME_MAX} characters; this has ${name.length}.`;
  if (/[A-Z]/.test(name)) return 'Lower-case letters only.';
  if (name.startsWith('-') || name.endsWith('-')) return 'It begins and ends with a letter or a digit.';
  return 'Letters a to z, digits and hyphens only.';
};

const DURATION_MIN_S = 300;
const DURATION_MAX_S = 31_536_000;

export const durationProblem = (typed: string, seconds: number | null): string | null => {
  if (typed.trim() === '') return null;
  if (seconds === null) return 'Say it as a number of hours.';
  if (seconds < DURATION_MIN_S) return 'At least 5 minutes.';
  return seconds > DURATION_MAX_S ? 'At most 365 days.' : null;
};

export const USER_DATA_MAX = 65_536;
const USER_DATA_HEAD = /^(#cloud-config|#cloud-boothook|#!)/;

export const userDataSize = (text: string): number => new TextEncoder().encode(text).length;

export const userDataProblem = (text: string): string | null => {
  if (text === '') return null;
  if (!USER_DATA_HEAD.test(text)) return 'It begins with #cloud-config, #cloud-boothook or #!.';
  const size = userDataSize(text);
  if (size > USER_DATA_MAX) return `At most ${bytes(USER_DATA_MAX)}; this is ${bytes(size)}.`;
  return text.includes('\0') ? 'It holds a NUL character.' : null;
};

const FIRST =
  'amber brisk calm clear coral deep early fleet green keen lucid mild noble quick quiet solid swift vivid'.split(' ');
const SECOND =
  'atlas birch comet delta ember falcon grove harbor iris lotus maple orbit otter quartz raven reef tern willow'.split(
    ' ',
  );

/** A name to begin with, that nobody has to think about. `random` gives numbers from 0 to below 1. */
export const suggestName = (random: () => number): string => {
  const pick = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? 'a';
  return `${pick(FIRST)}-${pick(SECOND)}-${Math.floor(random() * 90) + 10}`;
};
