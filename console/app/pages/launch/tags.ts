/** Tags as one line, `team=vision, run=42`: a tag's grammar has no comma, so the line says them without quotes. */
const KEY = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const VALUE = /^[A-Za-z0-9 ._:/@+-]*$/;
const VALUE_MAX = 120;
const TAGS_MAX = 32;

export type ParsedTags = Readonly<{ tags: Readonly<Record<string, string>>; problem: string | null }>;

const problemOf = (key: string, value: string | undefined): string | null => {
  if (value === undefined) return `Write "${key}" as name=value.`;
  if (!KEY.test(key)) return `"${key}" is no tag name: lower-case letters, digits, _ . and - only.`;
  if (value.length > VALUE_MAX) return `The value of ${key} has more than ${VALUE_MAX} characters.`;
  return VALUE.test(value) ? null : `The value of ${key} may hold letters, digits, spaces and . _ : / @ + - only.`;
};

export const parseTags = (text: string): ParsedTags => {
  const tags = new Map<string, string>();
  let problem: string | null = null;
  for (const part of text.split(',')) {
    const pair = part.trim();
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const key = (at === -1 ? pair : pair.slice(0, at)).trim();
    const value = at === -1 ? undefined : pair.slice(at + 1).trim();
    const wrong = tags.has(key) ? `${key} is there twice.` : problemOf(key, value);
    if (wrong === null) tags.set(key, value ?? '');
    else problem ??= wrong;
  }
  if (tags.size > TAGS_MAX) problem ??= `At most ${TAGS_MAX} tags; these are ${tags.size}.`;
  return { tags: Object.fromEntries(tags), problem };
};

export const tagsText = (tags: Readonly<Record<string, string>>): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
