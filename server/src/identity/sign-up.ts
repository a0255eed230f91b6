/**
 * First sign-in, as the policy of the site decides it: a user with a personal organization and its default project, a
 * user without one who joins by invitation or group, a user who waits for an operator, or a refusal without a user. All
 * in one transaction. Two first requests at once end with one user: the unique subject refuses the second, which then
 * finds the first.
 */
import { mintId } from '@gpuaas/kit';
import type { WriteCtx } from '../context.ts';
import { type AuditRow, insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { listMappedRoles } from '../db/group-mapping.ts';
import { isInvited } from '../db/invitation.ts';
import { hasSuperadmin } from '../db/principal.ts';
import { decideSignUpRequest, insertSignUpRequest, lockSignUpRequestOf } from '../db/sign-up-request.ts';
import { getSitePolicy } from '../db/site-policy.ts';
import { approveUser, insertUser } from '../db/user.ts';
import { decideSignUp, type SignUpDecision, type SignUpPolicy } from '../domain/sign-up.ts';
import { AppError } from '../errors.ts';
import type { VerifiedToken } from '../ports/identity/verifier.ts';
import { createPersonalOrganization, emitInto, isNameTaken } from './new-organization.ts';

/** Another sign-up may take the name of the organization between the check and the insert. */
const NAME_ATTEMPTS_MAX = 3;

type Request = Readonly<{ correlation_id: string; source_ip: string; user_agent: string; superadmin: boolean }>;

const hasInvitation = async (tx: Tx, { email, email_verified, groups }: VerifiedToken): Promise<boolean> => {
  if (email !== null && email_verified && (await isInvited(tx, email))) return true;
  return Array.isArray(groups) && groups.length > 0 && (await listMappedRoles(tx, groups)).length > 0;
};

const auditOf = (
  { correlation_id, source_ip, user_agent }: Request,
  row: Pick<AuditRow, 'organization_id' | 'actor_kind' | 'actor_id' | 'target_id' | 'policy' | 'metadata'> &
    Partial<Pick<AuditRow, 'result' | 'error_code'>>,
): AuditRow => ({
  ...{ correlation_id, source_ip, user_agent, project_id: null, actor_role: null },
  ...{ action: 'user.create', target_kind: 'user', result: 'success', error_code: null },
  ...row,
});

const POLICIES = {
  personal: 'first sign-in creates a personal organization',
  invited: 'first sign-in of an invited person creates no organization',
  wait: 'first sign-in waits for the approval of an operator',
} as const;

type Admitted = Exclude<SignUpDecision, { kind: 'refuse' }>;

const create = async (tx: Tx, token: VerifiedToken, request: Request, decision: Admitted, gpu_limit: number | null) => {
  const id = mintId('usr');
  const { name, email, issuer, subject, email_verified } = token;
  const platform_role = request.superadmin ? 'superadmin' : null;
  const state = decision.kind === 'wait' ? 'pending' : 'active';
  await insertUser(tx, { id, issuer, subject, name, email, email_verified, platform_role, state });
  const row = { actor_kind: 'user', actor_id: id, target_id: id } as const;
  if (decision.kind === 'wait') {
    const sign_up_request_id = mintId('sur');
    await insertSignUpRequest(tx, { id: sign_up_request_id, user_id: id });
    const metadata = { sign_up_request_id };
    await insertAuditLog(tx, auditOf(request, { ...row, organization_id: null, policy: POLICIES.wait, metadata }));
  } else if (decision.has_organization) {
    const { emit, sent } = emitInto(tx, request.correlation_id);
    const made = await createPersonalOrganization(tx, { id, name, email }, gpu_limit, emit);
    await sent();
    const organization_id = made.organization.id;
    const metadata = { organization_id, project_id: made.project_id, platform_role };
    await insertAuditLog(tx, auditOf(request, { ...row, organization_id, policy: POLICIES.personal, metadata }));
  } else {
    const metadata = { platform_role };
    await insertAuditLog(tx, auditOf(request, { ...row, organization_id: null, policy: POLICIES.invited, metadata }));
  }
};

/** Committed although nothing was created: the audit row states who was refused. */
const auditRefused = (tx: Tx, { email, issuer, subject }: VerifiedToken, request: Request, sentence: string) =>
  insertAuditLog(
    tx,
    auditOf(request, {
      organization_id: null,
      actor_kind: 'anonymous',
      actor_id: null,
      target_id: null,
      result: 'denied',
      error_code: 'policy_denied',
      policy: sentence,
      metadata: { issuer, subject, email },
    }),
  );

const decide = async (tx: Tx, policy: SignUpPolicy, token: VerifiedToken, request: Request) => {
  const { email, email_verified } = token;
  const person = { email, email_verified, is_superadmin: request.superadmin };
  return decideSignUp(policy, { ...person, is_invited: await hasInvitation(tx, token) }, await hasSuperadmin(tx));
};

const attempt = async (tx: Tx, token: VerifiedToken, request: Request, isNews: boolean): Promise<SignUpDecision> => {
  const policy = await getSitePolicy(tx);
  const decision = await decide(tx, policy, token, request);
  if (decision.kind !== 'refuse') await create(tx, token, request, decision, policy.default_gpu_limit);
  else if (isNews) await auditRefused(tx, token, request, decision.sentence);
  return decision;
};

const withNameRetries = async <T>(run: () => Promise<T>): Promise<T> => {
  for (let count = 1; ; count++) {
    try {
      return await run();
    } catch (err) {
      if (!isNameTaken(err) || count >= NAME_ATTEMPTS_MAX) throw err;
    }
  }
};

/** `isNews`: false for a person who was refused a moment ago, whose requests would fill the audit log. */
export const signUp = async (
  database: Database,
  token: VerifiedToken,
  request: Request,
  isNews: boolean,
): Promise<void> => {
  try {
    const decision = await withNameRetries(() => database.write(PLATFORM, (tx) => attempt(tx, token, request, isNews)));
    if (decision.kind === 'refuse') throw new AppError('policy_denied', decision.sentence);
  } catch (err) {
    if (!isUniqueViolation(err, 'users_issuer_subject_key')) throw err;
  }
};

type Waiting = Readonly<{ id: string; name: string; email: string | null }>;

/** Makes a waiting user active, with a personal organization or without. False when the user no longer waits. */
export const admitUser = async (
  tx: Tx,
  user: Waiting,
  { has_organization, gpu_limit }: Readonly<{ has_organization: boolean; gpu_limit: number | null }>,
  emit: WriteCtx['emit'],
): Promise<Readonly<{ organization_id: string | null }> | undefined> => {
  if ((await approveUser(tx, user.id)) === undefined) return undefined;
  if (!has_organization) return { organization_id: null };
  const { organization } = await createPersonalOrganization(tx, user, gpu_limit, emit);
  return { organization_id: organization.id };
};

const reconsider = async (tx: Tx, user: Waiting, token: VerifiedToken, request: Request): Promise<boolean> => {
  const asked = await lockSignUpRequestOf(tx, user.id);
  if (asked === undefined || asked.state === 'approved') return false;
  if (asked.state === 'rejected' && !request.superadmin) return false;
  const policy = await getSitePolicy(tx);
  const decision = await decide(tx, policy, token, request);
  if (decision.kind !== 'admit') return false;
  const { emit, sent } = emitInto(tx, request.correlation_id);
  const { has_organization } = decision;
  const admitted = await admitUser(tx, user, { has_organization, gpu_limit: policy.default_gpu_limit }, emit);
  await sent();
  if (admitted === undefined) return false;
  const at = { id: asked.id, from: asked.state };
  await decideSignUpRequest(tx, at, { state: 'approved', reason: null, decided_by: null });
  const { organization_id } = admitted;
  await insertAuditLog(tx, {
    ...auditOf(request, {
      organization_id,
      actor_kind: 'system',
      actor_id: null,
      target_id: user.id,
      policy: 'the sign-up policy admits a user who waited for approval',
      metadata: { sign_up_request_id: asked.id, organization_id },
    }),
    action: 'user.update',
  });
  return true;
};

/** A waiting user signs in again: invited meanwhile, or the policy has changed. True when the user is admitted. */
export const signUpAgain = (
  database: Database,
  user: Waiting,
  token: VerifiedToken,
  request: Request,
): Promise<boolean> => withNameRetries(() => database.write(PLATFORM, (tx) => reconsider(tx, user, token, request)));
