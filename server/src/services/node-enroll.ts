/**
 * Enrollment of a host as a node. A token works once: its first use returns a certificate, and in the same transaction
 * the token is used up and earlier certificates of the node are revoked, so there is one agent per node. Allocations on
 * the host are not affected. Renewal needs a valid certificate, and returns one for a new key.
 *
 * Both bind the node to the host. A wrong host does not use up the token: an operator who mistyped an identity can correct it,
 * and a thief of a token gets nothing. A token ends after a few wrong hosts, so that no identity can be guessed.
 */
import type { NodeBody, NodeResponse } from '@gpuaas/contract/node';
import type { Clock } from '@gpuaas/kit';
import type { Peer } from '../agents/certificate-register.ts';
import { bindHost, type HostRefusal } from '../agents/host-binding.ts';
import type { Caller } from '../agents/refusal-audit.ts';
import type { Trust } from '../agents/trust.ts';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { moveNode } from '../db/node.ts';
import {
  countRefusedHost,
  findCertificate,
  findEnrollmentNode,
  insertCertificate,
  lockCertificates,
  lockEnrollment,
  markEnrollmentUsed,
  revokeCertificates,
} from '../db/node-certificate.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { type HostIdentity, normalizeHost } from '../domain/host-identity.ts';
import { nodeChanged, nodeHostRefused } from '../domain/node-event.ts';
import { isNodeOver } from '../domain/node-state.ts';
import { AppError } from '../errors.ts';
import { hashToken } from '../identity/token.ts';
import { refreshSummary } from '../placement/summary.ts';
import { CsrError, type IssuedCertificate, issueNodeCertificate } from '../ports/trust/x509.ts';

export type EnrollDeps = Readonly<{ database: Database; clock: Clock; trust: () => Trust }>;
type Certificate = NodeResponse<'nodeEnroll'>;

const CERTIFICATE_LIFE_S = 24 * 3600;

const issue = async (
  { clock }: EnrollDeps,
  trust: Trust,
  wanted: Readonly<{ node_id: string; csr_pem: string }>,
): Promise<IssuedCertificate> => {
  try {
    return await issueNodeCertificate(trust.ca.issuer, { ...wanted, now: clock.now(), life_s: CERTIFICATE_LIFE_S });
  } catch (err) {
    if (!(err instanceof CsrError)) throw err;
    throw new AppError('invalid_request', err.message, {
      errors: [{ pointer: '/body/csr_pem', code: 'csr', message: err.message }],
      cause: err,
    });
  }
};

const responseOf = (deps: EnrollDeps, trust: Trust, nodeId: string, issued: IssuedCertificate): Certificate => ({
  node_id: nodeId,
  certificate_pem: issued.certificate_pem,
  not_after: issued.not_after,
  renew_after: new Date((deps.clock.now().getTime() + Date.parse(issued.not_after)) / 2).toISOString(),
  trust: trust.bundle,
});

type AgentInfo = Readonly<{
  action: 'node.enroll' | 'node.certificate.renew';
  result: 'success' | 'denied';
  node_id: string | null;
  policy: string;
  error_code?: string;
  metadata?: Readonly<Record<string, unknown>>;
}>;

const audit = (tx: Tx, caller: Caller, event: AgentInfo): Promise<void> =>
  insertAuditLog(tx, {
    organization_id: null,
    project_id: null,
    actor_kind: event.result === 'success' ? 'system' : 'anonymous',
    actor_id: event.node_id,
    actor_role: null,
    source_ip: caller.source_ip,
    user_agent: caller.user_agent,
    action: event.action,
    target_kind: 'node',
    target_id: event.node_id,
    result: event.result,
    error_code: event.error_code ?? null,
    policy: event.policy,
    correlation_id: caller.correlation_id,
    metadata: event.metadata ?? {},
  });

type Refused = Readonly<{ node_id: string | null; error: AppError }>;

