/**
 * The start of a restore, which ends credentials and holds tasks, the release of one node, and the record that the database
 * was compared with the heads outside it. A backup restores
 * credentials that were revoked since, and tasks for disks that belong to other tenants since.
 */
import { REASONS } from '../../domain/reasons.ts';
import { HELD_TASK_KINDS } from '../../domain/task.ts';
import { taskExpiresS } from '../../domain/task-limit.ts';
import type { Reader, Tx } from '../client.ts';
import { databaseName, HEADS_COMPARED, NODE_OVER } from '../predicates.ts';
import type { EndedCredentials, LostChanges, LostIdentityChange } from '../restore.ts';
import { statement } from '../statement.ts';

/** An unknown secret, where a service account must have one. */
const NOBODYS_SECRET = "sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || sa.id, 'UTF8'))";

const BEGIN = statement(
  {
    id: 'text',
    began_by: 'text',
    reason: 'text',
    older_than: 'timestamptz | null',
    lost_changes: 'jsonb',
    identity_changes: 'jsonb',
    ends_certificates: 'boolean',
    certificate_reason: 'text',
    correlation_id: 'text',
    end_message: 'text',
  },
  `with cut as materialized (select least(coalesce(:older_than, clock_timestamp()), clock_timestamp()) as at),
   token as (
     update api_tokens set revoked_at = clock_timestamp() where revoked_at is null and created_at < (select at from cut) returning 1),
   secret as (
     update service_accounts sa set secret_hash = ${NOBODYS_SECRET}, previous_secret_hash = null, previous_secret_until = null,
       secret_rotated_at = clock_timestamp(), version = sa.version + 1
     where sa.deleted_at is null and sa.secret_rotated_at < (select at from cut) returning 1),
   web as (delete from web_sessions where created_at < (select at from cut) returning 1),
   record as (delete from oidc_records),
   session as (
     update terminal_sessions set state = 'closed', ticket_hash = null, closed_at = clock_timestamp(), end_reason = 'revoked', end_message = :end_message
     where state <> 'closed' and created_at < (select at from cut) returning 1),
   invitation as (
     update invitations set state = 'revoked' where state = 'pending' and created_at < (select at from cut) returning 1),
   enrollment as (
     update node_enrollments set revoked_at = clock_timestamp()
     where used_at is null and revoked_at is null and created_at < (select at from cut) returning 1),
   certificate as (
     update node_certificates set revoked_at = clock_timestamp(), revoked_reason = :certificate_reason
     where :ends_certificates and revoked_at is null and not_after > clock_timestamp() and created_at < (select at from cut) returning 1),
   ended as (select jsonb_build_object(
     'api_tokens', (select count(*) from token), 'service_account_secrets', (select count(*) from secret),
     'web_sessions', (select count(*) from web), 'terminal_sessions', (select count(*) from session),
     'invitations', (select count(*) from invitation), 'enrollments', (select count(*) from enrollment),
     'node_certificates', (select count(*) from certificate)) as counts)
   insert into restores (id, began_by, reason, older_than, ended, lost_changes, identity_changes, correlation_id)
   select :id, :began_by, :reason, cut.at, ended.counts, :lost_changes, :identity_changes, :correlation_id from ended, cut returning ended`,
);

export type NewRestore = Readonly<{
  id: string;
  began_by: string;
  reason: string;
  /** Null: everything that exists now. */
  older_than: string | null;
  lost_changes: readonly LostChanges[];
  identity_changes: readonly LostIdentityChange[];
  /** Every node is enrolled again. */
  ends_certificates: boolean;
  correlation_id: string;
}>;

const HOLD_EVERY_NODE = statement(
  { restore_id: 'text' },
  `update nodes set restore_hold_id = :restore_id, version = version + 1 where state not ${NODE_OVER}`,
);

/** Ends older credentials and holds every node. */
export const beginRestore = async (tx: Tx, restore: NewRestore): Promise<EndedCredentials | undefined> => {
  const { rows } = await BEGIN.query<{ ended: EndedCredentials }>(tx, {
    ...restore,
    end_message: REASONS.database_restored,
    certificate_reason: REASONS.certificate_restored,
  });
  await HOLD_EVERY_NODE.query(tx, { restore_id: restore.id });
  return rows[0]?.ended;
};

