/** The wrapper of every request to the embedded issuer: one host name, strict headers, no script on any page. */
import type { Context, Next } from 'oidc-provider';
import { continuePage, pagePolicy, problemPage } from './pages.ts';

export const SESSION_COOKIE = 'gpuaas_oidc';
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Cookies belong to one host name. A client of another name of this host is redirected to the issuer's own, or the
 * sign-in would lose its cookie halfway.
 */
export const createCanonicalHost = (issuerUrl: string) => {
  const issuer = new URL(issuerUrl);
  const mountPath = issuer.pathname.replace(/\/$/, '');
  const pages = /^\/(auth|device|session\/end)$/;
  return async (ctx: Context, next: Next): Promise<void> => {
    const asked = `${issuer.protocol}//${ctx.get('host')}`;
    if (ctx.method === 'GET' && pages.test(ctx.path) && URL.canParse(asked)) {
      const { host, hostname, port } = new URL(asked);
      const bothLoopback = LOOPBACK_NAMES.has(hostname) && LOOPBACK_NAMES.has(issuer.hostname);
      if (bothLoopback && port === issuer.port && host !== issuer.host) {
        ctx.redirect(`${issuer.origin}${mountPath}${ctx.url}`);
        return;
      }
    }
    await next();
  };
};

const unescapeHtml = (text: string): string =>
  text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');

/** The library responds in two places with a form that submits itself by script; ours has a button. */
const withoutScript = (body: string): string => {
  const action = /<form method="post" action="([^"]*)">/.exec(body)?.[1] ?? '';
  const inputs = body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\/>/g);
  const fields = Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [name, unescapeHtml(value)]));
  return continuePage({ action: new URL(unescapeHtml(action)).pathname, fields });
};

/** Steps that continue a device sign-in belong to a session; the library would fail without one. */
const lostItsSession = (ctx: Context): boolean =>
  ((ctx.method === 'POST' && ctx.path === '/device') || (ctx.method === 'GET' && ctx.path.startsWith('/device/'))) &&
  ctx.cookies.get(SESSION_COOKIE) === undefined;

export const createPageGuard =
  () =>
  async (ctx: Context, next: Next): Promise<void> => {
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Referrer-Policy', 'same-origin');
    // A code in the address would be posted by script; the page takes it from here instead.
    if (ctx.method === 'GET' && ctx.path === '/device' && typeof ctx.query['user_code'] === 'string') {
      ctx.state['user_code'] = ctx.query['user_code'].slice(0, 64);
      ctx.url = '/device';
    }
    if (lostItsSession(ctx)) {
      ctx.status = 400;
      ctx.type = 'html';
      ctx.body = problemPage('Form expired', 'Open the page again and enter the code.', 'session_not_found');
    } else {
      await next();
    }
    if (ctx.status === 404 && ctx.body === undefined) {
      if (ctx.accepts('json', 'html') === 'html') {
        ctx.type = 'html';
        ctx.body = problemPage('Not found', 'There is no such page here.', 'not_found');
      } else {
        ctx.body = { error: 'not_found', error_description: 'There is no such page here.' };
      }
      ctx.status = 404;
    }
    if (!ctx.type.endsWith('/html')) return;
    if (typeof ctx.body === 'string' && ctx.body.includes('<script>')) ctx.body = withoutScript(ctx.body);
    const returnsTo = ctx.state['returns_to'] ?? ctx.oidc?.entities.Interaction?.params.redirect_uri;
    ctx.set('Content-Security-Policy', pagePolicy(typeof returnsTo === 'string' ? returnsTo : undefined));
    ctx.set('X-Frame-Options', 'DENY');
    ctx.set('Cache-Control', 'no-store');
  };
