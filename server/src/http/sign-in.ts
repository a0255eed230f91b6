/**
 * Sign-in and sign-out of browsers. They are pages and not operations: a browser reaches them by address, with cookies
 * instead of a body, and is redirected. Failures are pages too, which state the reason and offer to start again.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '../errors.ts';
import type { SignIn } from '../identity/sign-in.ts';
import type { Cookies } from './cookie.ts';
import { escapeHtml, htmlPage, PAGE_CSP } from './html.ts';
import { toAppError, toProblem } from './problem.ts';
import { userAgentOf } from './request.ts';
import { assertOwnPage } from './same-origin.ts';

export type SignInRoutes = Readonly<{
  signIn: SignIn;
  cookies: Cookies;
  public_url: string;
  /** The age that a fresh sign-in may have. */
  fresh_sign_in_max_age_s: number;
  /** Refuses by throwing: an address with too many requests. */
  admit(ip: string): void;
  /** Logs the server's own errors. */
  onFault(error: AppError, correlationId: string): void;
}>;

type Query = Readonly<Record<string, string | string[] | undefined>>;
const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? undefined : value);

const RETURN_TO_MAX = 2048;
const HOME = '/';
/**
 * The page after sign-out, without a sign-in redirect: an issuer that cannot sign users out would sign them in again.
 */
const SIGNED_OUT = '/signed-out';
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A path of this server, or the first page: never another site, never this page again. */
export const returnPath = (wanted: string | undefined, origin: string): string => {
  if (wanted === undefined || wanted.length > RETURN_TO_MAX || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(wanted))
    return HOME;
  if (!URL.canParse(wanted, origin)) return HOME;
  const url = new URL(wanted, origin);
  const isOurs = url.origin === origin && !url.pathname.startsWith('//') && !/^\/auth(\/|$)/.test(url.pathname);
  return isOurs ? `${url.pathname}${url.search}${url.hash}` : HOME;
};

const again = (returnTo: string, prompt: boolean): string =>
  `/auth/sign-in?${new URLSearchParams({ return_to: returnTo, ...(prompt ? { prompt: 'login' } : {}) })}`;

const problemPage = (title: string, cause: string, correlationId: string, href: string): string =>
  htmlPage(
    title,
    `<main class="text">
<p class="soft">GPUaaS</p>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(cause)}</p>
<p><a href="${escapeHtml(href)}">Sign in again</a></p>
<dl>
<dt>Correlation ID</dt><dd><code>${escapeHtml(correlationId)}</code></dd>
</dl>
<p class="soft">If it happens again, give this ID to support.</p>
</main>`,
  );

export const addSignInRoutes = (app: FastifyInstance, routes: SignInRoutes): void => {
  const { signIn, cookies, public_url } = routes;
  const { origin, hostname, port, protocol } = new URL(public_url);

  const callerOf = (request: FastifyRequest) => ({
    correlation_id: request.state.correlation_id,
    source_ip: request.ip,
    user_agent: userAgentOf(request.headers),
  });

  const leave = (reply: FastifyReply, url: string): FastifyReply =>
    reply.status(303).header('cache-control', 'no-store').header('location', url).send();

  const fail = (request: FastifyRequest, reply: FastifyReply, err: unknown, returnTo: string): FastifyReply => {
    const error = toAppError(err);
    const { correlation_id } = request.state;
    const problem = toProblem(error, { correlation_id, path: '/auth', public_url });
    request.state.error_code = error.code;
    if (problem.status >= 500) routes.onFault(error, correlation_id);
    if (problem.retry_after_s !== null) reply.header('retry-after', String(problem.retry_after_s));
    // A user known to the issuer and refused here can choose another account.
    const isUnknown = error.code === 'policy_denied';
    const isRefused = isUnknown || error.code === 'unauthenticated' || error.code === 'permission_denied';
    const title = isUnknown ? 'You have no account here' : 'You are not signed in';
    return reply
      .status(isRefused ? 403 : problem.status)
      .header('cache-control', 'no-store')
      .header('content-security-policy', PAGE_CSP)
      .type('text/html; charset=utf-8')
      .send(problemPage(title, problem.detail, correlation_id, again(returnTo, isRefused)));
  };

  /** Cookies belong to one host name: a client of another name of this host is redirected to the published one. */
  const ownCookieName = (request: FastifyRequest): string | undefined => {
    const asked = `${protocol}//${request.headers.host ?? ''}`;
    if (!URL.canParse(asked)) return undefined;
    const url = new URL(asked);
    const isOther = url.hostname !== hostname && url.port === port;
    return isOther && LOOPBACK_NAMES.has(url.hostname) && LOOPBACK_NAMES.has(hostname)
      ? `${origin}${request.url}`
      : undefined;
  };

  app.get<{ Querystring: Query }>('/auth/sign-in', async (request, reply) => {
    const returnTo = returnPath(one(request.query['return_to']), origin);
    try {
      routes.admit(request.ip);
      const elsewhere = ownCookieName(request);
      if (elsewhere !== undefined) return leave(reply, elsewhere);
      const prompt = one(request.query['prompt']) === 'login' ? 'login' : undefined;
      // The console asks for one after a refusal; the server knows how fresh it must be.
      const max_age_s = one(request.query['fresh']) === '1' ? routes.fresh_sign_in_max_age_s : undefined;
      const begun = await signIn.begin({ return_to: returnTo, prompt, max_age_s });
      reply.header('set-cookie', [
        ...cookies.clearLeftSignIns(request.headers),
        cookies.setSignIn(begun.state, begun.sealed),
      ]);
      return leave(reply, begun.url);
    } catch (err) {
      return fail(request, reply, err, returnTo);
    }
  });

  app.get<{ Querystring: Query }>('/auth/callback', async (request, reply) => {
    const state = one(request.query['state']) ?? '';
    const sealed = cookies.signIn(request.headers, state);
    // A sign-in is completed once, with any outcome.
    const used = sealed === undefined ? [] : [cookies.clearSignIn(state)];
    try {
      routes.admit(request.ip);
      const presented = cookies.session(request.headers);
      const query = request.url.slice('/auth/callback?'.length);
      const done = await signIn.finish({ query, sealed, presented }, callerOf(request));
      reply.header('set-cookie', [...used, cookies.setSession(done.token, done.max_age_s)]);
      return leave(reply, `${origin}${returnPath(done.return_to, origin)}`);
    } catch (err) {
      if (used.length > 0) reply.header('set-cookie', used);
      return fail(request, reply, err, signIn.returnTo(sealed) ?? HOME);
    }
  });

  app.register(async (scope) => {
    // The content of the request does not matter: the cookie decides.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
    scope.post('/auth/sign-out', {
      onRequest: async (request) => {
        assertOwnPage(request, origin);
        routes.admit(request.ip);
      },
      handler: async (request, reply) => {
        const url = await signIn.end(cookies.session(request.headers), callerOf(request));
        return reply
          .header('cache-control', 'no-store')
          .header('set-cookie', cookies.clearSession())
          .send({ redirect_to: url ?? SIGNED_OUT });
      },
    });
  });
};
