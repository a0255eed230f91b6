/**
 * Memberships from an export of the issuer: plan and apply. A sign-in tells the groups of one user, and only then; the
 * export tells those of everyone now. Applying plans again in its transaction, and follows the groups of each user as a
 * sign-in at the time of the export would have: one that came later counts instead.
 */
import { createHash } from 'node:crypto';
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { Config } from '../config.ts';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { listMappedGroups, listSyncUsers, readPlaceNames, type SyncUser } from '../db/group-mapping.ts';
import { readNow } from '../db/statements/site.ts';
import { type AccessChange, planGroupAccess } from '../domain/group-access.ts';
import { type GroupMembers, groupsAfter, indexMembers, membersProblems, syncWarnings } from '../domain/group-sync.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict } from '../errors.ts';
import { followGroups, type GroupActor } from '../identity/group-access.ts';
import { principalOf } from '../pipeline/caller.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const USERS_PER_PAGE = 500;
const POLICY = 'memberships follow the export of the identity provider that an operator applied';

const issuerOf = ({ oidc, public_url }: Config): string => oidc.issuer ?? `${public_url}/oidc`;

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

const listAllUsers = async (
  reader: Reader,
  members: GroupMembers,
  subjects: readonly string[],
): Promise<SyncUser[]> => {
  const all: SyncUser[] = [];
  for (;;) {
    const { issuer, exported_at } = members;
    const after = all.at(-1)?.id ?? '';
    const page = await listSyncUsers(reader, { issuer, exported_at, subjects, after, limit: USERS_PER_PAGE });
    all.push(...page);
    if (page.length < USERS_PER_PAGE) return all;
  }
};

type PlannedUser = Readonly<{ user: SyncUser; groups: readonly string[] | null; changes: readonly AccessChange[] }>;

/** Also what ends with a membership in an organization. */
const losesAll = ({ user, changes }: PlannedUser): boolean => {
  const held = user.held.filter(({ source }) => source === 'group');
  const ended = new Set(
    changes.flatMap((one) => (one.kind === 'remove' ? (one.project_id ?? one.organization_id) : [])),
  );
  return (
    held.length > 0 &&
    held.every(({ organization_id, project_id }) => ended.has(organization_id) || ended.has(project_id ?? '')) &&
    changes.every(({ kind }) => kind === 'remove')
  );
};

const planMembers = async (ctx: Ctx, reader: Reader, members: GroupMembers) => {
  const now_ms = Date.parse(await readNow(reader));
  const mappings = await listMappedGroups(reader);
  const mapped = mappings.map(({ group_name }) => group_name);
  const problems = membersProblems(members, { issuer: issuerOf(ctx.deps.config), mapped, now_ms });
  if (problems.length > 0)
    throw new AppError('invalid_request', REFUSALS.group_members(problems.length), {
      errors: problems.map(({ pointer, message }) => ({
        ...{ pointer: `/body/members${pointer}`, code: 'unusable', message },
      })),
    });
  const index = indexMembers(members);
  const users = await listAllUsers(reader, members, [...index.of.keys()]);
  const planned = users
    .filter(({ is_newer }) => !is_newer)
    .map((user): PlannedUser => {
      const groups = groupsAfter(user.groups, index, user.subject);
      const roles = mappings.filter(({ group_name }) => groups?.includes(group_name) === true);
      return { user, groups, changes: planGroupAccess(roles, user.held, user.blocked) };
    });
  const stored = new Map<string, number>();
  for (const group of planned.flatMap(({ user }) => user.groups ?? [])) stored.set(group, (stored.get(group) ?? 0) + 1);
  const known = users.filter(({ subject }) => index.of.has(subject)).length;
  const warnings = syncWarnings(members, {
    ...{ now_ms, known, mapped, stored },
    holders: planned.filter(({ user }) => user.held.some(({ source }) => source === 'group')).length,
    losing_all: planned.filter(losesAll).length,
  });
  return { planned, warnings, users_unknown: index.of.size - known, users_newer: users.length - planned.length };
};

type Planned = Awaited<ReturnType<typeof planMembers>>;

const view = async (reader: Reader, members: GroupMembers, plan: Planned) => {
  const all = plan.planned.flatMap(({ user, changes }) => changes.map((change) => ({ user, ...change })));
  const names = await readPlaceNames(reader, {
    organizations: [...new Set(all.map(({ organization_id }) => organization_id))],
    projects: [...new Set(all.flatMap(({ project_id }) => project_id ?? []))],
  });
  const count = (kind: AccessChange['kind']): number => sum(all.map((one) => Number(one.kind === kind)));
  const changes = all.map(({ user, kind, organization_id, project_id, role }) => ({
    ...{ user_id: user.id, user_name: user.name, email: user.email, action: kind, role },
    organization_name: names.get(organization_id) ?? organization_id,
    project_name: project_id === null ? null : (names.get(project_id) ?? project_id),
  }));
  const { warnings, users_newer, users_unknown } = plan;
  const text = JSON.stringify([members, changes, warnings]);
  return {
    hash: createHash('sha256').update(text).digest('hex').slice(0, 16),
    ...{ users_checked: plan.planned.length + users_newer, users_newer, users_unknown },
    memberships_granted: count('grant'),
    memberships_changed: count('change'),
    memberships_removed: count('remove'),
    ...{ changes, warnings },
  };
};

export const plan = (ctx: ReadCtx, { body: { members } }: Req<'adminGroupSyncPlan'>) =>
  ctx.read(async (reader) => view(reader, members, await planMembers(ctx, reader, members)));

export const apply = async (ctx: WriteCtx, { body }: Req<'adminGroupSyncApply'>) => {
  const { members, hash, accept_warnings = false } = body;
  const { source_ip, user_agent, correlation_id, tx } = ctx;
  const found = await planMembers(ctx, tx, members);
  const done = await view(tx, members, found);
  if (done.hash !== hash) throw conflict(REFUSALS.group_sync_changed);
  if (done.warnings.length > 0 && !accept_warnings) throw conflict(REFUSALS.group_sync_warnings(done.warnings));
  const actor: GroupActor = {
    ...{ source_ip, user_agent, correlation_id },
    ...{ actor_kind: 'user', actor_id: principalOf(ctx).id, actor_role: null },
  };
  for (const { user, groups } of found.planned)
    await followGroups(tx, { id: user.id, groups, issued_at: members.exported_at, policy: POLICY }, actor, ctx.emit);
  const { changes: _, hash: __, ...facts } = done;
  ctx.note({ ...facts, exported_at: members.exported_at });
  ctx.target('group_mapping', 'all');
  return done;
};
