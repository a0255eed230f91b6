/**
 * `gpuaas login --dev`: tokens for user name and password in one request, without a browser. Only the embedded issuer
 * supports this grant, and it refuses to run in production.
 */
import type { Clock } from '@gpuaas/kit';
import { errors, type OidcRequest, type Provider, type ResourceServerInfo } from 'oidc-provider';
import type { Accounts } from './accounts.ts';

export const DEV_GRANT = 'urn:gpuaas:grant:dev';

type DevGrantOptions = Readonly<{
  provider: Provider;
  accounts: Accounts;
  resource: string;
  resourceServer: ResourceServerInfo;
  scope: string;
  clock: Clock;
}>;

export const registerDevGrant = (options: DevGrantOptions): void => {
  const { provider, accounts, resource, scope } = options;

  const handler = async (ctx: OidcRequest): Promise<void> => {
    const { username = '', password = '' } = ctx.oidc.params;
    const result = accounts.signIn(username, password, ctx.req.socket.remoteAddress ?? '');
    if (result.kind === 'throttled') {
      ctx.set('Retry-After', String(result.retry_after_s));
      const sentence = `Too many wrong passwords. Wait ${result.retry_after_s} s, then try again.`;
      throw Object.assign(new errors.CustomOIDCProviderError('slow_down', sentence), { status: 429, statusCode: 429 });
    }
    if (result.kind === 'refused')
      throw new errors.CustomOIDCProviderError('invalid_grant', 'The username or password is wrong.');

    const accountId = result.account.username;
    const { client } = ctx.oidc;
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.addOIDCScope(scope);
    grant.addResourceScope(resource, scope);
    const grantId = await grant.save();
    const shared = { accountId, client, grantId, gty: 'dev', scope };

    const accessToken = new provider.AccessToken(shared);
    accessToken.resourceServer = new provider.ResourceServer(resource, options.resourceServer);
    const refreshToken = new provider.RefreshToken({
      ...shared,
      resource,
      rotations: 0,
      authTime: Math.floor(options.clock.now().getTime() / 1000),
    });
    ctx.oidc.entity('Client', client);
    // The claims of the access token state when the password was entered.
    ctx.oidc.entity('RefreshToken', refreshToken);
    ctx.body = {
      access_token: await accessToken.save(),
      refresh_token: await refreshToken.save(),
      expires_in: accessToken.expiration,
      token_type: 'Bearer',
      scope,
    };
  };
  provider.registerGrantType(DEV_GRANT, handler, ['username', 'password']);
};
