/**
 * Authentication of agents: enrollment tokens, of which only the hash is stored, and the certificates they were
 * exchanged for.
 */
import type { HostField, HostIdentity } from '../domain/host-identity.ts';
import { REASONS } from '../domain/reasons.ts';
import type { Reader, Tx } from './client.ts';
import { createKeptPurge, LOOK_AGAIN } from './keep.ts';
import { queryByIndex } from './plan.ts';
import { NODE_OVER } from './predicates.ts';
import { statement } from './statement.ts';
import type { NodeCertificates, NodeEnrollments, Nodes } from './types.gen.ts';

/** The first half of a lock's name; the other is the node. */
const CERTIFICATES_LOCK = 4_752_013;

/** As the check of `refused_hosts` has it. */
const REFUSED_HOSTS_MAX = 5;

/** Ends the open enrollment of a node, if there is one. */
export const revokeEnrollments = async (tx: Tx, nodeId: string): Promise<void> => {
  await tx.query(
    `update node_enrollments set revoked_at = clock_timestamp()
     where node_id = $1 and used_at is null and revoked_at is null`,
    [nodeId],
  );
};

const INSERT_ENROLLMENT = statement(
  { id: 'text', node_id: 'text', token_hash: 'bytea', created_by: 'text', correlation_id: 'text', life_s: 'float8' },
  `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, expires_at)
   values (:id, :node_id, :token_hash, :created_by, :correlation_id, clock_timestamp() + make_interval(secs => :life_s))
   returning expires_at`,
);

export const insertEnrollment = async (
  tx: Tx,
  row: Readonly<{
    id: string;
    node_id: string;
    token_hash: Buffer;
    created_by: string;
    correlation_id: string;
    life_s: number;
  }>,
): Promise<string> => {
  const { rows } = await INSERT_ENROLLMENT.query<{ expires_at: string }>(tx, row);
  return rows[0]?.expires_at ?? '';
};

export type EnrollmentRow = Readonly<
  Pick<NodeEnrollments, 'id' | 'node_id' | 'correlation_id'> & {
    node_name: Nodes['name'];
    node_state: Nodes['state'];
    is_used: boolean;
    is_revoked: boolean;
    is_expired: boolean;
  }
>;

/** The node of a token, before anything is locked. */
export const findEnrollmentNode = async (reader: Reader, tokenHash: Buffer): Promise<string | undefined> =>
  (await reader.query<{ node_id: string }>('select node_id from node_enrollments where token_hash = $1', [tokenHash]))
    .rows[0]?.node_id;

/** Locked, so that of two agents with the same token one sees the other's use. */
export const lockEnrollment = async (tx: Tx, tokenHash: Buffer): Promise<EnrollmentRow | undefined> =>
  (
    await tx.query<EnrollmentRow>(
      `select e.id, e.node_id, n.name as node_name, n.state as node_state, e.used_at is not null as is_used,
         e.revoked_at is not null as is_revoked, e.expires_at <= clock_timestamp() as is_expired, e.correlation_id
       from node_enrollments e join nodes n on n.id = e.node_id where e.token_hash = $1 for update of e`,
      [tokenHash],
    )
  ).rows[0];

/** Counts a wrong host. True when it was the last one that the token allows: the token has ended. */
export const countRefusedHost = async (tx: Tx, id: string): Promise<boolean> =>
  (
    await tx.query<{ is_over: boolean }>(
      `update node_enrollments set refused_hosts = refused_hosts + 1,
         revoked_at = case when refused_hosts + 1 >= ${REFUSED_HOSTS_MAX} then clock_timestamp() end
       where id = $1 returning revoked_at is not null as is_over`,
      [id],
    )
  ).rows[0]?.is_over ?? false;

export const markEnrollmentUsed = async (tx: Tx, id: string): Promise<void> => {
  await tx.query('update node_enrollments set used_at = clock_timestamp() where id = $1', [id]);
};

export type NewCertificate = Readonly<
  Pick<
    NodeCertificates,
    'serial_number' | 'node_id' | 'ca_key_id' | 'enrollment_id' | 'fingerprint_sha256' | 'not_before' | 'not_after'
  >
>;

const INSERT_CERTIFICATE = statement(
  {
    serial_number: 'text',
    node_id: 'text',
    ca_key_id: 'text',
    enrollment_id: 'text',
    fingerprint_sha256: 'text',
    not_before: 'timestamptz',
    not_after: 'timestamptz',
  },
  `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before, not_after)
   values (:serial_number, :node_id, :ca_key_id, :enrollment_id, :fingerprint_sha256, :not_before, :not_after)`,
);

export const insertCertificate = async (tx: Tx, row: NewCertificate): Promise<void> => {
  await INSERT_CERTIFICATE.query(tx, row);
};

/**
 * Serializes enrollments of a node and changes of its certificates until the transaction ends. Taken before their rows.
 */
export const lockCertificates = async (tx: Tx, nodeId: string): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [CERTIFICATES_LOCK, nodeId]);
};

/** One that was not revoked, and the number issued for its enrollment within the last hour. */
export const findCertificate = async (
  reader: Reader,
  fingerprint: string,
): Promise<Readonly<{ ca_key_id: string; not_before: string; not_after: string; recent: number }> | undefined> =>
  (
    await reader.query<{ ca_key_id: string; not_before: string; not_after: string; recent: number }>(
      `select c.ca_key_id, c.not_before, c.not_after, (select count(*) from node_certificates o where o.node_id = c.node_id
           and o.enrollment_id = c.enrollment_id and o.created_at > clock_timestamp() - interval '1 hour') as recent
       from node_certificates c where c.fingerprint_sha256 = $1 and c.revoked_at is null`,
      [fingerprint],
    )
  ).rows[0];

