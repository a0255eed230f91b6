/** The edit dialog's values: only changed fields go into the request and the command. */
import type { Allocation } from '@gpuaas/sdk';
import type { RequestOf } from '../../api/call.ts';
import type { Flag } from '../../format/shell.ts';
import { durationFlag } from '../../format/time.ts';
import { maxDurationProblem } from '../../rules/max-duration.ts';
import { nameProblem } from '../../rules/name.ts';
import { tagOf, tagsProblem } from '../../rules/tag.ts';

export type EditForm = { name: string; tags: string[]; isProtected: boolean; hours: string };
export type EditBody = NonNullable<RequestOf<'allocationUpdate'>['body']>;

const HOUR_S = 3600;

export const formOf = ({ name, tags, is_protected, max_duration_s }: Allocation): EditForm => ({
  name,
  tags: Object.entries(tags).map(([key, value]) => `${key}=${value}`),
  isProtected: is_protected,
  hours: max_duration_s === null ? '' : String(Number((max_duration_s / HOUR_S).toFixed(4))),
});

const tagsOf = (tags: readonly string[]): Record<string, string> =>
  Object.fromEntries(tags.map(tagOf).map(([key, value]) => [key, value ?? '']));

export const maxDurationOf = ({ hours }: Pick<EditForm, 'hours'>): number | null =>
  hours.trim() === '' ? null : Math.round(Number(hours) * HOUR_S);

export type EditProblems = Readonly<{ name?: string; tags?: string; hours?: string }>;

const hoursProblem = (form: EditForm, activatedAt: string | null, nowMs: number): string | null => {
  const seconds = maxDurationOf(form);
  if (seconds === null) return null;
  const problem = maxDurationProblem(seconds);
  if (problem === null && activatedAt !== null && Date.parse(activatedAt) + seconds * 1000 <= nowMs)
    return 'This maximum duration has already passed. To end the allocation now, use Release.';
  return problem;
};

export const problemsOf = (form: EditForm, activatedAt: string | null, nowMs: number): EditProblems => {
  const found = {
    name: nameProblem(form.name),
    tags: tagsProblem(form.tags.map(tagOf)),
    hours: hoursProblem(form, activatedAt, nowMs),
  };
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null));
};

const sameTags = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

export const bodyOf = (before: Allocation, form: EditForm): EditBody => {
  const tags = tagsOf(form.tags);
  const max_duration_s = form.hours === formOf(before).hours ? before.max_duration_s : maxDurationOf(form);
  return {
    ...(form.name === before.name ? {} : { name: form.name }),
    ...(sameTags(tags, before.tags) ? {} : { tags }),
    ...(form.isProtected === before.is_protected ? {} : { is_protected: form.isProtected }),
    ...(max_duration_s === before.max_duration_s ? {} : { max_duration_s }),
  };
};

/** The same change as flags of `gpuaas allocation update`, which adds and removes single tags. */
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
    ['max-duration', max_duration_s === undefined || max_duration_s === null ? null : durationFlag(max_duration_s)],
    ['unlimited', max_duration_s === null],
  ];
};
