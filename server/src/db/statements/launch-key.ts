/**
 * Launch keys are grants of their owners: they end with the key, the account or the membership. An ended one leaves the
 * allocation and becomes a revoked grant, so that it is removed from the VM, later installs do not restore it, and it
 * is on record.
 */
import { ID_PREFIXES } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { REASONS } from '../../domain/reasons.ts';
import { GRANT, type GrantRow, type LostOf } from '../access-grant.ts';
import type { Reader, Tx } from '../client.ts';
import { ALLOCATION_HELD, launchKeyCounts } from '../predicates.ts';
import { statement } from '../statement.ts';

export type LaunchKey = Readonly<{ allocation_id: string; ssh_key_id: string; reason: string }>;

const LIST_LOST = statement(
  { user_id: 'text | null', limit: 'integer' },
  `select a.id as allocation_id, k.id as ssh_key_id, u.state = 'active' as is_active
   from allocations a cross join lateral unnest(a.ssh_key_ids) as w (key_id)
     join ssh_keys k on k.id = w.key_id join users u on u.id = k.user_id
   where a.state ${ALLOCATION_HELD} and (:user_id is null or k.user_id = :user_id) and not ${launchKeyCounts('u', 'a')}
   order by a.id, k.id limit :limit`,
);

/** Launch keys of users who left the project, or whose account is disabled. */
export const listLostLaunchKeys = async (reader: Reader, of: LostOf): Promise<LaunchKey[]> =>
  (await LIST_LOST.query<{ allocation_id: string; ssh_key_id: string; is_active: boolean }>(reader, of)).rows.map(
    ({ is_active, ...key }) => ({
      ...key,
      reason: is_active ? REASONS.owner_left_project : REASONS.account_disabled,
    }),
  );

const LIST_LAUNCHES = statement(
  { user_id: 'text', ssh_key_id: 'text' },
  `select a.id as allocation_id, k.id as ssh_key_id from ssh_keys k join allocations a on k.id = any (a.ssh_key_ids)
   where k.id = :ssh_key_id and k.user_id = :user_id and a.state ${ALLOCATION_HELD} order by a.id`,
);

/** The allocations that one user's key was given to at launch. */
export const listLaunchesWithKey = async (
  reader: Reader,
  key: Readonly<{ user_id: string; ssh_key_id: string }>,
): Promise<LaunchKey[]> =>
  (await LIST_LAUNCHES.query<Omit<LaunchKey, 'reason'>>(reader, key)).rows.map((use) => ({
    ...use,
    reason: REASONS.key_deleted,
  }));

const REVOKE = statement(
  { id: 'text', allocation_id: 'text', ssh_key_id: 'text', reason: 'text', correlation_id: 'text' },
  `with allocation as (
     update allocations a set ssh_key_ids = array_remove(a.ssh_key_ids, :ssh_key_id), version = a.version + 1
     where a.id = :allocation_id and :ssh_key_id = any (a.ssh_key_ids) returning a.id, a.organization_id, a.project_id, a.created_at),
   install as (
     update allocation_installs i set ssh_key_ids = array_remove(i.ssh_key_ids, :ssh_key_id) where i.allocation_id = :allocation_id)
   insert into allocation_access_grants as g (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id,
     public_key, fingerprint, state, state_reason, granted_by, correlation_id, created_at, installed_at, revoked_at)
   select :id, a.organization_id, a.project_id, a.id, k.user_id, u.name, k.id, k.public_key, k.fingerprint, 'revoking', :reason,
     k.user_id, :correlation_id, a.created_at, a.created_at, clock_timestamp()
   from allocation a join ssh_keys k on k.id = :ssh_key_id join users u on u.id = k.user_id returning ${GRANT}`,
);

/** Of a locked allocation. Undefined when it no longer has the key. */
export const revokeLaunchKey = async (
  tx: Tx,
  key: LaunchKey & Readonly<{ correlation_id: string }>,
): Promise<GrantRow | undefined> =>
  (await REVOKE.query<GrantRow>(tx, { ...key, id: mintId(ID_PREFIXES.access_grant) })).rows[0];
