/**
 * The transaction of a mutation, in order: try-lock of the idempotency key and lookup of an earlier response, the
 * handler, then audit row, events and stored response together with the commit. Everything commits or nothing does;
 * refusals are audited separately after the rollback.
 *
 * The handler does not wait for the key lookup, because most keys are new. A taken key fails the transaction, so
 * nothing of the handler remains, and the earlier response is returned in a transaction of its own.
 */
import { createHash } from 'node:crypto';
import type { Operation } from '@gpuaas/contract';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import { type AuditRow, insertAuditLog } from '../db/audit.ts';
import { PLATFORM, type Scope, type Tx } from '../db/client.ts';
import {
  claimIdempotencyKey,
  findStoredResponse,
  type IdempotencyKey,
  isKeyTaken,
  type StoredResponse,
} from '../db/idempotency.ts';
import type { NewOutboxEvent } from '../db/outbox.ts';
import { insertRecord } from '../db/statements/record.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';

/** The router's facts about an authorized request. */
export type Admitted = Readonly<{
  ctx: Ctx;
  operation: Operation;
  scope: Scope;
  role: string | null;
  policy: string;
  params: Readonly<Record<string, string | undefined>>;
  idempotency_key: string | null;
  /** The identity of a request: path parameters and body. */
  fingerprint: string;
}>;

export type PipelineResponse = Readonly<{ status: number; body: unknown; replayed: boolean }>;

export const readContext = (admitted: Admitted): ReadCtx => ({
  ...admitted.ctx,
  read: (fn) => admitted.ctx.deps.database.read(admitted.scope, fn),
});

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The last id of the path names the target; the kind is the noun of the audit action. */
const defaultTarget = (admitted: Admitted): { kind: string | null; id: string | null } => {
  const ids = Object.values(admitted.params);
  return { kind: admitted.operation.audit?.split('.').slice(0, -1).join('.') ?? null, id: ids.at(-1) ?? null };
};

const actorOf = (
  ctx: Ctx,
): Pick<AuditRow, 'actor_kind' | 'actor_id' | 'source_ip' | 'user_agent' | 'correlation_id'> => ({
  actor_kind: ctx.principal?.kind ?? 'anonymous',
  actor_id: ctx.principal?.id ?? null,
  source_ip: ctx.source_ip,
  user_agent: ctx.user_agent,
  correlation_id: ctx.correlation_id,
});

const replay = (
  admitted: Admitted,
  stored: StoredResponse,
  requestHash: Buffer,
  id: IdempotencyKey,
): PipelineResponse => {
  if (!stored.request_hash.equals(requestHash))
    throw new AppError('idempotency_key_reused', REFUSALS.idempotency_key_reused);
  const text = stored.response_sealed
    ? admitted.ctx.deps.secrets.open(stored.response, SEALED_TO.response(id))
    : stored.response.toString('utf8');
  return { status: stored.status, body: text === '' ? undefined : JSON.parse(text), replayed: true };
};

type Draft = {
  /** The target named by the handler; otherwise from the path or the response. */
  target: { kind: string; id: string } | null;
  metadata: Record<string, unknown>;
  organization_id: string | null;
  project_id: string | null;
  events: NewOutboxEvent[];
};

const newDraft = ({ organization_id, project_id, principal }: Ctx): Draft => ({
  target: null,
  metadata: {},
  organization_id: organization_id ?? principal?.audit_organization_id ?? null,
  project_id,
  events: [],
});

const writeContext = (admitted: Admitted, tx: Tx, draft: Draft): WriteCtx => {
  const { ctx } = admitted;
  return {
    ...ctx,
    tx,
    emit: (event_type, event) => {
      draft.events.push({
        event_type,
        subject: event.subject,
        data: event.data,
        organization_id: event.organization_id ?? ctx.organization_id,
        project_id: event.project_id ?? ctx.project_id,
        correlation_id: ctx.correlation_id,
      });
      tx.wake();
    },
    target: (kind, id) => {
      draft.target = { kind, id };
    },
    note: (metadata) => Object.assign(draft.metadata, metadata),
    setTarget: (organizationId, projectId) => {
      draft.organization_id = organizationId;
      draft.project_id = projectId ?? null;
    },
  };
};

const auditRow = (admitted: Admitted, draft: Draft, body: unknown, replayed: boolean): AuditRow => {
  const bodyId =
    typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string' ? body.id : null;
  const byPath = defaultTarget(admitted);
  const target = draft.target ?? {
    kind: byPath.kind,
    id: admitted.operation.method === 'POST' && bodyId !== null ? bodyId : byPath.id,
  };
  return {
    ...actorOf(admitted.ctx),
    organization_id: draft.organization_id,
    project_id: draft.project_id,
    actor_role: admitted.role,
    action: admitted.operation.audit ?? admitted.ctx.operation,
    target_kind: target.kind,
    target_id: target.id,
    result: 'success',
    error_code: null,
    policy: admitted.policy,
    metadata: replayed ? { ...draft.metadata, replayed } : draft.metadata,
  };
};

