/**
 * The two cookies of the console. Behind https both have the `__Host-` prefix, with which a browser takes them from
 * this host alone, for the whole of it and never in the clear: no neighbor under the same domain can plant a session,
 * nor a sign-in of its own that would make a visitor somebody else. Both are out of reach of scripts. They are `Lax`: a
 * link in a mail must arrive signed in. What other sites could do with that is refused in same-origin.ts.
 */
import type { IncomingHttpHeaders } from 'node:http';

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
const SIGN_INS_MAX = 4;
/** They travel with every request, and all headers together have a limit. */
const SIGN_INS_CHARS_MAX = 4096;
const TOKEN = /^[A-Za-z0-9_-]{20,200}$/;
const STATE = /^[A-Za-z0-9_-]{16,128}$/;

/** Only what browsers put between cookies is taken off: a name that begins with any other space is another name. */
const bare = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

const pairsOf = (headers: IncomingHttpHeaders): [string, string][] =>
  (headers.cookie ?? '').split(';').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? ['', bare(pair)] : [bare(pair.slice(0, at)), bare(pair.slice(at + 1))];
  });

const cookieOf = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  pairsOf(headers).find(([known]) => known === name)?.[1];

export const createCookies = (publicUrl: string): Cookies => {
  const isSecure = publicUrl.startsWith('https:');
  const prefix = isSecure ? '__Host-' : '';
  const sessionName = `${prefix}gpuaas_session`;
  const signInPrefix = `${prefix}gpuaas_sign_in_`;
  const write = (name: string, value: string, maxAgeS: number): string =>
    `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  // Tabs that sign in at the same moment must not take each other's.
  const signInName = (state: string): string => `${signInPrefix}${state.slice(0, 16)}`;
  const clear = (name: string): string => write(name, '', 0);
  return {
    session: (headers) => {
      const value = cookieOf(headers, sessionName);
      return value !== undefined && TOKEN.test(value) ? value : undefined;
    },
    setSession: (token, maxAgeS) => write(sessionName, token, maxAgeS),
    clearSession: () => clear(sessionName),
    signIn: (headers, state) => (STATE.test(state) ? cookieOf(headers, signInName(state)) : undefined),
    setSignIn: (state, sealed) => write(signInName(state), sealed, SIGN_IN_S),
    clearSignIn: (state) => clear(signInName(state)),
    clearLeftSignIns: (headers) => {
      const left = pairsOf(headers).filter(([name]) => name.startsWith(signInPrefix));
      const chars = left.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
      const hasRoom = left.length < SIGN_INS_MAX && chars <= SIGN_INS_CHARS_MAX;
      return hasRoom ? [] : left.map(([name]) => clear(name));
    },
  };
};
