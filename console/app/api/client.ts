/**
 * The console's client of the API: the SDK with the browser's session cookie. The header marks requests as the page's own,
 * which another site cannot do; without it the server takes no change from a cookie.
 */
import { type Client, type ClientOptions, connect, createClient } from '@gpuaas/sdk';

export type Backend = Readonly<{
  client: Client;
  /** Opens a session with an allocation; the demo has one of its own. */
  connect: typeof connect;
  /** Ends the browser's session and says where to go then. */
  signOut(): Promise<string>;
  signInUrl(returnTo: string): string;
}>;

const CONSOLE_HEADER = { 'x-gpuaas-console': '1' };

export const createBackend = (
  options: Readonly<{ fetch?: typeof globalThis.fetch; connect?: typeof connect }> = {},
): Backend => {
  const send = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const marked: NonNullable<ClientOptions['fetch']> = (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(CONSOLE_HEADER)) headers.set(name, value);
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
    signInUrl: (returnTo) => `/auth/sign-in?return_to=${encodeURIComponent(returnTo)}`,
  };
};
