/** The whole API with its embedded issuer and users who sign in there with a browser, on a port that both know. */
import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import type { Config } from '../src/config.ts';
import { startTestApp, type TestApp, type TestClock, testClock } from './app.ts';
import { Browser, type Page } from './browser.ts';

const PASSWORD = 'correct horse battery';
const SESSION = 'gpuaas_session';

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

type Heard = Readonly<{ status: number; body: ReturnType<typeof JSON.parse>; headers: IncomingHttpHeaders }>;

export type Signed = Readonly<{
  browser: Browser;
  /** The value of the session's cookie. */
  token: string;
  /** A request of the console: cookie and headers as its page sends them, plus these; null removes one. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string | null>>): Promise<Heard>;
}>;

export type ConsoleApp = Readonly<{
  test: TestApp;
  clock: TestClock;
  origin: string;
  /** As the owner of the tables. */
  sql: Client;
  browser(): Browser;
  /** Signs in from this address; returns the last page. */
  signIn(browser: Browser, username?: string, path?: string): Promise<Page>;
  signed(username?: string, browser?: Browser): Promise<Signed>;
  /** Requests with this cookie. */
  holder(token: string): Signed['call'];
}>;

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });

/** Exactly these headers: `fetch` overrides those that only browsers send. */
const send = (url: string, method: string, headers: Record<string, string>, body: unknown): Promise<Heard> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      const isJson = (answer.headers['content-type'] ?? '').includes('json');
      const heard = (said: string): Heard => ({
        status: answer.statusCode ?? 0,
        body: isJson ? JSON.parse(said) : said,
        headers: answer.headers,
      });
      text(answer).then(heard).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });

export const sessionOf = (browser: Browser): string | undefined => browser.cookies.get(`${SESSION} /`)?.value;

export const startConsoleApp = async (t: TestLike, overrides: Partial<Config> = {}): Promise<ConsoleApp> => {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const clock = testClock();
  const oidc = {
    issuer: null,
    audience: 'gpuaas-api',
    console_client_id: 'gpuaas-console',
    console_client_secret: null,
    cli_client_id: 'gpuaas-cli',
    groups_claim: 'groups',
    groups_max_age_days: 30,
    other_client_ids: [],
  };
  const test = await startTestApp(
    t,
    { port, public_url: origin, oidc, ...overrides },
    { clock, dev_password: PASSWORD },
  );
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());

  const holder =
    (token: string): Signed['call'] =>
    async (method, path, body, given = {}) => {
      const own = {
        cookie: `${SESSION}=${token}`,
        'x-gpuaas-console': '1',
        origin,
        'sec-fetch-site': 'same-origin',
        'sec-fetch-mode': 'cors',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...given,
      };
      const headers = Object.entries(own).filter((header): header is [string, string] => header[1] !== null);
      return send(`${origin}${path}`, method, Object.fromEntries(headers), body);
    };

  const browser = () => new Browser(origin, /^\/(?:oidc|auth)\//);
  const signIn: ConsoleApp['signIn'] = async (
    who,
    username = 'dev-user',
    path = '/auth/sign-in?return_to=/allocations',
  ) => who.submit(await who.open(path), { username, password: PASSWORD });

  const signed: ConsoleApp['signed'] = async (username = 'dev-user', who = browser()) => {
    const page = await signIn(who, username);
    const token = sessionOf(who);
    assert.ok(token !== undefined, page.text);
    return { browser: who, token, call: holder(token) };
  };
  return { test, clock, origin, sql, browser, signIn, signed, holder };
};