/** The earlier response of the same request; without one, it is still running. */
const respondAgain = (admitted: Admitted, id: IdempotencyKey, requestHash: Buffer): Promise<PipelineResponse> =>
  admitted.ctx.deps.database.write(admitted.scope, async (tx) => {
    const stored = await findStoredResponse(tx, id);
    if (stored === undefined)
      throw new AppError('idempotency_in_flight', REFUSALS.idempotency_in_flight, {
        retry_after_s: 1,
      });
    const response = replay(admitted, stored, requestHash, id);
    tx.defer(insertAuditLog(tx, auditRow(admitted, newDraft(admitted.ctx), response.body, true)));
    return response;
  });

const storedResponse = (admitted: Admitted, id: IdempotencyKey, requestHash: Buffer, body: unknown): StoredResponse => {
  const { ctx, operation } = admitted;
  const text = body === undefined ? '' : JSON.stringify(body);
  const sealed = operation.secret === true;
  return {
    request_hash: requestHash,
    status: operation.status,
    response: sealed ? ctx.deps.secrets.seal(text, SEALED_TO.response(id)) : Buffer.from(text),
    response_sealed: sealed,
  };
};

/** Runs a mutation once, or returns the earlier response of the same request. */
export const mutate = async (
  admitted: Admitted,
  handle: (ctx: WriteCtx) => Promise<unknown>,
): Promise<PipelineResponse> => {
  const { ctx, operation, scope } = admitted;
  // The permissions of the credential are part of the request: a narrow token must not receive the response to a wide
  // one.
  const { scopes, project_id } = ctx.principal?.credential ?? { scopes: [], project_id: null };
  const requestHash = sha256(JSON.stringify([admitted.fingerprint, scopes, project_id]));
  const id: IdempotencyKey | null =
    admitted.idempotency_key === null
      ? null
      : {
          tenant: ctx.project_id ?? ctx.organization_id ?? '',
          principal_id: ctx.principal?.id ?? '',
          operation: ctx.operation,
          key: admitted.idempotency_key,
        };
  try {
    return await ctx.deps.database.write(scope, async (tx) => {
      const draft = newDraft(ctx);
      const claimed = id === null ? undefined : claimIdempotencyKey(tx, id);
      if (claimed !== undefined) tx.defer(claimed);
      let body: unknown;
      try {
        body = await handle(writeContext(admitted, tx, draft));
      } catch (err) {
        // For any error of the handler, a taken key is the cause.
        await claimed;
        throw err;
      }
      const response = id === null ? null : { id, stored: storedResponse(admitted, id, requestHash, body) };
      tx.defer(
        insertRecord(tx, { audit: auditRow(admitted, draft, body, false), events: draft.events, answer: response }),
      );
      return { status: operation.status, body, replayed: false };
    });
  } catch (err) {
    if (id !== null && isKeyTaken(err)) return respondAgain(admitted, id, requestHash);
    throw err;
  }
};

export type Refusal = Readonly<{
  ctx: Ctx;
  operation: Operation;
  params: Readonly<Record<string, string | undefined>>;
  about?: Readonly<{ kind: string; id: string }> | undefined;
  result: 'denied' | 'failure';
  error_code: string;
  policy: string;
  /** Null puts the row into the control plane's chain: tenants do not see outsiders' attempts. */
  organization_id: string | null;
  project_id: string | null;
}>;

/** One row for a request that changed nothing. The caller gets its refusal whether or not this can be written. */
export const auditRefusal = async (refusal: Refusal): Promise<void> => {
  const { ctx, operation } = refusal;
  const target = refusal.about ?? {
    kind: operation.audit?.split('.').slice(0, -1).join('.') ?? null,
    id: Object.values(refusal.params).at(-1) ?? null,
  };
  try {
    await ctx.deps.database.write(PLATFORM, (tx) =>
      insertAuditLog(tx, {
        ...actorOf(ctx),
        organization_id: refusal.organization_id,
        project_id: refusal.project_id,
        actor_role: null,
        action: operation.audit ?? ctx.operation,
        target_kind: target.kind,
        target_id: target.id,
        result: refusal.result,
        error_code: refusal.error_code,
        policy: refusal.policy,
        metadata: {},
      }),
    );
  } catch (err) {
    ctx.log.error(
      { err, correlation_id: ctx.correlation_id, action: operation.audit },
      'failed to audit refused request',
    );
  }
};
