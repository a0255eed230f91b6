/**
 * An export of the issuer's groups, compared with what users had here. The export is the truth about the groups that it
 * names, so a cut one would end the access of people who still have it: what is certainly incomplete is refused, and what
 * may be incomplete is a warning that an operator accepts.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';

export type GroupMembers = RequestOf<PublicApi['adminGroupSyncPlan']>['body']['members'];

export type MembersIndex = Readonly<{ groups: ReadonlySet<string>; of: ReadonlyMap<string, readonly string[]> }>;

/** The groups of each subject, in the order of their names. */
export const indexMembers = ({ groups }: GroupMembers): MembersIndex => {
  const of = new Map<string, string[]>();
  for (const [group, subjects] of Object.entries(groups).sort(([a], [b]) => (a < b ? -1 : 1)))
    for (const subject of subjects) {
      const known = of.get(subject);
      if (known === undefined) of.set(subject, [group]);
      else known.push(group);
    }
  return { groups: new Set(Object.keys(groups)), of };
};

/** Groups that the export does not name stay as stored. Null: none. */
export const groupsAfter = (
  stored: readonly string[] | null,
  { groups, of }: MembersIndex,
  subject: string,
): readonly string[] | null => {
  const all = [...(stored ?? []).filter((group) => !groups.has(group)), ...(of.get(subject) ?? [])];
  return all.length === 0 ? null : all;
};

const FUTURE_TOLERANCE_MS = 5_000;

export type MembersProblem = Readonly<{ pointer: string; message: string }>;

/** What makes the export unusable, with the pointer into it. */
export const membersProblems = (
  members: GroupMembers,
  facts: Readonly<{ issuer: string; mapped: readonly string[]; now_ms: number }>,
): MembersProblem[] => {
  const found: MembersProblem[] = [];
  if (members.issuer !== facts.issuer)
    found.push({ pointer: '/issuer', message: `must be the issuer of this site, ${facts.issuer}` });
  if (Date.parse(members.exported_at) > facts.now_ms + FUTURE_TOLERANCE_MS)
    found.push({ pointer: '/exported_at', message: 'is in the future' });
  const missing = [...new Set(facts.mapped)].filter((group) => !Object.hasOwn(members.groups, group));
  for (const group of missing.slice(0, 10))
    found.push({
      pointer: '/groups',
      message: `lacks the mapped group ${JSON.stringify(group)}: add all its members, or [] if it no longer exists`,
    });
  return found;
};

const OLD_AFTER_MS = 3_600_000;
/** Where issuers end a page unless they are asked for the next one. */
const PAGE_MEMBERS = 100;

export type SyncFacts = Readonly<{
  now_ms: number;
  /** Subjects of the export that are known here. */
  known: number;
  /** Users with a membership by a group now, and how many of them lose all of these. */
  holders: number;
  losing_all: number;
  mapped: readonly string[];
  /** Users who had a group at their last sign-in. */
  stored: ReadonlyMap<string, number>;
}>;

const users = (count: number): string => (count === 1 ? '1 user' : `${count} users`);

export const syncWarnings = (members: GroupMembers, facts: SyncFacts): string[] => {
  const found: string[] = [];
  const subjects = new Set(Object.values(members.groups).flat()).size;
  if (subjects === 0 && facts.holders > 0) found.push('The export holds no member at all.');
  else if (subjects > 0 && facts.known === 0)
    found.push('No member of the export has signed in here: check that it holds the subjects (`sub`) of users.');
  for (const group of [...new Set(facts.mapped)].sort()) {
    const count = members.groups[group]?.length ?? 0;
    const had = facts.stored.get(group) ?? 0;
    if (count === 0 && had > 0 && subjects > 0)
      found.push(
        `The group ${JSON.stringify(group)} has no members in the export, but ${users(had)} ${had === 1 ? 'has' : 'have'} roles from it.`,
      );
    if (count > 0 && count % PAGE_MEMBERS === 0)
      found.push(
        `The group ${JSON.stringify(group)} has exactly ${count} members, as a cut list does: check that all pages were read.`,
      );
  }
  if (facts.losing_all > 1 && facts.losing_all * 2 > facts.holders)
    found.push(`${facts.losing_all} of the ${users(facts.holders)} with access by groups lose all of it.`);
  const age = facts.now_ms - Date.parse(members.exported_at);
  if (age > OLD_AFTER_MS)
    found.push(`The export is ${Math.floor(age / 3_600_000)} h old: the issuer may have changed since.`);
  return found;
};