const refusalOf = (door: Awaited<ReturnType<typeof lockEnrollment>>): Refused | undefined => {
  if (door === undefined)
    return { node_id: null, error: new AppError('unauthenticated', 'The enrollment token is invalid.') };
  const refuseWith = (sentence: string): Refused => ({
    node_id: door.node_id,
    error: new AppError('permission_denied', `${sentence} Request a new one from an operator.`),
  });
  if (door.is_used) return refuseWith('This enrollment token was already used.');
  if (door.is_revoked) return refuseWith('A newer enrollment token replaced this one.');
  if (door.is_expired) return refuseWith('This enrollment token has expired. A token lasts 15 minutes.');
  if (isNodeOver(door.node_state)) return refuseWith(`The node is ${door.node_state}.`);
  return undefined;
};

const hostPolicy = 'a node is for one host, and a host has one node';

/** What an operator needs to find the wrong host; the response names the field only. */
const hostDetails = (refusal: HostRefusal, reported: HostIdentity): Record<string, unknown> => ({
  field: refusal.field,
  reported,
  ...(refusal.owner === null ? {} : { other_node_id: refusal.owner.node_id, other_node_name: refusal.owner.name }),
});

type WrongHost = Readonly<{
  operation: 'enroll' | 'renew';
  node: Readonly<{ node_id: string; name: string }>;
  refusal: HostRefusal;
  reported: HostIdentity;
}>;

const recordWrongHost = async (tx: Tx, caller: Caller, wrong: WrongHost): Promise<void> => {
  const { operation, node, refusal, reported } = wrong;
  await audit(tx, caller, {
    action: operation === 'enroll' ? 'node.enroll' : 'node.certificate.renew',
    result: 'denied',
    node_id: node.node_id,
    policy: hostPolicy,
    error_code: 'permission_denied',
    metadata: hostDetails(refusal, reported),
  });
  const data = { ...node, operation, reason: refusal.sentence };
  tx.defer(insertOutboxEvent(tx, nodeHostRefused(data, caller.correlation_id)));
};

export const enroll = async (deps: EnrollDeps, caller: Caller, body: NodeBody<'nodeEnroll'>): Promise<Certificate> => {
  const trust = deps.trust();
  const outcome = await deps.database.write(PLATFORM, async (tx): Promise<Refused | Certificate> => {
    const tokenHash = hashToken(body.token);
    const nodeId = await findEnrollmentNode(tx, tokenHash);
    // Before the row of the token, as in every change of a node's enrollments and certificates.
    if (nodeId !== undefined) await lockCertificates(tx, nodeId);
    const door = await lockEnrollment(tx, tokenHash);
    const refused = refusalOf(door);
    if (refused !== undefined || door === undefined) {
      const { node_id, error } = refused ?? { node_id: null, error: new AppError('unauthenticated', '') };
      const policy = 'an enrollment token is valid once, for 15 minutes';
      await audit(tx, caller, { action: 'node.enroll', result: 'denied', node_id, policy, error_code: error.code });
      return { node_id, error };
    }
    // Before the token is used up: a bad request costs nothing.
    const issued = await issue(deps, trust, { node_id: door.node_id, csr_pem: body.csr_pem });
    await lockSummary(tx, door.node_id);
    const reported = normalizeHost(body.host);
    const refusal = await bindHost(tx, door.node_id, reported);
    if (refusal !== null) {
      const node = { node_id: door.node_id, name: door.node_name };
      await recordWrongHost(tx, caller, { operation: 'enroll', node, refusal, reported });
      const isOver = await countRefusedHost(tx, door.id);
      const so = isOver
        ? 'The token has ended after 5 refused hosts. Request a new one from an operator.'
        : 'Nothing was changed; the token still works on the host of the node.';
      return { node_id: door.node_id, error: new AppError('permission_denied', `${refusal.sentence} ${so}`) };
    }
    await markEnrollmentUsed(tx, door.id);
    const revoked = await revokeCertificates(tx, door.node_id, 'The node was re-enrolled.');
    await insertCertificate(tx, {
      ...issued,
      node_id: door.node_id,
      ca_key_id: trust.ca.id,
      enrollment_id: door.id,
    });
    const reason = 'The agent has a certificate and has not polled for tasks yet.';
    if (await moveNode(tx, { id: door.node_id, from: ['bootstrap_issued'], to: 'enrolling', reason })) {
      await refreshSummary(tx, door.node_id);
      const node = { node_id: door.node_id, name: door.node_name };
      const event = nodeChanged({ ...node, state: 'enrolling', state_reason: reason }, caller.correlation_id);
      tx.defer(insertOutboxEvent(tx, event));
      tx.wake();
    }
    await audit(tx, caller, {
      action: 'node.enroll',
      result: 'success',
      node_id: door.node_id,
      policy: 'enrollment token',
      metadata: {
        enrollment_id: door.id,
        enrollment_correlation_id: door.correlation_id,
        serial_number: issued.serial_number,
        certificates_revoked: revoked,
        hostname: body.hostname,
        host: reported,
        agent_version: body.agent_version,
      },
    });
    return responseOf(deps, trust, door.node_id, issued);
  });
  if ('error' in outcome) throw outcome.error;
  return outcome;
};

