/**
 * The sign-in form. It belongs to one authorization request: the request's id is in the path and in a cookie that other
 * sites cannot send, and the form carries a token made from that id, so no other site can sign a visitor in.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Log } from '@gpuaas/kit';
import { type Context, errors, type Interaction, type Next, type Provider } from 'oidc-provider';
import type { Accounts } from './accounts.ts';
import { problemPage, signInPage } from './pages.ts';

const BODY_MAX_BYTES = 8 * 1024;

type InteractionOptions = Readonly<{
  provider: Provider;
  accounts: Accounts;
  csrfKey: Buffer;
  /** Path under which the issuer is mounted, without a trailing slash. */
  mountPath: string;
  log: Log;
}>;

/** Null when it is not a form or too large. */
const readForm = async (ctx: Context): Promise<URLSearchParams | null> => {
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(ctx.get('content-type'))) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
};

const showPage = (ctx: Context, status: number, body: string): void => {
  ctx.status = status;
  ctx.type = 'html';
  ctx.body = body;
};

export const createInteractionPages = (options: InteractionOptions) => {
  const { provider, accounts } = options;
  const origin = new URL(provider.issuer).origin;

  const tokenFor = (uid: string): Buffer => createHmac('sha256', options.csrfKey).update(uid).digest();
  const isTokenFor = (uid: string, given: string): boolean => {
    const bytes = Buffer.from(given, 'base64url');
    return bytes.length === 32 && timingSafeEqual(bytes, tokenFor(uid));
  };

  const show = async (
    ctx: Context,
    interaction: Interaction,
    status: number,
    username: string,
    error: string | null,
  ): Promise<void> => {
    const client = await provider.Client.find(interaction.params.client_id);
    ctx.state['returns_to'] = interaction.params.redirect_uri;
    const body = signInPage({
      action: `${options.mountPath}/interaction/${interaction.uid}`,
      csrf: tokenFor(interaction.uid).toString('base64url'),
      username,
      clientName: client?.clientName ?? interaction.params.client_id,
      error,
    });
    showPage(ctx, status, body);
  };

  const finish = async (ctx: Context, result: Record<string, unknown>): Promise<void> => {
    const mergeWithLastSubmission = 'consent' in result;
    const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission });
    ctx.status = 303;
    ctx.redirect(returnTo);
  };

  const submit = async (ctx: Context, interaction: Interaction): Promise<void> => {
    const form = await readForm(ctx);
    const sentFrom = ctx.get('origin');
    if (
      form === null ||
      (sentFrom !== '' && sentFrom !== origin) ||
      !isTokenFor(interaction.uid, form.get('csrf') ?? '')
    )
      return showPage(
        ctx,
        400,
        problemPage(
          'The sign-in failed',
          'The form was not sent from this page. Go back and try again.',
          'invalid_form',
        ),
      );
    if (form.get('cancel') !== null)
      return finish(ctx, { error: 'access_denied', error_description: 'The sign-in was cancelled.' });
    const username = (form.get('username') ?? '').trim();
    const result = accounts.signIn(username, form.get('password') ?? '', ctx.req.socket.remoteAddress ?? '');
    switch (result.kind) {
      case 'signed_in':
        options.log.info({ username: result.account.username }, 'signed in at the embedded issuer');
        return finish(ctx, { login: { accountId: result.account.username, amr: ['pwd'] } });
      case 'throttled':
        ctx.set('Retry-After', String(result.retry_after_s));
        return show(
          ctx,
          interaction,
          429,
          username,
          `Too many wrong passwords. Wait ${result.retry_after_s} s, then try again.`,
        );
      case 'refused':
        options.log.warn('wrong password at the embedded issuer');
        return show(ctx, interaction, 400, username, 'The username or password is wrong.');
    }
  };

  return async (ctx: Context, next: Next): Promise<void> => {
    const uid = /^\/interaction\/([A-Za-z0-9_-]{1,64})$/.exec(ctx.path)?.[1];
    if (uid === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method)) return next();
    let interaction: Interaction;
    try {
      interaction = await provider.interactionDetails(ctx.req, ctx.res);
      if (interaction.uid !== uid) throw new errors.SessionNotFound('another sign-in');
    } catch (err) {
      if (!(err instanceof errors.SessionNotFound)) throw err;
      const sentence = 'This sign-in has expired or belongs to another window. Start the sign-in again.';
      return showPage(ctx, 400, problemPage('Sign-in expired', sentence, 'session_not_found'));
    }
    if (ctx.method === 'POST') return submit(ctx, interaction);
    // Only our own applications are clients here, and they are trusted: consent is granted automatically.
    if (interaction.prompt.name !== 'login') return finish(ctx, { consent: {} });
    return show(ctx, interaction, 200, interaction.params.login_hint?.slice(0, 64) ?? '', null);
  };
};
