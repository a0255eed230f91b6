/**
 * Operations that admit, free, price or destroy need proof that the operator is there: a sign-in that is at most
 * `max_age_s` old. Only `auth_time`, the time of the sign-in at the identity provider, counts; a refreshed token keeps
 * it. No time, and a time in the future, are not fresh. An API token has no sign-in; one that an operator created with
 * the scope `fresh_sign_in` stands for one.
 */
import { FRESH_SIGN_IN_SCOPE, type Operation, type PlatformRole } from '@gpuaas/contract';

/** Clocks differ: a sign-in this far in the future is one of now. */
export const FUTURE_TOLERANCE_S = 5;

type Caller = Readonly<{
  platform_role: PlatformRole | null;
  credential: Readonly<{
    kind: 'oidc' | 'web_session' | 'api_token' | 'service_account_token';
    scopes: readonly string[];
    /** RFC 3339; null if the identity provider did not state it. */
    auth_time: string | null;
  }>;
}>;

const timeText = (seconds: number): string => {
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return seconds === 60 ? 'minute' : `${seconds / 60} minutes`;
};

/** Why the caller must sign in again before this operation; null if it need not. */
export const freshSignInRefusal = (
  operation: Pick<Operation, 'freshSignIn'>,
  { platform_role, credential }: Caller,
  { now_ms, max_age_s }: Readonly<{ now_ms: number; max_age_s: number }>,
): string | null => {
  if (operation.freshSignIn !== true || platform_role === null) return null;
  const { kind, scopes, auth_time } = credential;
  const needed = `This change needs a sign-in of the last ${timeText(max_age_s)}.`;
  if (kind === 'api_token' || kind === 'service_account_token')
    return scopes.includes(FRESH_SIGN_IN_SCOPE)
      ? null
      : `${needed} An API token has no sign-in; it needs the scope ${FRESH_SIGN_IN_SCOPE}.`;
  if (auth_time === null) return `${needed} The identity provider did not state when you signed in (auth_time).`;
  const age_ms = now_ms - Date.parse(auth_time);
  if (age_ms < -FUTURE_TOLERANCE_S * 1000)
    return `${needed} Yours is dated in the future (auth_time): the clock of the identity provider differs.`;
  return age_ms <= max_age_s * 1000 ? null : `${needed} Yours is older.`;
};

/** How the audit row names a token that stood for a sign-in; empty for people. */
export const freshSignInPolicy = (operation: Pick<Operation, 'freshSignIn'>, { credential }: Caller): string =>
  operation.freshSignIn === true && credential.kind === 'api_token' && credential.scopes.includes(FRESH_SIGN_IN_SCOPE)
    ? `; the token has the scope ${FRESH_SIGN_IN_SCOPE}`
    : '';

/** A token that stands for sign-ins must not outlive a theft for long. */
const SCOPED_TOKEN_DAYS_MAX = 7;

/** Why a token with these scopes cannot be created; null unless they include the scope. */
export const freshSignInScopeRefusal = (
  scopes: readonly string[],
  { platform_role, credential }: Caller,
  owner: 'user' | 'service_account',
  lifetime_s: number,
): string | null => {
  if (!scopes.includes(FRESH_SIGN_IN_SCOPE)) return null;
  if (owner === 'service_account')
    return `A service account is no operator: its tokens cannot have the scope ${FRESH_SIGN_IN_SCOPE}.`;
  const isSignIn = credential.kind === 'oidc' || credential.kind === 'web_session';
  if (platform_role === null || !isSignIn)
    return `Only an operator of the platform who is signed in can grant the scope ${FRESH_SIGN_IN_SCOPE}.`;
  return lifetime_s <= SCOPED_TOKEN_DAYS_MAX * 86_400
    ? null
    : `A token with the scope ${FRESH_SIGN_IN_SCOPE} may live at most ${SCOPED_TOKEN_DAYS_MAX} days. Choose a shorter lifetime.`;
};
