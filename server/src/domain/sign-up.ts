/**
 * Who may sign up: the policy of the site, applied to a person at the first sign-in. Configured superadmins always get in,
 * or no one could change the policy. An invitation is to a verified address: otherwise anyone could claim it.
 */
import { REFUSALS } from './sentences.ts';

export type SignUpPolicy = Readonly<{
  sign_up: 'closed' | 'invited' | 'approved' | 'open';
  mail_domains: readonly string[];
  contact: string | null;
}>;

export type Newcomer = Readonly<{
  email: string | null;
  email_verified: boolean;
  /** The address is one of the configured superadmins'. */
  is_superadmin: boolean;
  /** A pending invitation to the verified address, or a mapped group. */
  is_invited: boolean;
}>;

/** The policy in the refusal of everything that a waiting user requests. */
export const SIGN_UP_PENDING = 'an operator has not approved your sign-up yet; gpuaas whoami shows its state';

export type SignUpDecision =
  /** With a personal organization, or as a user who joins others only. */
  | Readonly<{ kind: 'admit'; has_organization: boolean }>
  /** Waits for an operator. */
  | Readonly<{ kind: 'wait' }>
  | Readonly<{ kind: 'refuse'; sentence: string }>;

const admit = (has_organization: boolean): SignUpDecision => ({ kind: 'admit', has_organization });

type Addressed = Pick<Newcomer, 'email' | 'email_verified'>;
const isOfDomain = ({ email, email_verified }: Addressed, domains: readonly string[]): boolean => {
  if (domains.length === 0) return true;
  return email !== null && email_verified && domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
};

const decideByPolicy = (policy: SignUpPolicy, person: Newcomer): SignUpDecision => {
  if (policy.sign_up === 'closed') return { kind: 'refuse', sentence: REFUSALS.sign_up_closed(policy.contact) };
  if (policy.sign_up === 'open' && isOfDomain(person, policy.mail_domains)) return admit(true);
  if (person.is_invited) return admit(false);
  if (policy.sign_up === 'approved') return { kind: 'wait' };
  const { contact } = policy;
  return {
    kind: 'refuse',
    sentence:
      policy.sign_up === 'invited'
        ? REFUSALS.sign_up_invited(person.email_verified ? person.email : null, contact)
        : REFUSALS.sign_up_domain(person.email_verified ? person.email : null, contact),
  };
};

/** Before the first superadmin no operator could approve a person or answer: the refusal names the way to become one. */
export const decideSignUp = (policy: SignUpPolicy, person: Newcomer, hasSuperadmin: boolean): SignUpDecision => {
  if (person.is_superadmin) return admit(true);
  const decision = decideByPolicy(policy, person);
  if (hasSuperadmin || decision.kind === 'admit') return decision;
  return { kind: 'refuse', sentence: REFUSALS.sign_up_before_superadmin(person.email_verified ? person.email : null) };
};

/**
 * The limit of an organization that a user creates. The first one of a user, mostly the personal one, gets the default;
 * otherwise everyone could have it as often as they may create organizations. Null is no limit.
 */
export const ownGpuLimit = (
  { default_gpu_limit }: Readonly<{ default_gpu_limit: number | null }>,
  hasCreated: boolean,
): number | null => (hasCreated && default_gpu_limit !== null ? 0 : default_gpu_limit);

/**
 * Why a user cannot create an organization; null where the policy would have admitted the user with one. Who came by an
 * invitation from another domain joins organizations of others only.
 */
export const organizationRefusal = (
  { sign_up, mail_domains, contact }: SignUpPolicy,
  user: Addressed,
): string | null =>
  sign_up === 'open' && isOfDomain(user, mail_domains) ? null : REFUSALS.organization_by_operator(contact);
