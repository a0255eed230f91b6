/**
 * The console in a real browser, for tests: `const demo = await openDemo()` before, `await demo.page(...)` in a test. A
 * page that logs to its console, violates its policy, opens a dialog or sends a request elsewhere fails its test.
 */
import assert from 'node:assert/strict';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { ensureConsole } from '../../tools/build-console.ts';
import { requires } from '../../tools/test/requires.ts';
import { BROWSER } from './browser-server.ts';
import { serveBuild } from './serve.ts';

/** For `skip` of a test. */
export const needsBrowser = requires('chromium');

/**
 * The browser that the runner started, or one of this process. Closing the former ends only the contexts of this
 * process.
 */
export const launchBrowser = (): Promise<Browser> => {
  const shared = process.env['GPUAAS_TEST_BROWSER_URL'];
  return shared ? chromium.connect(shared) : chromium.launch(BROWSER);
};

export type PageOptions = Readonly<{
  theme?: 'light' | 'dark';
  width?: number;
  /** Allowed console messages: the browser itself logs a refused request. */
  allow?: RegExp;
}>;

/** Everything that a page must never do. */
export const watch = (page: Page, origin: string, allow?: RegExp): string[] => {
  const troubles: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !allow?.test(message.text())) troubles.push(message.text());
  });
  page.on('pageerror', (err) => troubles.push(String(err)));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) troubles.push(`asked ${url.origin}`);
  });
  return troubles;
};

export const contextOptions = ({ theme = 'light', width = 1280 }: PageOptions): BrowserContextOptions => ({
  viewport: { width, height: width < 600 ? 844 : 900 },
  colorScheme: theme,
  reducedMotion: 'reduce',
});

/** The look of `contextOptions`, for a page of another context. */
const lookLike = async (page: Page, options: PageOptions): Promise<void> => {
  const { viewport, colorScheme, reducedMotion } = contextOptions(options);
  await page.emulateMedia({ colorScheme: colorScheme ?? null, reducedMotion: reducedMotion ?? null });
  if (viewport) await page.setViewportSize(viewport);
};

/** What earlier pages stored. A tab has a session storage of its own. */
const clearStored = async (page: Page, origin: string): Promise<void> => {
  const session = await page.context().newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'cookies,local_storage,indexeddb' });
  await session.detach();
};

export type Demo = Readonly<{
  url: string;
  browser: Browser;
  /**
   * Runs with its own page at the path; the state of the demo starts again with each, and nothing is stored. The pages
   * share one context, so that the browser compiles the console once. Options of the mock go into the query.
   */
  page(path: string, work: (page: Page) => Promise<void>, options?: PageOptions): Promise<void>;
  close(): Promise<void>;
}>;

export const openDemo = async (): Promise<Demo> => {
  const server = await serveBuild(await ensureConsole('console-demo'));
  const browser = await launchBrowser();
  let shared: Promise<BrowserContext> | undefined;
  return {
    url: server.url,
    browser,
    page: async (path, work, options = {}) => {
      shared ??= browser.newContext();
      const page = await (await shared).newPage();
      try {
        await lookLike(page, options);
        await clearStored(page, server.url);
        const troubles = watch(page, server.url, options.allow);
        await page.goto(`${server.url}${path}`);
        await work(page);
        assert.deepEqual(troubles, []);
      } finally {
        await page.close();
      }
    },
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
};
