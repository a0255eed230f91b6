/**
 * The two users of the laptop default. They share one generated password; guesses are slowed per source, so that a page
 * open in the same browser or a neighbor on the network cannot try them all.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@gpuaas/kit';

type DevAccount = Readonly<{ username: string; name: string; email: string; about: string }>;

export const DEV_ACCOUNTS: readonly DevAccount[] = [
  { username: 'dev-admin', name: 'Dev Admin', email: 'dev-admin@gpuaas.local', about: 'platform operator' },
  { username: 'dev-user', name: 'Dev User', email: 'dev-user@gpuaas.local', about: 'ordinary tenant' },
];

export const findDevAccount = (username: string): DevAccount | undefined =>
  DEV_ACCOUNTS.find((account) => account.username === username);

/** Claims of a token about an account, in the terms of OpenID Connect. */
export const claimsOf = (account: DevAccount) => ({
  name: account.name,
  preferred_username: account.username,
  email: account.email,
  email_verified: true,
});

type SignInResult =
  | Readonly<{ kind: 'signed_in'; account: DevAccount }>
  | Readonly<{ kind: 'refused' }>
  | Readonly<{ kind: 'throttled'; retry_after_s: number }>;

export type Accounts = Readonly<{ signIn(username: string, password: string, source: string): SignInResult }>;

const FREE_FAILURES = 5;
const DELAY_MAX_MS = 60_000;
const FORGET_AFTER_MS = 10 * 60_000;
const SOURCES_MAX = 10_000;

type Failures = Readonly<{ count: number; last_ms: number; locked_until_ms: number }>;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export const createAccounts = (options: Readonly<{ password: string; clock: Clock }>): Accounts => {
  if (options.password.length < 8)
    throw new Error('the password of the embedded issuer must have 8 characters or more');
  const expected = digest(options.password);
  const failures = new Map<string, Failures>();

  const recordFailure = (source: string, nowMs: number): void => {
    const before = failures.get(source);
    const count = before === undefined || nowMs - before.last_ms > FORGET_AFTER_MS ? 1 : before.count + 1;
    const delayMs = count < FREE_FAILURES ? 0 : Math.min(DELAY_MAX_MS, 1000 * 2 ** (count - FREE_FAILURES));
    failures.delete(source);
    if (failures.size >= SOURCES_MAX) {
      const oldest = failures.keys().next();
      if (!oldest.done) failures.delete(oldest.value);
    }
    failures.set(source, { count, last_ms: nowMs, locked_until_ms: nowMs + delayMs });
  };

  return {
    signIn: (username, password, source) => {
      const nowMs = options.clock.now().getTime();
      const lockedMs = (failures.get(source)?.locked_until_ms ?? 0) - nowMs;
      if (lockedMs > 0) return { kind: 'throttled', retry_after_s: Math.ceil(lockedMs / 1000) };
      const account = findDevAccount(username);
      // Digests have one length, so the comparison takes the same time for every guess and every name.
      const matches = timingSafeEqual(digest(password), expected);
      if (account !== undefined && matches) {
        failures.delete(source);
        return { kind: 'signed_in', account };
      }
      recordFailure(source, nowMs);
      return { kind: 'refused' };
    },
  };
};
