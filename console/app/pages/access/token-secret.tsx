import type { TokenCreated } from '@gpuaas/sdk';
import { exact } from '../../format/time.ts';
import type { Secret } from '../../ui/secret-view.tsx';

/** A new token and how it is presented. */
export const tokenSecret = ({ api_token, token }: TokenCreated): Secret => ({
  title: `Token for ${api_token.name}`,
  name: 'token',
  value: token,
  explanation: (
    <>
      Expires at {exact(api_token.expires_at)}. Send as <span className="mono">Authorization: Bearer …</span>, or set in
      the CLI environment as <span className="mono">GPUAAS_TOKEN</span>.
    </>
  ),
});
