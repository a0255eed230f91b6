/**
 * Grants: SSH keys of an allocation besides those of its launch. Launch keys end as grants do
 * (`statements/launch-key.ts`). A grant is live until it is revoked. The wanted keys of a VM are those of the launch
 * and of the live grants; its current keys are those of the last installation.
 */
import type { ProjectRole, TenantRole } from '@gpuaas/contract';
import { REASONS } from '../domain/reasons.ts';
import type { Reader, Tx } from './client.ts';
import { createKeptPurge, LOOK_AGAIN } from './keep.ts';
import { ALLOCATION_ENDED, isInProject, launchKeyCounts, taskKindIn } from './predicates.ts';
import { statement } from './statement.ts';
import type { AllocationAccessGrants, SshKeys, Users } from './types.gen.ts';

export type GrantRow = Readonly<
  Pick<
    AllocationAccessGrants,
    | 'id'
    | 'allocation_id'
    | 'user_id'
    | 'user_name'
    | 'ssh_key_id'
    | 'fingerprint'
    | 'state'
    | 'state_reason'
    | 'granted_by'
    | 'correlation_id'
    | 'created_at'
    | 'installed_at'
    | 'revoked_at'
  >
>;

export const GRANT = `g.id, g.allocation_id, g.user_id, g.user_name, g.ssh_key_id, g.fingerprint, g.state, g.state_reason,
  g.granted_by, g.correlation_id, g.created_at, g.installed_at, g.revoked_at`;

export type NewGrant = Readonly<
  Pick<
    AllocationAccessGrants,
    | 'id'
    | 'organization_id'
    | 'project_id'
    | 'allocation_id'
    | 'user_id'
    | 'user_name'
    | 'ssh_key_id'
    | 'public_key'
    | 'fingerprint'
    | 'granted_by'
    | 'correlation_id'
  >
>;

const INSERT_GRANT = statement(
  {
    id: 'text',
    organization_id: 'text',
    project_id: 'text',
    allocation_id: 'text',
    user_id: 'text',
    user_name: 'text',
    ssh_key_id: 'text',
    public_key: 'text',
    fingerprint: 'text',
    granted_by: 'text',
    correlation_id: 'text',
  },
  `insert into allocation_access_grants as g (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id,
     public_key, fingerprint, granted_by, correlation_id)
   values (:id, :organization_id, :project_id, :allocation_id, :user_id, :user_name, :ssh_key_id, :public_key, :fingerprint, :granted_by,
     :correlation_id) returning ${GRANT}`,
);

export const insertGrant = async (tx: Tx, row: NewGrant): Promise<GrantRow | undefined> =>
  (await INSERT_GRANT.query<GrantRow>(tx, row)).rows[0];

/** Newest first. */
export const listGrants = async (
  reader: Reader,
  allocationId: string,
  page: Readonly<{ before: string | null; limit: number }>,
): Promise<GrantRow[]> =>
  (
    await reader.query<GrantRow>(
      `select ${GRANT} from allocation_access_grants g where g.allocation_id = $1 and ($2::text is null or g.id < $2)
       order by g.id desc limit $3`,
      [allocationId, page.before, page.limit],
    )
  ).rows;

export const findGrant = async (reader: Reader, allocationId: string, id: string): Promise<GrantRow | undefined> =>
  (
    await reader.query<GrantRow>(
      `select ${GRANT} from allocation_access_grants g where g.allocation_id = $1 and g.id = $2`,
      [allocationId, id],
    )
  ).rows[0];

export type KeyOfMember = Readonly<
  Pick<SshKeys, 'id' | 'user_id' | 'public_key' | 'fingerprint'> & {
    user_name: Users['name'];
    user_state: Users['state'];
    tenant_role: TenantRole | null;
    project_role: ProjectRole | null;
  }
>;

/**
 * A key with its owner and the owner's role in the project. Users see their own keys: only the platform scope sees all.
 */
export const findKeyOfMember = async (
  reader: Reader,
  asked: Readonly<{ ssh_key_id: string; organization_id: string; project_id: string }>,
): Promise<KeyOfMember | undefined> =>
  (
    await reader.query<KeyOfMember>(
      `select k.id, k.user_id, u.name as user_name, u.state as user_state, k.public_key, k.fingerprint,
         (select m.role from tenant_memberships m where m.organization_id = $2 and m.user_id = u.id) as tenant_role,
         (select p.role from project_memberships p where p.project_id = $3 and p.user_id = u.id) as project_role
       from ssh_keys k join users u on u.id = k.user_id where k.id = $1`,
      [asked.ssh_key_id, asked.organization_id, asked.project_id],
    )
  ).rows[0];

