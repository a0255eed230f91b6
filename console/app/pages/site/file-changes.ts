/** The changes of a plan in words, grouped by what happens to each row. */
import type { Operations } from '@gpuaas/sdk';
import { count } from '../../format/size.ts';
import type { Tone } from '../../format/state.ts';

export type Plan = Operations['adminSitePlan']['response'];
export type Change = Plan['changes'][number];

export const SECTION_WORDS: Readonly<Record<Change['section'], string>> = {
  regions: 'Region',
  skus: 'SKU',
  vm_profiles: 'VM profile',
  prices: 'Price',
  images: 'Image',
  pools: 'Pool',
  policy: 'Sign-up',
  quotas: 'GPU limit',
  group_mappings: 'Group mapping',
};

export const ACTION_WORDS: Readonly<Record<Change['action'], readonly [word: string, tone: Tone]>> = {
  create: ['Create', 'good'],
  update: ['Change', 'busy'],
  retire: ['Retire', 'warn'],
  delete: ['Delete', 'warn'],
  cancel: ['Cancel', 'warn'],
};

const GROUPS: readonly Readonly<{ title: string; done: string; actions: readonly Change['action'][] }>[] = [
  { title: 'Create', done: 'created', actions: ['create'] },
  { title: 'Change', done: 'changed', actions: ['update'] },
  { title: 'Retire', done: 'retired', actions: ['retire', 'delete', 'cancel'] },
];

export type Group = Readonly<{ title: string; done: string; changes: readonly Change[] }>;

/** Groups without a change are left out; within a group the order of the plan stays. */
export const groupsOf = (changes: readonly Change[]): readonly Group[] =>
  GROUPS.map(({ title, done, actions }) => ({
    ...{ title, done },
    changes: changes.filter(({ action }) => actions.includes(action)),
  })).filter((group) => group.changes.length > 0);

const totalText = (changes: readonly Change[], wordOf: (group: Group) => string): string =>
  `${count(changes.length, 'change')}: ${groupsOf(changes)
    .map((group) => `${group.changes.length} ${wordOf(group)}`)
    .join(', ')}.`;

/** `14 changes: 12 to create, 2 to retire.` */
export const plannedText = (changes: readonly Change[]): string =>
  totalText(changes, ({ title }) => `to ${title.toLowerCase()}`);

/** `14 changes: 12 created, 2 retired.` */
export const appliedText = (changes: readonly Change[]): string => totalText(changes, ({ done }) => done);

export const blockersOf = (changes: readonly Change[]): readonly string[] => [
  ...new Set(changes.flatMap(({ blockers }) => blockers)),
];
