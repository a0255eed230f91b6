/** Checks of names and display texts while a person types. The patterns are the contract's; the server still decides. */
import { DISPLAY_TEXT_PATTERN, NAME_LENGTH_MAX, NAME_PATTERN } from '@gpuaas/sdk';

const NAME = new RegExp(NAME_PATTERN);
const DISPLAY_TEXT = new RegExp(DISPLAY_TEXT_PATTERN);

export const NAME_RULE = `Lower-case letters, digits and hyphens; up to ${NAME_LENGTH_MAX} characters.`;

/** Null if the name is valid. */
export const nameProblem = (name: string): string | null => {
  if (name === '') return 'Enter a name.';
  if (NAME.test(name)) return null;
  if (name.length > NAME_LENGTH_MAX) return `Use at most ${NAME_LENGTH_MAX} characters; this name has ${name.length}.`;
  if (/[A-Z]/.test(name)) return 'Use lower-case letters only.';
  if (name.startsWith('-') || name.endsWith('-')) return 'Start and end the name with a letter or a digit.';
  return 'Use only letters a to z, digits and hyphens.';
};

/** `what` names the field in the message: `display name`. */
export const textProblem = (text: string, what: string, lengthMax: number): string | null => {
  if (text === '') return `Enter a ${what}.`;
  if (text.length > lengthMax) return `Use at most ${lengthMax} characters for the ${what}.`;
  return DISPLAY_TEXT.test(text) ? null : `Remove <, > and invisible characters from the ${what}.`;
};

export const optionalTextProblem = (text: string, what: string, lengthMax: number): string | null =>
  text === '' ? null : textProblem(text, what, lengthMax);

/** A name suggested from a display name; the field stays editable. */
export const nameFrom = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH_MAX)
    .replace(/^-+|-+$/g, '');
