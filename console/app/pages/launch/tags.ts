/** Tags as one line, `team=vision, run=42`. Keys and values hold no comma, so the line needs no quotes. */
import { tagOf, tagsProblem } from '../../rules/tag.ts';

export type ParsedTags = Readonly<{ tags: Readonly<Record<string, string>>; problem: string | null }>;

export const parseTags = (text: string): ParsedTags => {
  const tags = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(tagOf);
  return { tags: Object.fromEntries(tags.map(([key, value]) => [key, value ?? ''])), problem: tagsProblem(tags) };
};

export const tagsText = (tags: Readonly<Record<string, string>>): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
