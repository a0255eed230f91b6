/**
 * The production console with its API, when a session goes idle or ends: it shows so, stops sending requests, and never
 * claims that a user is signed out who is not.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page, Request, Route } from 'playwright-core';
import { ensureConsole } from '../../tools/build-console.ts';
import { createMockApi, type MockApi } from '../mock-api/index.ts';
import { contextOptions, launchBrowser, needsBrowser as skip } from './browser.ts';
import { settled } from './inspect.ts';
import { type StaticServer, serveBuild } from './serve.ts';

let server: StaticServer;
let browser: Awaited<ReturnType<typeof launchBrowser>>;
before(async () => {
  if (skip !== false) return;
  server = await serveBuild(await ensureConsole('console'));
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

type Answer = Readonly<{ status: number; code: string }>;
type Stage = Readonly<{
  page: Page;
  api: MockApi;
  /** The requests of the page since the last call. */
  asked(): Request[];
  /** Stops the page's clock and returns when all its requests are answered: later requests are not caused by these. */
  quiet(): Promise<void>;
  /** From now on every request gets this; null restores the API. */
  answerAll(answer: Answer | null): void;
}>;

/** Lets the page do its pending work; its timers stand still. */
const taskOfPage = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve();
    port2.postMessage(null);
  });

const onStage = async (path: (api: MockApi) => string, work: (stage: Stage) => Promise<void>): Promise<void> => {
  const api = createMockApi();
  const context = await browser.newContext(contextOptions({}));
  let requests: Request[] = [];
  let pending = 0;
  let forced: Answer | null = null;
  try {
    const page = await context.newPage();
    await page.clock.install();
    const answer = async (route: Route, request: Request): Promise<void> => {
      if (forced !== null) {
        const { status, code } = forced;
        const body = JSON.stringify({ status, code, title: code, detail: code, errors: [], reasons: [], actions: [] });
        return route.fulfill({ status, contentType: 'application/problem+json', body });
      }
      if (request.url().includes('/stream')) return route.abort();
      const body = request.postData();
      const init = { method: request.method(), headers: request.headers(), ...(body === null ? {} : { body }) };
      const response = await api.fetch(request.url(), init);
      return route.fulfill({
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      });
    };
    await page.route(/\/(?:api|auth)\//, async (route, request) => {
      requests.push(request);
      pending += 1;
      try {
        await answer(route, request);
      } finally {
        pending -= 1;
      }
    });
    const pause = async () => page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1);
    const quiet = async (): Promise<void> => {
      // On a busy computer that millisecond has passed before the clock stops. It has stopped by then, so try again.
      await pause().catch(pause);
      // A response may cause the next request, so the page has to be idle several times in a row.
      for (let idle = 0; idle < 5; idle = pending === 0 ? idle + 1 : 0) await page.evaluate(taskOfPage);
    };
    await page.goto(`${server.url}${path(api)}`);
    await settled(page);
    await work({
      page,
      api,
      quiet,
      asked: () => {
        const asked = requests;
        requests = [];
        return asked;
      },
      answerAll: (answer) => {
        forced = answer;
      },
    });
  } finally {
    await context.close();
    api.close();
  }
};

const starting = ({ world, seedIds: cast }: MockApi): string => {
  const mine = [...world.allocations.values()].filter(({ project_id }) => project_id === cast.project_id);
  const row = mine.find(({ state }) => state === 'provisioning');
  assert.ok(row !== undefined);
  return `/projects/${cast.project_id}/allocations/${row.id}`;
};

test('requests of an idle page do not extend the session until the user returns', { skip }, () =>
  onStage(starting, async ({ page, asked, quiet }) => {
    const isUnattended = (request: Request) => request.headers()['x-gpuaas-unattended'] === '1';
    await quiet();
    assert.ok(asked().every((request) => !isUnattended(request)));
    await Promise.all([page.waitForRequest(/\/api\/v1\/me$/), page.clock.fastForward(125_000)]);
    await quiet();
    const alone = asked();
    assert.ok(alone.length > 0 && alone.every(isUnattended));
    await page.keyboard.press('Shift');
    const [request] = await Promise.all([page.waitForRequest(/\/api\//), page.clock.fastForward(16_000)]);
    assert.equal(isUnattended(request), false);
  }),
);

test('a page whose session has ended shows so and stops sending requests', { skip }, () =>
  onStage(starting, async ({ page, asked, answerAll, quiet }) => {
    await quiet();
    asked();
    await page.clock.runFor(20_000);
    await quiet();
    assert.ok(asked().length > 0, 'it asks without a click');
    answerAll({ status: 401, code: 'unauthenticated' });
    await page.clock.runFor(20_000);
    await page.clock.resume();
    await page.getByText('Your session has ended').waitFor();
    await quiet();
    asked();
    await page.clock.runFor(120_000);
    await quiet();
    assert.deepEqual(
      asked().map((request) => request.url()),
      [],
    );
  }),
);

test('a failed sign-out shows an error, and a successful one asks to sign in again', { skip }, () =>
  onStage(starting, async ({ page, api, answerAll }) => {
    const name = api.world.users.get(api.seedIds.users.operator)?.name ?? '';
    answerAll({ status: 500, code: 'internal' });
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.clock.runFor(30_000);
    await page.getByRole('alert').filter({ hasText: 'You are still signed in' }).waitFor();
    assert.notEqual(new URL(page.url()).pathname, '/signed-out');
    answerAll(null);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    const href = await page.getByRole('link', { name: 'Sign in' }).getAttribute('href');
    assert.equal(href, '/auth/sign-in?return_to=%2F&prompt=login');
  }),
);

test('an operator with an old sign-in sees why, signs in, returns to the page and repeats the change', { skip }, () =>
  onStage(
    (api) => {
      api.signInAs('operator', 3_600_000);
      return '/settings?tab=tokens';
    },
    async ({ page, api, asked }) => {
      const create = async () => {
        await page.getByRole('button', { name: 'New token' }).click();
        await page.getByLabel('Name', { exact: true }).fill('night');
        await page.getByRole('button', { name: 'Create token' }).click();
      };
      const before = api.world.tokens.length;
      await create();
      const dialog = page.getByRole('dialog', { name: 'Fresh sign-in required' });
      await dialog.getByText('This change needs a sign-in of the last 15 minutes. Yours is older.').waitFor();
      assert.equal(api.world.tokens.length, before);
      asked();
      await dialog.getByRole('link', { name: 'Sign in again' }).click();
      await page.waitForURL(/auth/);
      const [signIn] = asked().filter((request) => request.isNavigationRequest());
      const url = new URL(signIn?.url() ?? '');
      assert.deepEqual(
        [url.pathname, url.searchParams.get('fresh'), url.searchParams.get('return_to')],
        ['/auth/sign-in', '1', '/settings?tab=tokens'],
      );
      await page.goto(`${server.url}${url.searchParams.get('return_to')}`);
      await create();
      await page.getByRole('dialog', { name: 'Token for night' }).waitFor();
      assert.equal(api.world.tokens.length, before + 1);
    },
  ),
);
