/**
 * The browser features that sign-in forms need: cookies with their paths, redirects followed one by one, forms read
 * from the page and submitted with typed values. A redirect outside the known paths ends the journey.
 */
import assert from 'node:assert/strict';

export type Page = Readonly<{ url: string; status: number; text: string; headers: Headers; leftTo: string | null }>;
type Cookie = Readonly<{ value: string; path: string; attributes: string }>;

const HOPS_MAX = 10;

const unescapeHtml = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
  );

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescapeHtml(value);
};

export class Browser {
  readonly #origin: string;
  readonly #follows: RegExp;
  readonly cookies = new Map<string, Cookie>();

  constructor(origin: string, follows = /^\/oidc/) {
    this.#origin = origin;
    this.#follows = follows;
  }

  #keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf('='));
      const path = rest.find((part) => /^path=/i.test(part))?.slice(5) ?? '/';
      const expires = rest.find((part) => /^expires=/i.test(part))?.slice(8);
      const isOver = expires !== undefined && Date.parse(expires) <= Date.now();
      if (isOver || rest.some((part) => /^max-age=0$/i.test(part))) this.cookies.delete(`${name} ${path}`);
      else
        this.cookies.set(`${name} ${path}`, { value: pair.slice(name.length + 1), path, attributes: rest.join('; ') });
    }
  }

  /** The cookies that it would send to this path. */
  cookieHeader(path: string): string {
    const sent = [...this.cookies].filter(([, { path: root }]) => {
      const folder = root.endsWith('/') ? root : `${root}/`;
      return path === root || path.startsWith(folder);
    });
    return sent.map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ');
  }

  async open(
    target: string,
    init: Readonly<{ form?: URLSearchParams; headers?: Record<string, string> }> = {},
  ): Promise<Page> {
    let url = new URL(target, this.#origin);
    let form = init.form;
    for (let hop = 0; hop < HOPS_MAX; hop++) {
      const response = await fetch(url, {
        method: form === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: {
          accept: 'text/html',
          // A test that waits for a command does not see the server close an idle connection.
          connection: 'close',
          cookie: this.cookieHeader(url.pathname),
          ...(form === undefined ? {} : { origin: this.#origin }),
          ...init.headers,
        },
        ...(form === undefined ? {} : { body: form }),
      });
      this.#keep(response.headers);
      const text = await response.text();
      const location = response.headers.get('location');
      const page = { url: url.href, status: response.status, text, headers: response.headers };
      if (location === null) return { ...page, leftTo: null };
      const next = new URL(location, url);
      if (next.origin !== this.#origin || !this.#follows.test(next.pathname)) return { ...page, leftTo: next.href };
      url = next;
      form = undefined;
    }
    return assert.fail(`more than ${HOPS_MAX} redirects from ${target}`);
  }

  /** Fills the page's only form and presses its first button, or the one with this name. */
  submit(page: Page, typed: Readonly<Record<string, string>> = {}, button?: string): Promise<Page> {
    const [, attributes = '', inner = ''] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(page.text) ?? [];
    assert.notEqual(inner, '', `no form on ${page.url}: ${page.text}`);
    const form = new URLSearchParams();
    for (const [tag] of inner.matchAll(/<input[^>]*>/g)) {
      const name = attribute(tag, 'name');
      if (name !== undefined) form.set(name, typed[name] ?? attribute(tag, 'value') ?? '');
    }
    for (const [tag] of inner.matchAll(/<button[^>]*>/g)) {
      const name = attribute(tag, 'name');
      if (name !== undefined && name === button) form.set(name, attribute(tag, 'value') ?? '');
    }
    return this.open(attribute(attributes, 'action') ?? page.url, { form });
  }
}
