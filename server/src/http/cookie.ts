/**
 * The two cookies of the console. Behind https both have the `__Host-` prefix: a browser accepts them only from this
 * host, for all paths and only over https, so no neighbor under the same domain can plant a session, or a sign-in as
 * another user. Scripts cannot read them. They are `Lax`, so that a link in a mail opens signed in; same-origin.ts
 * refuses what other sites could do with that.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type Cookies = Readonly<{
  /** Its value, if the browser sent a plausible session. */
  session(headers: IncomingHttpHeaders): string | undefined;
  setSession(token: string, maxAgeS: number): string;
  clearSession(): string;
  /** The data of a pending sign-in, by its state. */
  signIn(headers: IncomingHttpHeaders, state: string): string | undefined;
  setSignIn(state: string, sealed: string): string;
  clearSignIn(state: string): string;
  /** Clears abandoned sign-ins when the next one would exceed the limit. */
  clearLeftSignIns(headers: IncomingHttpHeaders): string[];
}>;

export const SIGN_IN_S = 600;
const SIGN_INS_MAX = 4;
/** They are sent with every request, and headers have a total limit. */
const SIGN_INS_CHARS_MAX = 4096;
const TOKEN = /^[A-Za-z0-9_-]{20,200}$/;
const STATE = /^[A-Za-z0-9_-]{16,128}$/;

/** Only the separators that browsers use are removed: a name that begins with any other space is another name. */
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
  // Tabs that sign in at the same time must not share a cookie.
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