export type KeysOfAllocation = Readonly<{
  live_grants: number;
  launch_keys: number;
  is_of_launch: boolean;
  /** The live grant of this key. */
  grant_id: string | null;
  grant_state: string | null;
}>;

/**
 * The existing keys of an allocation, and whether this key is among them. Only the platform scope sees all launch keys.
 */
export const findKeysOfAllocation = async (
  reader: Reader,
  asked: Readonly<{ allocation_id: string; ssh_key_ids: readonly string[]; fingerprint: string }>,
): Promise<KeysOfAllocation | undefined> =>
  (
    await reader.query<KeysOfAllocation>(
      `select (select count(*) from allocation_access_grants g where g.allocation_id = $1 and g.revoked_at is null) as live_grants,
         (select count(*) from ssh_keys k where k.id = any ($2)) as launch_keys,
         exists (select from ssh_keys k where k.id = any ($2) and k.fingerprint = $3) as is_of_launch,
         g.id as grant_id, g.state as grant_state
       from (select 1) one left join allocation_access_grants g
         on g.allocation_id = $1 and g.fingerprint = $3 and g.revoked_at is null`,
      [asked.allocation_id, asked.ssh_key_ids, asked.fingerprint],
    )
  ).rows[0];

/** A failed installation is retried. */
export const retryGrant = async (tx: Tx, id: string, correlationId: string): Promise<GrantRow | undefined> =>
  (
    await tx.query<GrantRow>(
      `update allocation_access_grants g set state = 'pending', state_reason = null, correlation_id = $2
       where g.id = $1 and g.state = 'failed' returning ${GRANT}`,
      [id, correlationId],
    )
  ).rows[0];

/** Undefined when it was revoked before. */
export const revokeGrant = async (
  tx: Tx,
  id: string,
  revocation: Readonly<{ reason: string | null; correlation_id: string }>,
): Promise<GrantRow | undefined> =>
  (
    await tx.query<GrantRow>(
      `update allocation_access_grants g set state = 'revoking', state_reason = $2, correlation_id = $3, revoked_at = clock_timestamp()
       where g.id = $1 and g.revoked_at is null returning ${GRANT}`,
      [id, revocation.reason, revocation.correlation_id],
    )
  ).rows[0];

export type FinishedGrant = GrantRow & Readonly<{ organization_id: string; project_id: string }>;

/** The keys in a task are the keys of the VM, since the allocation was locked when the task was written. */
const START = `(select s.id from node_tasks s where s.allocation_id = $1 and s.state = 'completed'
  and s.kind ${taskKindIn('slice.vm_start', 'allocation.provision_user')} order by s.id desc limit 1)`;

/**
 * A VM has the keys of its last task; without a task, those of the first boot of its system. Grants among these keys
 * become installed; those revoked before the task was written are removed.
 */
export const finishGrants = async (tx: Tx, allocationId: string, taskId: string | null): Promise<FinishedGrant[]> =>
  (
    await tx.query<FinishedGrant>(
      `update allocation_access_grants g set state_reason = null,
         state = case when g.revoked_at is null then 'installed' else 'revoked' end,
         installed_at = case when g.revoked_at is null then clock_timestamp() else g.installed_at end
       from node_tasks t where t.id = coalesce($2, ${START}) and g.allocation_id = $1
         and (g.state in ('pending', 'failed') and t.params -> 'ssh_public_keys' ? g.public_key
           or g.state = 'revoking' and g.revoked_at <= t.created_at) returning ${GRANT}, g.organization_id, g.project_id`,
      [allocationId, taskId],
    )
  ).rows;

/** The installation failed. A revocation stays pending, is retried, and is reported once. */
export const failGrants = async (
  tx: Tx,
  allocationId: string,
  reason: Readonly<{ pending: string; revoking: string }>,
): Promise<FinishedGrant[]> =>
  (
    await tx.query<FinishedGrant>(
      `update allocation_access_grants g set state_reason = case when g.state = 'pending' then $2 else $3 end,
         state = case when g.state = 'pending' then 'failed' else g.state end
       where g.allocation_id = $1 and (g.state = 'pending' or g.state = 'revoking' and g.state_reason is distinct from $3) returning ${GRANT}, g.organization_id, g.project_id`,
      [allocationId, reason.pending, reason.revoking],
    )
  ).rows;