export const hasNodesToHold = async (tx: Tx): Promise<boolean> =>
  (await tx.query(`select 1 as one from nodes where state not ${NODE_OVER} limit 1`)).rowCount > 0;

const NOTHING_ENDED: EndedCredentials = {
  ...{ api_tokens: 0, service_account_secrets: 0, web_sessions: 0, terminal_sessions: 0, invitations: 0 },
  ...{ enrollments: 0, node_certificates: 0 },
};

const RECORD_HOLD = statement(
  {
    id: 'text',
    reason: 'text',
    ended: 'jsonb',
    lost_changes: 'jsonb',
    identity_changes: 'jsonb',
    correlation_id: 'text',
  },
  `insert into restores (id, began_by, reason, older_than, ended, lost_changes, identity_changes, correlation_id)
   values (:id, 'the control plane', :reason, 'epoch', :ended, :lost_changes, :identity_changes, :correlation_id)`,
);

/** Holds every node and ends no credential: the time of the backup is not known yet. */
export const holdNodes = async (
  tx: Tx,
  hold: Pick<NewRestore, 'id' | 'reason' | 'lost_changes' | 'identity_changes' | 'correlation_id'>,
): Promise<void> => {
  await RECORD_HOLD.query(tx, { ...hold, ended: NOTHING_ENDED });
  await HOLD_EVERY_NODE.query(tx, { restore_id: hold.id });
};

/** The sealer locks the row too, so it is written no more often than needed. */
const COMPARED_EVERY_S = 10;

export type Comparison = Readonly<{
  /** Of the database that answers now. */
  name: string;
  /** A worker has compared it. */
  counts: boolean;
  is_due: boolean;
}>;

/** Read before the comparison, so that a database that is exchanged meanwhile does not count as compared. */
export const readComparison = async (reader: Reader): Promise<Comparison> => {
  const { rows } = await reader.query<Comparison>(
    `select ${databaseName('s')} as name, ${HEADS_COMPARED} as counts,
       (s.compared_in = ${databaseName('s')} and s.compared_at > clock_timestamp() - interval '${COMPARED_EVERY_S} s') is not true as is_due
     from audit_sealer s`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('audit_sealer has no row');
  return found;
};

const NOTE_COMPARED = statement(
  { name: 'text', was_held: 'boolean', kinds: 'text[]', expires_in_s: 'float8[]' },
  `with noted as (update audit_sealer set compared_at = clock_timestamp(), compared_in = :name)
   update node_tasks t set expires_at = greatest(t.expires_at, clock_timestamp() + make_interval(secs => k.expires_in_s))
   from unnest(:kinds, :expires_in_s) as k (kind, expires_in_s)
   where :was_held and t.state = 'queued' and t.kind = k.kind`,
);

/** This database was compared with the heads outside it. Tasks that waited for that get their whole time. */
export const noteCompared = async (tx: Tx, { name, counts }: Comparison): Promise<void> => {
  await NOTE_COMPARED.query(tx, {
    ...{ name, was_held: !counts, kinds: HELD_TASK_KINDS },
    expires_in_s: HELD_TASK_KINDS.map(taskExpiresS),
  });
  if (!counts) tx.wake();
};

/** Whether tasks wait for a comparison. */
export const isCompared = async (reader: Reader): Promise<boolean> => (await readComparison(reader)).counts;

const RELEASE = statement(
  { node_id: 'text', kinds: 'text[]', expires_in_s: 'float8[]' },
  `with node as (
     update nodes set restore_hold_id = null, version = version + 1 where id = :node_id and restore_hold_id is not null returning id)
   update node_tasks t set expires_at = greatest(t.expires_at, clock_timestamp() + make_interval(secs => k.expires_in_s))
   from node, unnest(:kinds, :expires_in_s) as k (kind, expires_in_s)
   where t.node_id = node.id and t.state = 'queued' and t.kind = k.kind`,
);

/** The node gets its tasks again. Held tasks get their whole time. */
export const releaseRestoreHold = async (tx: Tx, nodeId: string): Promise<void> => {
  await RELEASE.query(tx, {
    node_id: nodeId,
    kinds: HELD_TASK_KINDS,
    expires_in_s: HELD_TASK_KINDS.map(taskExpiresS),
  });
};
