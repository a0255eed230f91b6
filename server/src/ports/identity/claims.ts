/**
 * A token's claims about a user. Names and addresses are written by users and by other systems: they are text to show,
 * never to trust, and are stored without control characters, direction marks or endless length.
 */
import type { JWTPayload } from 'jose';

type Person = Readonly<{ name: string; email: string | null; email_verified: boolean }>;

const NAME_MAX = 120;
const EMAIL_MAX = 254;
const SUBJECT_MAX = 255;
export const SCOPES_MAX = 100;

/** Control, format (bidirectional marks among them), private and unassigned characters, line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const UNPRINTABLE_RUNS = new RegExp(UNPRINTABLE.source, 'gu');

const clean = (value: unknown, max: number): string => {
  if (typeof value !== 'string') return '';
  const text = value
    .slice(0, 4 * max)
    .normalize('NFC')
    .replace(UNPRINTABLE_RUNS, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return Array.from(text).slice(0, max).join('').trim();
};

const emailOf = (claims: JWTPayload): string | null => {
  const { email } = claims;
  if (typeof email !== 'string' || email.length > EMAIL_MAX || !/^[^\s@<>"'(),;:\\]+@[^\s@<>"'(),;:\\]+$/.test(email))
    return null;
  return UNPRINTABLE.test(email) ? null : email;
};

/** A subject is a key: it is used unchanged or not at all. */
export const subjectOf = (claims: JWTPayload): string | null => {
  const { sub } = claims;
  return typeof sub === 'string' && sub.length > 0 && sub.length <= SUBJECT_MAX && /^[\x20-\x7e]+$/.test(sub)
    ? sub
    : null;
};

export const personOf = (claims: JWTPayload, subject: string): Person => {
  const email = emailOf(claims);
  const name =
    clean(claims['name'], NAME_MAX) ||
    clean(claims['preferred_username'], NAME_MAX) ||
    clean(email, NAME_MAX) ||
    clean(subject, NAME_MAX);
  const verified = claims['email_verified'];
  // Some issuers send the flag as a string.
  return {
    name: name || 'unnamed',
    email,
    email_verified: email !== null && (verified === true || verified === 'true'),
  };
};

/** What is not text stays a word that names nothing: left out, it would not restrict the token. */
const wordsOf = (given: unknown): string[] => {
  if (given === undefined || given === null) return [];
  return typeof given === 'string' ? given.split(' ').filter((word) => word !== '') : [JSON.stringify(given)];
};

/** `scope` is one string (RFC 9068), `scp` a list or a string with some issuers. Null if they are too many. */
export const scopesOf = (claims: JWTPayload): string[] | null => {
  const words = [...new Set([claims['scope'], claims['scp']].flat().flatMap(wordsOf))];
  return words.length > SCOPES_MAX ? null : words;
};

const GROUPS_MAX = 1_000;
const GROUP_MAX_CHARS = 255;

/**
 * The groups of a user: a list, or `absent` in a token without the claim. `unreadable` must change nothing: the claim
 * is malformed, too long, or names another place to ask (the overage of Entra), or userinfo did not respond, so the
 * groups are not known.
 */
export type GroupsClaim = readonly string[] | 'absent' | 'unreadable';

export const groupsOf = (claims: JWTPayload, name: string): GroupsClaim => {
  const given = claims[name];
  const elsewhere = claims['_claim_names'];
  if (given === undefined)
    return typeof elsewhere === 'object' && elsewhere !== null && name in elsewhere ? 'unreadable' : 'absent';
  const list: unknown = typeof given === 'string' ? [given] : given;
  if (!Array.isArray(list) || list.length > GROUPS_MAX) return 'unreadable';
  const isGroup = (one: unknown): one is string =>
    typeof one === 'string' && one !== '' && one.length <= GROUP_MAX_CHARS && !UNPRINTABLE.test(one);
  return list.every(isGroup) ? [...new Set(list)].sort() : 'unreadable';
};

const TIME_MAX_S = 8_640_000_000_000;

const timeOf = (seconds: unknown): string | null =>
  typeof seconds === 'number' && seconds > 0 && seconds <= TIME_MAX_S ? new Date(seconds * 1000).toISOString() : null;

/** When the user signed in, RFC 3339. `iat` does not count: it changes with every refresh. */
export const authTimeOf = (claims: Readonly<Record<string, unknown>>): string | null => timeOf(claims['auth_time']);

/** When the token was issued, RFC 3339. */
export const issuedAtOf = (claims: Readonly<Record<string, unknown>>): string | null => timeOf(claims['iat']);

/** The clients that the token names: `azp` or RFC 9068 `client_id`, `appid` with Entra, `cid` with Okta. Not text where it is malformed. */
export const clientsOf = (claims: JWTPayload): readonly unknown[] =>
  ['azp', 'client_id', 'appid', 'cid'].flatMap((name) => (claims[name] === undefined ? [] : [claims[name]]));

/**
 * An id token tells an application who signed in; it is not a credential for an API. RFC 9068 tokens state it in the
 * header, Keycloak and Cognito in a claim; otherwise the hashes that only id tokens carry decide, and a nonce does
 * unless the issuer named the token a bearer token.
 */
export const isAccessToken = (headerType: unknown, claims: JWTPayload): boolean => {
  const type = typeof headerType === 'string' ? headerType.toLowerCase().replace(/^application\//, '') : undefined;
  if (type === 'at+jwt') return true;
  if (type !== undefined && type !== 'jwt') return false;
  const named = claims['typ'];
  if (named !== undefined && named !== 'Bearer') return false;
  if (claims['token_use'] !== undefined && claims['token_use'] !== 'access') return false;
  if ('at_hash' in claims || 'c_hash' in claims || 'events' in claims) return false;
  return !('nonce' in claims) || named === 'Bearer';
};
