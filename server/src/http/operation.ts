/**
 * One operation of the contract as a route. This is the only place for the order: authenticate (cookie requests must
 * come from our own page), rate limit, authorize (before the body is read), validate, then the pipeline with
 * idempotency, handler and audit.
 */

import { api, type ErrorCode, limitRefusal, locationOf, type Operation } from '@gpuaas/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ctx, Deps, Principal, ReadCtx, WriteCtx } from '../context.ts';
import { freshSignInPolicy, freshSignInRefusal } from '../domain/fresh-sign-in.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';
import type { Authenticator, Credential } from '../identity/authenticate.ts';
import { authorize, type Decision, type ProjectDirectory } from '../identity/authorize.ts';
import { type Admitted, auditRefusal, mutate, readContext } from '../pipeline/pipeline.ts';
import type { Cookies } from './cookie.ts';
import { toAppError, toProblem } from './problem.ts';
import { addressBlock, type RateLimit, refuseFor } from './rate-limit.ts';
import { etagOf, idempotencyKeyOf, ifMatchOf, isUnattended, lastEventIdOf, userAgentOf } from './request.ts';
import { assertOwnPage } from './same-origin.ts';
import { type Streams, sendStream } from './stream.ts';
import { compileOperation } from './validate.ts';

export type Gate = Readonly<{
  deps: Deps;
  authenticate: Authenticator;
  cookies: Cookies;
  organizationOf: ProjectDirectory;
  callers: RateLimit;
  anonymousLimit: RateLimit;
  /** Session tickets, which cost hosts work, have a separate additional limit. */
  tickets: RateLimit;
  /** The shared limit of all principals of an organization. */
  organizations: Readonly<Record<'requests_per_minute' | 'tickets_per_minute', RateLimit>>;
  streams: Streams;
}>;

/** Any handler of the table without its types: the compiler checks the table itself. */
export type AnyHandler = (ctx: never, req: never) => Promise<unknown>;

type Allowed = Extract<Decision, { allowed: true }>;
/** Results of the early hook for the handler. */
export type RequestState = {
  correlation_id: string;
  principal: Principal | null;
  decision: Allowed | null;
  /** Set for a refused request, for its log line. */
  error_code?: ErrorCode;
};

const limit = (limiter: RateLimit, caller: string, nowMs: number): void => refuseFor(limiter.take(caller, nowMs));

