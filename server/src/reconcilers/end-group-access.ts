/**
 * Ends memberships by groups that no sign-in confirmed for too long. Groups are known from the tokens of the issuer only,
 * so a person who left the group, or the company, and uses API tokens or SSH keys only, would otherwise keep the access.
 * Each user is checked again once the row is locked: a sign-in at this moment keeps the memberships.
 */
import { randomUUID } from 'node:crypto';
import { type Database, PLATFORM } from '../db/client.ts';
import { forgetGroups, listUsersOfOldGroups } from '../db/user.ts';
import { followGroups } from '../identity/group-access.ts';
import { emitInto } from '../identity/new-organization.ts';
import { eachRow } from './each-row.ts';

const BATCH_ROWS = 100;

export type EndGroupAccessDeps = Readonly<{ database: Database; max_age_days: number }>;

const endOne = ({ database, max_age_days }: EndGroupAccessDeps, id: string): Promise<boolean> =>
  database.write(PLATFORM, async (tx) => {
    if (!(await forgetGroups(tx, id, max_age_days))) return false;
    const correlation_id = `c-${randomUUID()}`;
    const { emit, sent } = emitInto(tx, correlation_id);
    const policy = `no sign-in confirmed the groups of the user for ${max_age_days} days`;
    const actor = {
      actor_kind: 'system',
      actor_id: null,
      actor_role: null,
      source_ip: null,
      user_agent: null,
    } as const;
    await followGroups(tx, { id, groups: null, policy }, { ...actor, correlation_id }, emit);
    await sent();
    return true;
  });

/** Returns of how many users the groups were forgotten. Throws after the last one if any failed. */
export const endGroupAccess = (deps: EndGroupAccessDeps, signal?: AbortSignal): Promise<number> =>
  eachRow({
    list: (after: string | undefined) =>
      deps.database.read(PLATFORM, (reader) =>
        listUsersOfOldGroups(reader, deps.max_age_days, { after: after ?? '', limit: BATCH_ROWS }),
      ),
    handle: (id) => endOne(deps, id),
    failed: 'could not be ended',
    signal,
  });