/** Whether its VM needs another installation. */
export const hasPendingGrants = async (reader: Reader, allocationId: string): Promise<boolean> =>
  (
    await reader.query(
      "select from allocation_access_grants g where g.allocation_id = $1 and g.state in ('pending', 'revoking') limit 1",
      [allocationId],
    )
  ).rowCount === 1;

/** The change that its VM still lacks, the newest if there are several; undefined when it lacks none. */
export const findPendingCause = async (reader: Reader, allocationId: string): Promise<string | undefined> =>
  (
    await reader.query<{ correlation_id: string }>(
      `select g.correlation_id from allocation_access_grants g where g.allocation_id = $1 and g.state in ('pending', 'revoking')
       order by coalesce(g.revoked_at, g.created_at) desc, g.id desc limit 1`,
      [allocationId],
    )
  ).rows[0]?.correlation_id;

/** The wanted keys of the VM of an allocation, in a stable order. */
export const listAuthorizedKeys = async (
  reader: Reader,
  allocation: Readonly<{ id: string; ssh_key_ids: readonly string[] }>,
): Promise<string[]> =>
  (
    await reader.query<{ public_key: string }>(
      `select k.public_key from (
         select k.public_key, k.id from allocations a join ssh_keys k on k.id = any ($2) join users u on u.id = k.user_id
         where a.id = $1 and ${launchKeyCounts('u', 'a')}
         union all select g.public_key, g.ssh_key_id from allocation_access_grants g where g.allocation_id = $1 and g.revoked_at is null) k
       group by k.public_key order by min(k.id)`,
      [allocation.id, allocation.ssh_key_ids],
    )
  ).rows.map(({ public_key }) => public_key);

export type LostGrant = Readonly<{ id: string; allocation_id: string; reason: string }>;

/** Of every user, or of one. */
export type LostOf = Readonly<{ user_id: string | null; limit: number }>;

/** Live grants of users who left the project, whose account is disabled, or whose key was deleted. */
export const listLostGrants = async (reader: Reader, of: LostOf): Promise<LostGrant[]> =>
  (
    await reader.query<{ id: string; allocation_id: string; cause: keyof typeof REASONS }>(
      `select g.id, g.allocation_id, case when u.state <> 'active' then 'account_disabled'
           when k.id is null then 'key_deleted' else 'owner_left_project' end as cause
       from allocation_access_grants g join users u on u.id = g.user_id left join ssh_keys k on k.id = g.ssh_key_id
       where g.revoked_at is null and ($1::text is null or g.user_id = $1)
         and (u.state <> 'active' or k.id is null or not ${isInProject('u', 'g')})
       order by g.allocation_id, g.id limit $2`,
      [of.user_id, of.limit],
    )
  ).rows.map(({ cause, ...grant }) => ({ ...grant, reason: REASONS[cause] }));

/**
 * Allocations whose VM runs with outdated keys, without a run that will install them. After a failed removal, which gives
 * the grant this reason, there is a delay.
 */
export const listAllocationsWithPendingGrants = async (
  reader: Reader,
  asked: Readonly<{ workflow: string; failed_reason: string; rest_s: number; limit: number }>,
): Promise<string[]> =>
  (
    await reader.query<{ id: string }>(
      `select distinct a.id from allocation_access_grants g join allocations a on a.id = g.allocation_id
       where g.state in ('pending', 'revoking') and a.state = 'active'
         and (a.capacity_shape = 'baremetal' or a.power_state in ('on', 'unknown'))
         and not exists (select from workflow_runs r where r.workflow = $1 and r.subject_id = a.id and (r.finished_at is null
           or g.state_reason = $4 and r.finished_at > clock_timestamp() - make_interval(secs => $2)))
       order by a.id limit $3`,
      [asked.workflow, asked.rest_s, asked.limit, asked.failed_reason],
    )
  ).rows.map(({ id }) => id);

/** Grants of allocations that ended long ago. Before, a revoked one keeps its key from the VM. */
export const GRANTS = createKeptPurge({
  table: 'allocation_access_grants',
  age: 'created_at',
  columns: 't.allocation_id',
  kept_until: `case when exists (select from allocations a where a.id = o.allocation_id
      and a.state ${ALLOCATION_ENDED} and a.state_since < now() - make_interval(days => $2)) then null
    else now() + ${LOOK_AGAIN} end`,
});
