/** Users at the console of a real control plane, each in their own browser, signed in through the issuer's own page. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { contextOptions, launchBrowser, watch } from '../../console/test/browser.ts';
import type { LabUnderTest, TestLike } from './lab.ts';

export type Person = Readonly<{
  page: Page;
  context: BrowserContext;
  /** Fails if the page logged anything or sent a request elsewhere. */
  assertCalm(): void;
}>;

/**
 * Messages of the browser itself about a refused request, which the page shows in words; and the first request before
 * sign-in.
 */
const EXPECTED = /the server responded with a status of 4\d\d/;

type DevUser = 'dev-admin' | 'dev-user';

export type Consoles = Readonly<{
  browser: Browser;
  open(): Promise<Person>;
  signIn(username: DevUser, path?: string): Promise<Person>;
  /** Fills in the page of the issuer, which the browser shows. */
  enterPassword(page: Page, username: DevUser): Promise<void>;
}>;

export const openConsoles = async (t: TestLike, lab: Pick<LabUnderTest, 'url' | 'stateDir'>): Promise<Consoles> => {
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const open = async (): Promise<Person> => {
    const context = await browser.newContext(contextOptions({}));
    const page = await context.newPage();
    // Steps on a busy computer may take long; the timeout of the runner ends a wait in vain.
    page.setDefaultTimeout(60_000);
    const troubles = watch(page, lab.url, EXPECTED);
    return { page, context, assertCalm: () => assert.deepEqual(troubles, []) };
  };
  const enterPassword: Consoles['enterPassword'] = async (page, username) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(readFileSync(join(lab.stateDir, 'dev-password'), 'utf8').trim());
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  return {
    browser,
    open,
    enterPassword,
    signIn: async (username, path = '/') => {
      const person = await open();
      await person.page.goto(`${lab.url}${path}`);
      await enterPassword(person.page, username);
      await person.page.getByRole('navigation', { name: 'Project' }).waitFor();
      return person;
    },
  };
};

export const link = (page: Page, area: string, name: string): Locator =>
  page.getByRole('navigation', { name: area }).getByRole('link', { name, exact: true });
export const title = (page: Page, name: string | RegExp): Locator => page.getByRole('heading', { level: 1, name });
export const price = (page: Page): Locator => page.getByRole('region', { name: 'Price and capacity' });

/** Launches what the URL contains, and waits without a reload until it is active. */
export const launch = async (page: Page, query: string): Promise<void> => {
  await link(page, 'Project', 'Launch').click();
  await page.getByRole('form', { name: 'Launch' }).waitFor();
  await page.goto(`${page.url().split('?')[0]}?${query}`);
  await price(page).getByText('Available now on').waitFor();
  await price(page).getByRole('button', { name: 'Launch', exact: true }).click();
  await page.waitForURL(/\/allocations\/alc_/);
  await page.getByText('Active', { exact: true }).waitFor();
};

export const release = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await page
    .getByRole('dialog', { name: `Release ${name}` })
    .getByRole('button', { name: 'Release' })
    .click();
};

/** Presses the key until the wanted element has the focus: as a keyboard user does. */
export const tabTo = async (page: Page, wanted: string, key = 'Tab'): Promise<void> => {
  for (let presses = 0; presses < 120; presses++) {
    await page.keyboard.press(key);
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(wanted)}) ?? false`)) return;
  }
  throw new Error(`No number of ${key} presses leads to ${wanted}.`);
};
