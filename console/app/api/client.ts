/**
 * The console's client of the API: the SDK with the browser's session cookie. The header marks requests as sent by the
 * page, which another site cannot do; without it the server accepts no change from a cookie.
 */
import { type Client, type ClientOptions, connect, createClient } from '@gpuaas/sdk';
import { watchAttention } from './attention.ts';

const SIGN_IN_PARAMETER = { fresh: '&fresh=1', prompt: '&prompt=login' } as const;

export type Backend = Readonly<{
  client: Client;
  /** Opens a session with an allocation; the demo has its own implementation. */
  connect: typeof connect;
  /** Ends the browser's session and returns the address to go to. */
  signOut(): Promise<string>;
  /** `fresh` accepts only a sign-in of the last minutes; `prompt` always asks for credentials. */
  signInUrl(returnTo: string, how?: keyof typeof SIGN_IN_PARAMETER): string;
}>;

const CONSOLE_HEADER = { 'x-gpuaas-console': '1' };
const UNATTENDED_HEADER = { 'x-gpuaas-unattended': '1' };

export const createBackend = (
  options: Readonly<{
    fetch?: typeof globalThis.fetch;
    connect?: typeof connect;
    signInUrl?: Backend['signInUrl'];
  }> = {},
): Backend => {
  const { isLeft } = watchAttention(globalThis);
  const send = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const marked: NonNullable<ClientOptions['fetch']> = (input, init) => {
    const headers = new Headers(init?.headers);
    const marks = { ...CONSOLE_HEADER, ...(isLeft() ? UNATTENDED_HEADER : {}) };
    for (const [name, value] of Object.entries(marks)) headers.set(name, value);
    return send(input, { ...init, headers, credentials: 'same-origin' });
  };
  const client = createClient({ baseUrl: globalThis.location.origin, fetch: marked });
  return {
    client,
    connect: options.connect ?? connect,
    signOut: async () => {
      const { data } = await client.raw({ method: 'POST', path: '/auth/sign-out', body: '' });
      const { redirect_to } = JSON.parse(data) as { redirect_to: string };
      return redirect_to;
    },
    signInUrl:
      options.signInUrl ??
      ((returnTo, how) =>
        `/auth/sign-in?return_to=${encodeURIComponent(returnTo)}${how === undefined ? '' : SIGN_IN_PARAMETER[how]}`),
  };
};