/** Responses get lost, so a host may retry; a limited number of times. */
const RENEWALS_PER_HOUR = 5;
const TOO_SOON_RETRY_S = 600;

/** A certificate is renewed in the second half of its lifetime, or when another CA signs. */
const refuseTooSoon = (
  shown: NonNullable<Awaited<ReturnType<typeof findCertificate>>>,
  caId: string,
  nowMs: number,
): void => {
  const refuse = (sentence: string, seconds: number): AppError =>
    new AppError('rate_limited', sentence, { retry_after_s: Math.max(1, Math.ceil(seconds)) });
  const halfMs = (Date.parse(shown.not_before) + Date.parse(shown.not_after)) / 2;
  if (nowMs < halfMs && shown.ca_key_id === caId)
    throw refuse(
      `The certificate is in the first half of its life; renew it after ${new Date(halfMs).toISOString()}.`,
      (halfMs - nowMs) / 1000,
    );
  if (shown.recent >= RENEWALS_PER_HOUR)
    throw refuse(`This node received ${shown.recent} certificates within an hour.`, TOO_SOON_RETRY_S);
};

export const renew = async (
  deps: EnrollDeps,
  caller: Caller,
  peer: Peer,
  body: NodeBody<'certificateRenew'>,
): Promise<Certificate> => {
  const trust = deps.trust();
  const issued = await issue(deps, trust, { node_id: peer.node_id, csr_pem: body.csr_pem });
  const reported = normalizeHost(body.host);
  const wrong = await deps.database.write(PLATFORM, async (tx): Promise<HostRefusal | null> => {
    // A concurrent revocation is either seen here, or sees the new certificate.
    await lockCertificates(tx, peer.node_id);
    const shown = await findCertificate(tx, peer.fingerprint_sha256);
    if (shown === undefined) throw new AppError('permission_denied', 'The certificate was revoked.');
    refuseTooSoon(shown, trust.ca.id, deps.clock.now().getTime());
    const refusal = await bindHost(tx, peer.node_id, reported);
    if (refusal !== null) {
      const node = { node_id: peer.node_id, name: peer.node_name };
      await recordWrongHost(tx, caller, { operation: 'renew', node, refusal, reported });
      return refusal;
    }
    await insertCertificate(tx, {
      ...issued,
      node_id: peer.node_id,
      ca_key_id: trust.ca.id,
      enrollment_id: peer.enrollment_id,
    });
    await audit(tx, caller, {
      action: 'node.certificate.renew',
      result: 'success',
      node_id: peer.node_id,
      policy: 'a valid certificate',
      metadata: { serial_number: issued.serial_number },
    });
    return null;
  });
  if (wrong !== null) throw new AppError('permission_denied', wrong.sentence);
  return responseOf(deps, trust, peer.node_id, issued);
};
