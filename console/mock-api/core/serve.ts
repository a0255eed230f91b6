/**
 * One request, in the server's order: authentication, authorization, validation, idempotency, then the handler and the
 * audit row. So a request that is refused here is refused by the server in the same words.
 */
import { ERROR_CODES, type ErrorCode, locationOf, type Operation, type OperationId } from '@gpuaas/contract';
import { freshSignInRefusal } from '../../../server/src/domain/fresh-sign-in.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type AuditedRequest, type Draft, insertAudit } from './audit.ts';
import { authorize, type Decision, holds, type Principal, signedIn } from './authorize.ts';
import type { MockCtx } from './context.ts';
import { problemOf, Refusal } from './errors.ts';
import { assertBelowLimits } from './limits.ts';
import { bodyOf, correlationIdOf, type Incoming, idempotencyKeyOf, ifMatchOf, incomingOf } from './request.ts';
import { type Match, matchRoute } from './routes.ts';
import { streamBody } from './stream.ts';
import { errorsOf, queryOf, validate } from './validate.ts';
import type { World } from './world.ts';

export type AnyHandler = (ctx: MockCtx, req: never) => Promise<unknown>;
export type Identity = Readonly<{ principal(): Principal | null; signOut(): void; signIn(): void }>;
export type ServeOptions = Readonly<{ latencyMs: number; checksResponses: boolean; freshSignInMaxAgeS: number }>;

const DENIALS: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'permission_denied', 'fresh_sign_in_required']);

type Stored = { fingerprint: string; body: unknown; isDone: boolean };

const json = (status: number, body: unknown, headers: Record<string, string>): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });

const isErrorCode = (word: string): word is ErrorCode => (ERROR_CODES as readonly string[]).includes(word);

