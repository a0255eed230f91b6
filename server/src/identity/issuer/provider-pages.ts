/** Joins oidc-provider's page hooks with our pages. The forms are ours; the library only gives their secrets. */
import type { Client, DeviceInfo, OidcRequest } from 'oidc-provider';
import { deviceCodePage, deviceConfirmPage, messagePage, problemPage, signOutPage } from './pages.ts';

export type IssuerPages = Readonly<{ mountPath: string }>;

const show = (ctx: OidcRequest, body: string): void => {
  ctx.type = 'html';
  ctx.body = body;
};

const nameOf = (client: Client): string => client.clientName ?? client.clientId;
const xsrfOf = (ctx: OidcRequest): string => ctx.oidc.session.state?.secret ?? '';

const DEVICE_PROBLEMS: Readonly<Record<string, string>> = {
  NoCodeError: 'Enter the code first.',
  NotFoundError: 'There is no such code. Check it against your terminal.',
  ExpiredError: 'This code has expired. Start the sign-in in your terminal again.',
  AlreadyUsedError: 'This code was used already. Start the sign-in in your terminal again.',
  AbortedError: 'The device was not allowed. Nothing was signed in.',
};

export const deviceSources = (pages: IssuerPages) => {
  const action = `${pages.mountPath}/device`;

  const userCodeConfirmSource = (
    ctx: OidcRequest,
    _form: string,
    client: Client,
    device: DeviceInfo | undefined,
    userCode: string,
  ): void => show(ctx, deviceConfirmPage({ action, xsrf: xsrfOf(ctx), userCode, clientName: nameOf(client), device }));

  /** A link with the code leads directly to the confirmation; the code must still be compared and allowed. */
  const userCodeInputSource = async (
    ctx: OidcRequest,
    _form: string,
    _out?: unknown,
    err?: Error & { userCode?: string },
  ) => {
    const { provider } = ctx.oidc;
    const linked = ctx.state['user_code'];
    if (err === undefined && typeof linked === 'string') {
      const normalized = linked.replace(/[^a-zA-Z0-9]/g, '').toUpperCase();
      const code = await provider.DeviceCode.findByUserCode(normalized);
      const client = code === undefined ? undefined : await provider.Client.find(code.clientId);
      if (code && client && code.accountId === undefined && code.error === undefined && code.inFlight !== true)
        return userCodeConfirmSource(
          ctx,
          '',
          client,
          code.deviceInfo,
          `${normalized.slice(0, 4)}-${normalized.slice(4)}`,
        );
      const error = DEVICE_PROBLEMS['ExpiredError'] ?? null;
      return show(ctx, deviceCodePage({ action, xsrf: xsrfOf(ctx), userCode: '', error }));
    }
    const error = err === undefined ? null : (DEVICE_PROBLEMS[err.name] ?? 'The sign-in failed. Try again.');
    show(ctx, deviceCodePage({ action, xsrf: xsrfOf(ctx), userCode: err?.userCode?.slice(0, 20) ?? '', error }));
  };

  return {
    deviceInfo: (ctx: OidcRequest): DeviceInfo => ({
      ip: (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
      ua: ctx.get('user-agent').slice(0, 200),
    }),
    userCodeInputSource,
    userCodeConfirmSource,
    successSource: (ctx: OidcRequest): void =>
      show(ctx, messagePage('You are signed in', 'Your terminal continues automatically. You can close this page.')),
  };
};

export const signOutSources = (pages: IssuerPages) => ({
  logoutSource: (ctx: OidcRequest): void => {
    ctx.state['returns_to'] = ctx.oidc.session.state?.postLogoutRedirectUri;
    show(ctx, signOutPage({ action: `${pages.mountPath}/session/end/confirm`, xsrf: xsrfOf(ctx) }));
  },
  postLogoutSuccessSource: (ctx: OidcRequest): void =>
    show(ctx, messagePage('You are signed out', 'You can close this page.')),
});

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const renderError = (ctx: OidcRequest, out: Readonly<{ error: string; error_description?: string }>): void => {
  const described = out.error_description ?? '';
  const sentence =
    out.error === 'server_error' || described === ''
      ? 'The sign-in service is unavailable. Try again in a moment.'
      : `${capitalise(described).replace(/\.$/, '')}.`;
  show(ctx, problemPage('The sign-in failed', sentence, out.error));
};
