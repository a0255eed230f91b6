/**
 * The two cookies of the console. Behind https the session's has the `__Host-` prefix, with which a browser takes it from
 * this host alone, for the whole of it and never in the clear. Both are out of reach of scripts. They are `Lax`: a link in
 * a mail must arrive signed in. What other sites could do with that is refused in same-origin.ts.
 */
import type { IncomingHttpHeaders } from 'node:http';

type Attributes = Readonly<{ path: string; max_age_s: number }>;

export type Cookies = Readonly<{
  /** Its value, where the browser sent one that could be a session. */
  session(headers: IncomingHttpHeaders): string | undefined;
  setSession(token: string, maxAgeS: number): string;
  clearSession(): string;
  /** What a sign-in under way left behind, by its state. */
  signIn(headers: IncomingHttpHeaders, state: string): string | undefined;
  setSignIn(state: string, sealed: string): string;
  clearSignIn(state: string): string;
  /** Clears sign-ins that were begun and left, once there are so many that the next would not fit beside them. */
  clearLeftSignIns(headers: IncomingHttpHeaders): string[];
}>;

export const SIGN_IN_S = 600;
const SIGN_IN_PATH = '/auth';
const SIGN_INS_MAX = 4;
const TOKEN = /^[A-Za-z0-9_-]{20,200}$/;
const STATE = /^[A-Za-z0-9_-]{16,128}$/;

const pairsOf = (headers: IncomingHttpHeaders): [string, string][] =>
  (headers.cookie ?? '').split(';').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? ['', pair.trim()] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });

const cookieOf = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  pairsOf(headers).find(([known]) => known === name)?.[1];

export const createCookies = (publicUrl: string): Cookies => {
  const isSecure = publicUrl.startsWith('https:');
  const sessionName = isSecure ? '__Host-gpuaas_session' : 'gpuaas_session';
  const signInPrefix = isSecure ? '__Secure-gpuaas_sign_in_' : 'gpuaas_sign_in_';
  const write = (name: string, value: string, { path, max_age_s }: Attributes): string =>
    `${name}=${value}; Path=${path}; Max-Age=${max_age_s}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  // Tabs that sign in at the same moment must not take each other's.
  const signInName = (state: string): string => `${signInPrefix}${state.slice(0, 16)}`;
  const clearSignIn = (name: string): string => write(name, '', { path: SIGN_IN_PATH, max_age_s: 0 });
  return {
    session: (headers) => {
      const value = cookieOf(headers, sessionName);
      return value !== undefined && TOKEN.test(value) ? value : undefined;
    },
    setSession: (token, maxAgeS) => write(sessionName, token, { path: '/', max_age_s: maxAgeS }),
    clearSession: () => write(sessionName, '', { path: '/', max_age_s: 0 }),
    signIn: (headers, state) => (STATE.test(state) ? cookieOf(headers, signInName(state)) : undefined),
    setSignIn: (state, sealed) => write(signInName(state), sealed, { path: SIGN_IN_PATH, max_age_s: SIGN_IN_S }),
    clearSignIn: (state) => clearSignIn(signInName(state)),
    clearLeftSignIns: (headers) => {
      const names = pairsOf(headers).flatMap(([name]) => (name.startsWith(signInPrefix) ? [name] : []));
      return names.length < SIGN_INS_MAX ? [] : names.map(clearSignIn);
    },
  };
};