export const operationRoute = (operationId: string, operation: Operation, handler: AnyHandler, gate: Gate) => {
  const { deps } = gate;
  const validators = compileOperation(operation);
  const handle = handler as (ctx: ReadCtx | WriteCtx, req: unknown) => Promise<unknown>;

  const ownOrigin = new URL(deps.config.public_url).origin;
  const credentialOf = ({ headers }: FastifyRequest): Credential => ({
    authorization: headers.authorization,
    session: gate.cookies.session(headers),
  });

  const contextOf = (request: FastifyRequest, state: RequestState): Ctx => ({
    deps,
    log: deps.log,
    principal: state.principal,
    correlation_id: state.correlation_id,
    operation: operationId,
    source_ip: request.ip,
    user_agent: userAgentOf(request.headers),
    organization_id: state.decision?.organization_id ?? null,
    project_id: state.decision?.project_id ?? null,
  });

  const refuseDecision = async (
    request: FastifyRequest,
    state: RequestState,
    decision: Extract<Decision, { allowed: false }>,
  ): Promise<AppError> => {
    const error = decision.visible
      ? new AppError('permission_denied', REFUSALS.denied(decision.policy))
      : notFound(operation.access === 'tenant' ? 'organization' : 'project');
    await auditRefusal({
      ctx: contextOf(request, state),
      operation,
      params: request.params as Record<string, string>,
      result: 'denied',
      error_code: error.code,
      policy: decision.policy,
      organization_id: decision.visible
        ? (decision.organization_id ?? state.principal?.audit_organization_id ?? null)
        : null,
      project_id: decision.visible ? decision.project_id : null,
    });
    return error;
  };

  /** After authorization: a caller who may not do it is not asked to sign in for it. */
  const assertFreshSignIn = async (request: FastifyRequest, state: RequestState, principal: Principal) => {
    const max_age_s = deps.config.fresh_sign_in_max_age_s;
    const now_ms = deps.clock.now().getTime();
    const refusal = freshSignInRefusal(operation, principal, { now_ms, max_age_s });
    if (refusal === null) return;
    const error = new AppError('fresh_sign_in_required', refusal, { max_age_s });
    await auditRefusal({
      ctx: contextOf(request, state),
      operation,
      params: request.params as Record<string, string>,
      result: 'denied',
      error_code: error.code,
      policy: refusal,
      organization_id: principal.audit_organization_id,
      project_id: null,
    });
    throw error;
  };

  /** Counts for an organization, without attempts of outsiders, who could use up its members' allowance. */
  const limitOrganization = (organizationId: string, nowMs: number): void => {
    const take = (name: keyof Gate['organizations']): void => {
      const waitS = gate.organizations[name].take(organizationId, nowMs);
      refuseFor(waitS, limitRefusal(name, deps.config.limits[name]));
    };
    take('requests_per_minute');
    if (operation === api.terminalTicketCreate) take('tickets_per_minute');
  };

  /** Runs before the body is read: a caller without access cannot make the server parse a megabyte. */
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    const state = request.state;
    const nowMs = deps.clock.now().getTime();
    if (operation.access === 'public') {
      limit(gate.anonymousLimit, addressBlock(request.ip), nowMs);
      state.decision = {
        allowed: true,
        organization_id: null,
        project_id: null,
        role: null,
        policy: 'public',
        scope: { tenant_id: '', principal_id: '' },
      };
      return;
    }
    const caller = {
      correlation_id: state.correlation_id,
      source_ip: request.ip,
      user_agent: userAgentOf(request.headers),
    };
    const address = addressBlock(request.ip);
    const credential = credentialOf(request);
    const waiting = isUnattended(request.headers) ? ({ isWaiting: true } as const) : {};
    if (credential.authorization === undefined && credential.session !== undefined) assertOwnPage(request, ownOrigin);
    try {
      state.principal = await gate.authenticate(credential, caller, {
        // An address without guesses left is refused before a lookup.
        beforeLookUp: () => refuseFor(gate.anonymousLimit.look(address, nowMs)),
        ...waiting,
      });
    } catch (err) {
      // The limit by address is against guessing credentials; valid callers never use it.
      if (err instanceof AppError && err.code === 'unauthenticated') limit(gate.anonymousLimit, address, nowMs);
      throw err;
    }
    limit(gate.callers, state.principal.id, nowMs);
    if (operation === api.terminalTicketCreate) limit(gate.tickets, state.principal.id, nowMs);
    const { home } = state.principal;
    // A service account belongs to one organization, whatever it requests.
    if (home !== null) limitOrganization(home.organization_id, nowMs);
    const params = validators.params(request.params) as Record<string, string>;
    let decision = await authorize(state.principal, operation, params, gate.organizationOf);
    if (!decision.allowed) {
      // A new member must not get the response that the organization does not exist.
      state.principal = await gate.authenticate(credential, caller, { fresh: true, ...waiting });
      decision = await authorize(state.principal, operation, params, gate.organizationOf);
    }
    if (home === null && decision.organization_id !== null && (decision.allowed || decision.visible))
      limitOrganization(decision.organization_id, nowMs);
    if (!decision.allowed) throw await refuseDecision(request, state, decision);
    await assertFreshSignIn(request, state, state.principal);
    state.decision = { ...decision, policy: `${decision.policy}${freshSignInPolicy(operation, state.principal)}` };
  };

  const admit = (
    request: FastifyRequest,
    state: RequestState,
    decision: Allowed,
  ): { admitted: Admitted; req: unknown } => {
    const params = request.params as Record<string, string>;
    const query = validators.query(request.query);
    const body = validators.body(request.body);
    const idempotency_key = operation.idempotency === 'required' ? idempotencyKeyOf(request.headers) : null;
    return {
      admitted: {
        ctx: contextOf(request, state),
        operation,
        scope: decision.scope,
        role: decision.role,
        policy: decision.policy,
        params,
        idempotency_key,
        fingerprint: idempotency_key === null ? '' : JSON.stringify([params, body]),
      },
      req: {
        params,
        query,
        body,
        if_match: operation.ifMatch ? ifMatchOf(request.headers) : undefined,
        last_event_id: lastEventIdOf(request.headers),
      },
    };
  };

  const checkResponse = (body: unknown): void => {
    if (!deps.config.validate_responses || validators.response === null) return;
    const validate = validators.response();
    if (validate(body)) return;
    throw new AppError('internal', 'The response did not match the contract.', {
      internal: JSON.stringify(validate.errors).slice(0, 2000),
    });
  };

  const send = (request: FastifyRequest, reply: FastifyReply, status: number, body: unknown): FastifyReply => {
    const location = locationOf(operation, request.params as Record<string, string>, body);
    if (location !== undefined) reply.header('location', location);
    if (typeof body === 'object' && body !== null && 'version' in body && typeof body.version === 'number') {
      const etag = etagOf(body.version);
      reply.header('etag', etag);
      if (operation.method === 'GET' && request.headers['if-none-match'] === etag) return reply.status(304).send();
    }
    if (body === undefined) return reply.status(204).send();
    return reply.status(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
  };

  /** Whether the caller of an open stream may still read it: checked again during the stream. */
  const stillAllowed = (request: FastifyRequest, state: RequestState) => async (): Promise<boolean> => {
    try {
      const principal = await gate.authenticate(
        credentialOf(request),
        { correlation_id: state.correlation_id, source_ip: request.ip, user_agent: '' },
        { isWaiting: true },
      );
      return (await authorize(principal, operation, request.params as Record<string, string>, gate.organizationOf))
        .allowed;
    } catch (err) {
      return toAppError(err).code === 'unavailable';
    }
  };

  const sendItems = async (
    request: FastifyRequest,
    reply: FastifyReply,
    format: string,
    { admitted, req }: ReturnType<typeof admit>,
  ): Promise<FastifyReply> => {
    const { whenClosing, open } = gate.streams;
    const close = open(request.state.principal?.id ?? request.ip, admitted.ctx.organization_id);
    try {
      const items = (await handle(readContext(admitted), req)) as AsyncIterable<object>;
      return await sendStream(reply, format, items, {
        stillAllowed: stillAllowed(request, request.state),
        whenClosing,
        problemOf: (err) =>
          toProblem(err, {
            correlation_id: request.state.correlation_id,
            path: request.url,
            public_url: deps.config.public_url,
          }),
      });
    } finally {
      close();
    }
  };

  const handlerOf = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const state = request.state;
    const { decision } = state;
    if (decision === null) throw new AppError('internal', 'The request was not authorized.');
    const { admitted, req } = admit(request, state, decision);
    if (operation.audit !== null) {
      const answer = await mutate(admitted, (ctx) => handle(ctx, req));
      checkResponse(answer.body ?? null);
      if (answer.replayed) reply.header('idempotency-replayed', 'true');
      return send(request, reply, answer.status, answer.body);
    }
    if (operation.stream) return await sendItems(request, reply, operation.stream, { admitted, req });
    const body = await handle(readContext(admitted), req);
    checkResponse(body);
    return send(request, reply, operation.status, body);
  };

  /** A mutation that fails after authorization leaves a row too, even when its body could not be read. */
  const onFailure = async (request: FastifyRequest, err: unknown): Promise<void> => {
    const { state } = request;
    const { decision } = state;
    const error = toAppError(err);
    if (operation.audit === null || decision === null || error.code === 'unavailable') return;
    await auditRefusal({
      ctx: contextOf(request, state),
      operation,
      params: request.params as Record<string, string>,
      about: error.details.about,
      result: error.code === 'unauthenticated' || error.code === 'permission_denied' ? 'denied' : 'failure',
      error_code: error.code,
      policy: decision.policy,
      organization_id: decision.organization_id ?? state.principal?.audit_organization_id ?? null,
      project_id: decision.project_id,
    });
  };

  return { onRequest, handler: handlerOf, onFailure };
};
