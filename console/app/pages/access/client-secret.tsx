import type { Operations } from '@gpuaas/sdk';
import type { Secret } from '../../ui/secret-view.tsx';

type Made = Operations['serviceAccountCreate']['response'];

/** A new client secret, with the other values that a program needs. */
export const clientSecret = (title: string, { service_account, client_secret }: Made): Secret => ({
  title,
  name: 'client secret',
  value: client_secret,
  facts: [['Client ID', service_account.id]],
  explanation: (
    <>
      A program exchanges both for a 1-hour access token (OAuth 2.0 client credentials) at{' '}
      <span className="mono">/api/v1/auth/token</span>.
    </>
  ),
});
