/**
 * Tickets: the only way to a session. A ticket is valid once, for half a minute, for this caller, allocation and kind;
 * only its hash is stored. The permissions of the session are decided here and written into its row, which the gateway
 * uses; the gateway itself checks again that the caller may still connect when the ticket is presented.
 */
import { randomBytes } from 'node:crypto';
import { type PublicApi, type RequestOf, scopeAllows } from '@gpuaas/contract';
import { type SessionKind, STREAM_PATH } from '@gpuaas/contract/stream';
import { invariant, mintId } from '@gpuaas/kit';
import type { Ctx, WriteCtx } from '../context.ts';
import { ACCESS_DEFAULTS, type AccessSettings, findAccessPolicy } from '../db/access-policy.ts';
import { lockAllocation } from '../db/allocation.ts';
import { findProject } from '../db/project.ts';
import { countLiveSessions, insertSession } from '../db/terminal-session.ts';
import { FIELD_MESSAGES, REFUSALS } from '../domain/sentences.ts';
import {
  acceptsInput,
  isRecorded,
  type RecordingPolicies,
  recordingRefusal,
  SESSIONS_MAX,
  sessionNotice,
  sessionRefusal,
  TICKET_S,
} from '../domain/session.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { hashToken } from '../identity/token.ts';
import { callerHolds, isSignIn, organizationOf, principalOf, projectOf } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const COLS_DEFAULT = 80;
const ROWS_DEFAULT = 24;

const assertPort = (kind: SessionKind, port: number | undefined): void => {
  if ((kind === 'forward') === (port !== undefined)) return;
  const message = kind === 'forward' ? FIELD_MESSAGES.forward_needs_port : FIELD_MESSAGES.port_needs_forward;
  throw new AppError('invalid_request', `Invalid request: port ${message}.`, {
    errors: [{ pointer: '/body/port', code: kind === 'forward' ? 'required' : 'not_allowed', message }],
  });
};

/** Whether role and scopes allow the caller to connect, and not only to view. */
const mayConnect = (ctx: Ctx): boolean =>
  callerHolds(ctx, 'allocation.connect', organizationOf(ctx), projectOf(ctx)) &&
  scopeAllows(principalOf(ctx).credential.scopes, 'allocation.connect');

const assertAllowed = (ctx: Ctx, kind: SessionKind, policy: AccessSettings, policies: RecordingPolicies): boolean => {
  if (principalOf(ctx).kind === 'service_account' && !policy.allows_service_accounts)
    throw new AppError(
      'policy_denied',
      'The access policy of the organization does not allow service accounts to connect. An admin of the organization can change it.',
    );
  const unrecorded = recordingRefusal(policies, kind);
  if (unrecorded !== null) throw new AppError('policy_denied', unrecorded);
  const isWritable = mayConnect(ctx);
  if (!isWritable && kind !== 'console') throw new AppError('permission_denied', REFUSALS.console_only);
  return isWritable;
};

/** A token ends its sessions with itself; a sign-in where the organization requires it. */
const endsWithCredential = (ctx: Ctx, policy: AccessSettings): boolean =>
  !isSignIn(principalOf(ctx)) || policy.ends_with_sign_in;

export const create = async (ctx: WriteCtx, { params, body }: Req<'terminalTicketCreate'>) => {
  const { allocation_id } = params;
  const { kind } = body;
  const { tx } = ctx;
  const principal = principalOf(ctx);
  // The allocation is locked, so that concurrent tickets cannot exceed the limit.
  const [row, policyRow, project, live] = await Promise.all([
    lockAllocation(tx, allocation_id),
    findAccessPolicy(tx, organizationOf(ctx)),
    findProject(tx, projectOf(ctx)),
    countLiveSessions(tx, allocation_id),
  ]);
  // Of this project: an allocation of another counts as missing.
  if (row === undefined || project === undefined || row.project_id !== project.id) throw notFound('allocation');
  assertPort(kind, body.port);
  const policy = policyRow ?? ACCESS_DEFAULTS;
  const policies = { organization: policy, project };
  const is_writable = assertAllowed(ctx, kind, policy, policies) && acceptsInput(row);
  const refusal = sessionRefusal(row, kind);
  if (refusal !== null) throw conflict(refusal);
  if (live >= SESSIONS_MAX)
    throw conflict(`The allocation has reached its limit of ${live} sessions. Close one, or wait for one to end.`);
  await assertBelowLimit(ctx, 'sessions', row.organization_id);
  const is_recorded = isRecorded(policies, kind);
  if (is_recorded) await assertBelowLimit(ctx, 'recordings', row.organization_id);
  invariant(row.node_id !== null, `allocation ${row.id} is somewhere`);
  const id = mintId('ses');
  const ticket = randomBytes(32).toString('base64url');
  const made = await insertSession(tx, {
    ...{ id, organization_id: row.organization_id, project_id: row.project_id, allocation_id, node_id: row.node_id },
    ...{ kind, port: body.port ?? null, cols: body.cols ?? COLS_DEFAULT, rows: body.rows ?? ROWS_DEFAULT },
    ...{ is_writable, is_recorded },
    ...{ principal_id: principal.id, principal_kind: principal.kind, principal_name: principal.name },
    credential_id: principal.credential.id,
    credential_expires_at: principal.credential.expires_at,
    ticket_hash: hashToken(ticket),
    ticket_s: TICKET_S,
    session_max_s: policy.session_max_s,
    ends_with_credential: endsWithCredential(ctx, policy),
    correlation_id: ctx.correlation_id,
  });
  invariant(made !== undefined, 'the session was just written');
  ctx.target('terminal_session', id);
  ctx.note({ allocation_id, kind, port: body.port ?? null, is_writable, is_recorded });
  return {
    session_id: id,
    ticket,
    url: `${ctx.deps.config.gateway.public_url}${STREAM_PATH}`,
    expires_at: made.ticket_expires_at,
    kind,
    is_writable,
    notice: sessionNotice(is_recorded),
  };
};
