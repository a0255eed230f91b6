/** What the edit dialog changes: only what differs from what is there goes into the request and the command. */
import type { Allocation } from '@gpuaas/sdk';
import type { RequestOf } from '../../api/call.ts';
import type { Flag } from '../../format/shell.ts';

export type EditForm = Readonly<{ name: string; tags: readonly string[]; isProtected: boolean; hours: string }>;
export type EditBody = NonNullable<RequestOf<'allocationUpdate'>['body']>;

const HOUR_S = 3600;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const TAG_KEY = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const TAG_VALUE = /^[A-Za-z0-9 ._:/@+-]{0,120}$/;
const MIN_S = 300;
const MAX_S = 31_536_000;
const TAGS_MAX = 32;

export const formOf = ({ name, tags, is_protected, max_duration_s }: Allocation): EditForm => ({
  name,
  tags: Object.entries(tags).map(([key, value]) => `${key}=${value}`),
  isProtected: is_protected,
  hours: max_duration_s === null ? '' : String(Number((max_duration_s / HOUR_S).toFixed(4))),
});

const pairOf = (tag: string): readonly [string, string] => {
  const at = tag.indexOf('=');
  return at === -1 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)];
};

export const tagsOf = (tags: readonly string[]): Record<string, string> => Object.fromEntries(tags.map(pairOf));

export const lifetimeOf = ({ hours }: Pick<EditForm, 'hours'>): number | null =>
  hours.trim() === '' ? null : Math.round(Number(hours) * HOUR_S);

export type EditProblems = Readonly<{ name?: string; tags?: string; hours?: string }>;

const nameProblem = (name: string): string | null =>
  NAME.test(name) ? null : 'Lower-case letters, digits and hyphens, at most 63, no hyphen at either end.';

const tagsProblem = (tags: readonly string[]): string | null => {
  if (tags.length > TAGS_MAX) return `At most ${TAGS_MAX} tags.`;
  const wrong = tags.find(
    (tag) => !tag.includes('=') || !TAG_KEY.test(pairOf(tag)[0]) || !TAG_VALUE.test(pairOf(tag)[1]),
  );
  if (wrong !== undefined) return `“${wrong}” is not a tag: write key=value, like team=vision.`;
  const keys = tags.map((tag) => pairOf(tag)[0]);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  return twice === undefined ? null : `The tag ${twice} is there twice.`;
};

const hoursProblem = (form: EditForm, activatedAt: string | null, nowMs: number): string | null => {
  const seconds = lifetimeOf(form);
  if (seconds === null) return null;
  if (!Number.isFinite(seconds) || seconds < MIN_S || seconds > MAX_S)
    return 'From 5 minutes (0.0834) to one year (8760).';
  if (activatedAt !== null && Date.parse(activatedAt) + seconds * 1000 <= nowMs)
    return 'That time is over already: it would be released at once. Use Release for that.';
  return null;
};

export const problemsOf = (form: EditForm, activatedAt: string | null, nowMs: number): EditProblems => {
  const found = {
    name: nameProblem(form.name),
    tags: tagsProblem(form.tags),
    hours: hoursProblem(form, activatedAt, nowMs),
  };
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null));
};

const sameTags = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

export const bodyOf = (before: Allocation, form: EditForm): EditBody => {
  const tags = tagsOf(form.tags);
  const max_duration_s = form.hours === formOf(before).hours ? before.max_duration_s : lifetimeOf(form);
  return {
    ...(form.name === before.name ? {} : { name: form.name }),
    ...(sameTags(tags, before.tags) ? {} : { tags }),
    ...(form.isProtected === before.is_protected ? {} : { is_protected: form.isProtected }),
    ...(max_duration_s === before.max_duration_s ? {} : { max_duration_s }),
  };
};

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** As the command line reads it, in the largest unit that says it exactly: 4h, 90m. */
const durationWord = (seconds: number): string => {
  const [unit, size] = UNITS.find(([, one]) => seconds % one === 0) ?? UNITS[3];
  return `${seconds / size}${unit}`;
};

/** The same change as flags of `gpuaas allocation update`, which adds and takes away tags one by one. */
export const updateFlags = (before: Allocation, body: EditBody): readonly Flag[] => {
  const { name, tags, is_protected, max_duration_s } = body;
  const set = Object.entries(tags ?? {}).filter(([key, value]) => before.tags[key] !== value);
  const gone = tags === undefined ? [] : Object.keys(before.tags).filter((key) => !Object.hasOwn(tags, key));
  return [
    ['name', name],
    ...set.map(([key, value]): Flag => ['tag', `${key}=${value}`]),
    ...gone.map((key): Flag => ['untag', key]),
    ['protect', is_protected === true],
    ['no-protect', is_protected === false],
    ['max-duration', max_duration_s === undefined || max_duration_s === null ? null : durationWord(max_duration_s)],
    ['unlimited', max_duration_s === null],
  ];
};