export const createServe = (
  world: World,
  handlers: Readonly<Record<OperationId, AnyHandler>>,
  identity: Identity,
  options: ServeOptions,
): typeof fetch => {
  const answers = new Map<string, Stored>();

  const failOnPurpose = (id: OperationId): void => {
    const fault = world.faults.operations?.[id];
    if (fault === undefined) return;
    if (isErrorCode(fault)) throw new Refusal(fault, 'This request was set to fail.');
    throw new TypeError('Failed to fetch');
  };

  const admit = ({ id, operation, params }: Match): Readonly<{ principal: Principal | null; decision: Decision }> => {
    failOnPurpose(id);
    const principal = identity.principal();
    if (operation.access === 'public')
      return { principal, decision: { organization_id: null, project_id: null, role: null, policy: 'public' } };
    if (principal === null) throw new Refusal('unauthenticated', REFUSALS.web_session_ended);
    validate('params', operation.params, params);
    const decision = authorize(world, principal, operation, params);
    const at = { now_ms: world.now(), max_age_s: options.freshSignInMaxAgeS };
    const refusal = freshSignInRefusal(operation, signedIn(principal), at);
    if (refusal !== null) throw new Refusal('fresh_sign_in_required', refusal);
    return { principal, decision };
  };

  const requestOf = ({ operation, params }: Match, incoming: Incoming) => ({
    params,
    query: validate('query', operation.query, queryOf(operation.query, incoming.url.searchParams)),
    body: validate('body', operation.body, bodyOf(operation, incoming)),
    if_match: operation.ifMatch ? ifMatchOf(incoming.headers) : undefined,
    last_event_id: incoming.headers.get('last-event-id') ?? undefined,
  });

  const contextOf = (match: Match, asked: AuditedRequest, draft: Draft, told: (() => void)[]): MockCtx => {
    const { decision, correlation_id } = asked;
    const principal = asked.principal ?? { ...SIGNED_OUT };
    const organization_id = decision?.organization_id ?? null;
    const project_id = decision?.project_id ?? null;
    return {
      world,
      principal,
      operation: match.id,
      correlation_id,
      organization_id,
      project_id,
      emit: (type, event) =>
        told.push(() => world.emit(type, { organization_id, project_id, correlation_id, ...event })),
      note: (metadata) => Object.assign(draft.metadata, metadata),
      target: (kind, id) => {
        draft.target = { kind, id };
      },
      setTarget: (organizationId, projectId) => {
        draft.organization_id = organizationId;
        draft.project_id = projectId;
      },
      holds: (permission, organizationId, projectId) =>
        holds(world, principal, permission, { organization_id: organizationId, project_id: projectId }),
    };
  };

  /** The stored response to the same request, or a place to store it. */
  const recall = (match: Match, asked: AuditedRequest, incoming: Incoming, fingerprint: string): Stored => {
    const scope = asked.decision?.project_id ?? asked.decision?.organization_id ?? '';
    const key = [scope, asked.principal?.id, match.id, idempotencyKeyOf(incoming.headers)].join('\n');
    const known = answers.get(key);
    if (known === undefined) {
      const made = { fingerprint, body: undefined, isDone: false };
      answers.set(key, made);
      return made;
    }
    if (known.fingerprint !== fingerprint) throw new Refusal('idempotency_key_reused', REFUSALS.idempotency_key_reused);
    if (!known.isDone) throw new Refusal('idempotency_in_flight', REFUSALS.idempotency_in_flight);
    return known;
  };

  const forget = (stored: Stored | null): void => {
    for (const [key, value] of answers) if (value === stored) answers.delete(key);
  };

  const send = (
    match: Match,
    incoming: Incoming,
    correlationId: string,
    body: unknown,
    isReplay: boolean,
  ): Response => {
    const { operation, params } = match;
    const location = locationOf(operation, params, body);
    const version = typeof body === 'object' && body !== null && 'version' in body ? body.version : undefined;
    const etag = typeof version === 'number' ? `"v${version}"` : undefined;
    const headers = {
      'x-correlation-id': correlationId,
      'cache-control': 'no-store',
      ...(location === undefined ? {} : { location }),
      ...(etag === undefined ? {} : { etag }),
      ...(isReplay ? { 'idempotency-replayed': 'true' } : {}),
    };
    if (etag !== undefined && operation.method === 'GET' && incoming.headers.get('if-none-match') === etag)
      return new Response(null, { status: 304, headers });
    return body === undefined ? new Response(null, { status: 204, headers }) : json(operation.status, body, headers);
  };

  const checkResponse = (operation: Operation, body: unknown): void => {
    if (!options.checksResponses || operation.response === null) return;
    const errors = errorsOf(operation.response, JSON.parse(JSON.stringify(body ?? null)));
    if (errors.length > 0)
      throw new Error(`The response does not match the contract: ${errors.slice(0, 5).join('; ')}`);
  };

  const answer = async (match: Match, asked: AuditedRequest, incoming: Incoming, draft: Draft): Promise<Response> => {
    const { operation } = match;
    const req = requestOf(match, incoming);
    const stored =
      operation.idempotency === 'required'
        ? recall(match, asked, incoming, JSON.stringify([req.params, req.body, asked.principal?.scopes]))
        : null;
    if (stored?.isDone) return send(match, incoming, asked.correlation_id, stored.body, true);
    const told: (() => void)[] = [];
    try {
      const ctx = contextOf(match, asked, draft, told);
      assertBelowLimits(ctx, req);
      const body = await handlers[match.id](ctx, req as never);
      if (operation.stream !== undefined) {
        const items = streamBody(operation.stream, body as AsyncIterable<object>, incoming.signal);
        return new Response(items, {
          headers: { 'content-type': `${operation.stream}; charset=utf-8`, 'x-correlation-id': asked.correlation_id },
        });
      }
      checkResponse(operation, body);
      for (const tell of told) tell();
      if (operation.audit !== null) insertAudit(world, asked, { result: 'success', error_code: null, draft, body });
      if (stored !== null) Object.assign(stored, { body: structuredClone(body), isDone: true });
      return send(match, incoming, asked.correlation_id, body, false);
    } catch (err) {
      // A refused request may be retried with the same key.
      forget(stored);
      throw err;
    }
  };

  const pages = async (incoming: Incoming): Promise<Response | null> => {
    const { pathname, searchParams } = incoming.url;
    if (pathname === '/auth/sign-out' && incoming.method === 'POST') {
      identity.signOut();
      return json(200, { redirect_to: '/signed-out' }, {});
    }
    if (pathname !== '/auth/sign-in') return null;
    identity.signIn();
    return json(200, { redirect_to: searchParams.get('return_to') ?? '/' }, {});
  };

  const refuse = (asked: AuditedRequest | null, draft: Draft, err: unknown): void => {
    if (asked === null || asked.operation.audit === null || asked.principal === null) return;
    const code = err instanceof Refusal ? err.code : 'internal';
    insertAudit(world, asked, {
      result: DENIALS.has(code) ? 'denied' : 'failure',
      error_code: code,
      draft,
    });
  };

  return async (input, init) => {
    const incoming = await incomingOf(input, init);
    incoming.signal?.throwIfAborted();
    if (options.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, options.latencyMs));
    world.agenda.catchUp();
    const page = await pages(incoming);
    if (page !== null) return page;
    const { pathname, origin } = incoming.url;
    const correlation_id = correlationIdOf(incoming.headers) ?? `c-${world.mint('event').slice(4)}`;
    const draft: Draft = { target: null, metadata: {}, organization_id: null, project_id: null };
    let asked: AuditedRequest | null = null;
    try {
      const match = matchRoute(incoming.method, pathname);
      asked = { ...match, principal: identity.principal(), correlation_id, decision: null };
      const { decision, principal } = admit(match);
      asked = { ...asked, principal, decision };
      Object.assign(draft, { organization_id: decision.organization_id, project_id: decision.project_id });
      return await answer(match, asked, incoming, draft);
    } catch (err) {
      if (err instanceof TypeError && err.message === 'Failed to fetch') throw err;
      refuse(asked, draft, err);
      if (!(err instanceof Refusal)) console.error(err);
      const problem = problemOf(err, { correlation_id, path: pathname, origin });
      return json(problem.status, problem, {
        'content-type': 'application/problem+json',
        'x-correlation-id': correlation_id,
        ...(problem.retry_after_s === null ? {} : { 'retry-after': String(problem.retry_after_s) }),
      });
    }
  };
};

const SIGNED_OUT: Principal = {
  id: '',
  name: '',
  email: null,
  platform_role: null,
  scopes: [],
  web_session_id: null,
  auth_time: null,
};
