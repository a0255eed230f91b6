/** The grammar of tags, by the contract's own patterns. */
import { TAG_KEY_PATTERN, TAG_VALUE_LENGTH_MAX, TAG_VALUE_PATTERN, TAGS_MAX } from '@gpuaas/sdk';

const KEY = new RegExp(TAG_KEY_PATTERN);
const VALUE = new RegExp(TAG_VALUE_PATTERN);

export type Tag = readonly [key: string, value: string | undefined];

/** Splits `team=vision`. The value is undefined without an equals sign. */
export const tagOf = (text: string): Tag => {
  const at = text.indexOf('=');
  return at === -1 ? [text.trim(), undefined] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
};

const tagProblem = ([key, value]: Tag): string | null => {
  if (value === undefined) return `Write “${key}” as key=value, for example team=vision.`;
  if (!KEY.test(key)) return `“${key}” is not a valid tag key. Use lower-case letters, digits, _ . and -.`;
  if (value.length > TAG_VALUE_LENGTH_MAX) return `The value of ${key} exceeds ${TAG_VALUE_LENGTH_MAX} characters.`;
  return VALUE.test(value) ? null : `In the value of ${key}, use only letters, digits, spaces and . _ : / @ + -.`;
};

/** The first problem of a list of tags, or null. */
export const tagsProblem = (tags: readonly Tag[]): string | null => {
  if (tags.length > TAGS_MAX) return `Use at most ${TAGS_MAX} tags; there are ${tags.length}.`;
  const keys = tags.map(([key]) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) return `The tag ${twice} appears twice.`;
  return tags.map(tagProblem).find((problem) => problem !== null) ?? null;
};
