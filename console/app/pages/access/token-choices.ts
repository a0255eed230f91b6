/** Scopes and lifetimes of a token: as choices, as the API takes them and as the CLI takes them. */
import { SCOPE_PATTERN, SCOPES_MAX, TOKEN_LIFETIME_MAX_S } from '@gpuaas/sdk';

export const EXPIRIES = [
  { value: '1d', label: '1 day', seconds: 86_400 },
  { value: '7d', label: '7 days', seconds: 7 * 86_400 },
  { value: '30d', label: '30 days', seconds: 30 * 86_400 },
  { value: '90d', label: '90 days', seconds: 90 * 86_400 },
  { value: '365d', label: '1 year (maximum)', seconds: TOKEN_LIFETIME_MAX_S },
] as const;
export const DEFAULT_EXPIRY = '30d';

export const secondsOf = (value: string): number =>
  (EXPIRIES.find((one) => one.value === value) ?? EXPIRIES[2]).seconds;

export type Reach = 'read' | 'all' | 'some';
const SCOPE = new RegExp(SCOPE_PATTERN);

export const scopesOf = (reach: Reach, some: readonly string[]): readonly string[] =>
  reach === 'some' ? some : [reach];

export const scopeRefusal = (reach: Reach, some: readonly string[]): string | null => {
  if (reach !== 'some') return null;
  if (some.length === 0) return 'Select at least one permission.';
  if (some.length > SCOPES_MAX) return `Select at most ${SCOPES_MAX} scopes.`;
  const odd = some.find((scope) => !SCOPE.test(scope));
  return odd === undefined ? null : `“${odd}” is not a permission. Use a name such as allocation.read or allocation.*`;
};

/** Every permission, and every prefix that covers more than one. */
export const scopeChoices = (permissions: readonly string[]): readonly string[] => {
  const prefixes = new Map<string, number>();
  for (const permission of permissions) {
    const prefix = `${permission.slice(0, permission.lastIndexOf('.'))}.*`;
    prefixes.set(prefix, (prefixes.get(prefix) ?? 0) + 1);
  }
  const wide = [...prefixes].filter(([, count]) => count > 1).map(([prefix]) => prefix);
  return [...new Set([...wide, ...permissions])].sort();
};

type Ending = Readonly<{ expires_at: string; revoked_at: string | null }>;
/** Revoked wins over expired. */
export const tokenState = ({ expires_at, revoked_at }: Ending, nowMs: number): 'active' | 'revoked' | 'expired' => {
  if (revoked_at !== null) return 'revoked';
  return Date.parse(expires_at) <= nowMs ? 'expired' : 'active';
};