/** Revokes the certificates of a node; returns how many. */
export const revokeCertificates = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_certificates set revoked_at = clock_timestamp(), revoked_reason = $2
       where node_id = $1 and revoked_at is null and not_after > clock_timestamp()`,
      [nodeId, reason],
    )
  ).rowCount;

export type CertificateRow = Readonly<
  Pick<NodeCertificates, 'fingerprint_sha256' | 'node_id' | 'ca_key_id' | 'enrollment_id' | 'not_after'> & {
    node_name: string;
    /** The host that the node is bound to; null before. */
    host: (HostIdentity & Readonly<{ named: HostField[] }>) | null;
    /** Earlier ones of the same enrollment remain valid. */
    has_predecessors: boolean;
  }
>;

/** Of the same enrollment as certificate c, issued before it, and still valid. */
const PREDECESSOR = `o.node_id = c.node_id and o.enrollment_id = c.enrollment_id and o.created_at < c.created_at
  and o.revoked_at is null and o.not_after > clock_timestamp()`;

/** Those of the named ones that we issued and that are neither revoked nor expired. */
export const listGoodCertificates = async (
  reader: Reader,
  fingerprints: readonly string[],
): Promise<CertificateRow[]> =>
  (
    await reader.query<CertificateRow>(
      `select c.fingerprint_sha256, c.node_id, n.name as node_name, c.ca_key_id, c.enrollment_id, c.not_after,
         exists (select from node_certificates o where ${PREDECESSOR}) as has_predecessors,
         case when h.bound_at is not null then jsonb_build_object('product_serial', h.product_serial, 'product_uuid', h.product_uuid,
           'machine_id', h.machine_id, 'named', h.named) end as host
       from node_certificates c join nodes n on n.id = c.node_id left join node_hosts h on h.node_id = c.node_id and h.ended_at is null
       where c.fingerprint_sha256 = any ($1) and c.revoked_at is null and c.not_after > clock_timestamp()
         and not n.state ${NODE_OVER}`,
      [fingerprints],
    )
  ).rows;

/** Those of the named enrollments that still have a valid certificate. */
export const listGoodEnrollments = async (
  reader: Reader,
  enrollmentIds: readonly string[],
  caKeyIds: readonly string[],
): Promise<string[]> =>
  (
    await reader.query<{ enrollment_id: string }>(
      `select distinct c.enrollment_id from node_enrollments e join nodes n on n.id = e.node_id
         join node_certificates c on c.node_id = e.node_id and c.enrollment_id = e.id
       where e.id = any ($1) and c.ca_key_id = any ($2) and c.revoked_at is null and c.not_after > clock_timestamp()
         and not n.state ${NODE_OVER}`,
      [enrollmentIds, caKeyIds],
    )
  ).rows.map((row) => row.enrollment_id);

/** Revokes the predecessors of the named certificates, which are in use; returns how many. */
export const revokePredecessors = async (tx: Tx, fingerprints: readonly string[]): Promise<number> =>
  (
    await tx.query(
      `update node_certificates o set revoked_at = clock_timestamp(), revoked_reason = $2
       from node_certificates c where c.fingerprint_sha256 = any ($1) and c.revoked_at is null and ${PREDECESSOR}`,
      [fingerprints, REASONS.certificate_replaced],
    )
  ).rowCount;

/** Those revoked within this many seconds that are not expired. */
export const listRevoked = async (
  reader: Reader,
  withinS: number,
): Promise<Readonly<{ fingerprint_sha256: string; not_after: string }>[]> =>
  (
    await reader.query<{ fingerprint_sha256: string; not_after: string }>(
      `select fingerprint_sha256, not_after from node_certificates
       where revoked_at > clock_timestamp() - make_interval(secs => $1) and not_after > clock_timestamp()`,
      [withinS],
    )
  ).rows;

/** Active nodes whose newest valid certificate ends within this many seconds, or has ended. */
export const countEndingCertificates = async (reader: Reader, withinS: number): Promise<number> =>
  (
    await reader.query<{ count: number }>(
      `select count(*) as count from nodes n cross join lateral (
         select c.not_after from node_certificates c where c.node_id = n.id and c.revoked_at is null
         order by c.not_after desc limit 1) newest
       where n.state = 'active' and newest.not_after < clock_timestamp() + make_interval(secs => $1)`,
      [withinS],
    )
  ).rows[0]?.count ?? 0;

export type CertificateView = Readonly<
  Pick<NodeCertificates, 'serial_number' | 'not_before' | 'not_after' | 'revoked_at' | 'revoked_reason'>
>;

/** The newest ones of a node. */
export const listCertificates = async (reader: Reader, nodeId: string, limit: number): Promise<CertificateView[]> =>
  (
    await reader.query<CertificateView>(
      `select serial_number, not_before, not_after, revoked_at, revoked_reason from node_certificates
       where node_id = $1 order by not_after desc, serial_number limit $2`,
      [nodeId, limit],
    )
  ).rows;

/** Certificates that ended long ago, revoked or not: no listener accepts them, and the audit log has their issue. */
export const deleteOldCertificates = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select serial_number from node_certificates where not_after < now() - make_interval(days => $2)
         order by not_after limit $1 for update skip locked)
       delete from node_certificates c using old where c.serial_number = old.serial_number`,
      [limit, days],
    )
  ).rowCount;

/** Enrollments that can no longer be used and have no certificate left. That of an agent in use has one. */
export const ENROLLMENTS = createKeptPurge({
  table: 'node_enrollments',
  age: 'created_at',
  columns: 't.expires_at',
  kept_until: `case when o.expires_at >= now() or exists (select from node_certificates c where c.enrollment_id = o.id)
    then now() + ${LOOK_AGAIN} end`,
});
