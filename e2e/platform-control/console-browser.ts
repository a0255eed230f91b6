/** People at the console of a real platform, each in a browser of their own, signed in by the issuer's own page. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { contextOptions, launchBrowser, watch } from '../../console/test/browser.ts';
import type { LabUnderTest } from './lab.ts';

export type Person = Readonly<{
  page: Page;
  context: BrowserContext;
  /** Fails where the page complained of anything, or asked anybody else for anything. */
  assertCalm(): void;
}>;

/** What the browser itself says of a refusal, which the page shows in words; and the first look of who is not signed in yet. */
const EXPECTED = /the server responded with a status of 4\d\d/;

export type Consoles = Readonly<{
  browser: Browser;
  open(): Promise<Person>;
  signIn(username: 'dev-admin' | 'dev-user', path?: string): Promise<Person>;
}>;

export const openConsoles = async (t: TestContext, lab: LabUnderTest): Promise<Consoles> => {
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const open = async (): Promise<Person> => {
    const context = await browser.newContext(contextOptions({}));
    const page = await context.newPage();
    // Steps on a machine that does other things too take long at times; the runner's limit ends a wait in vain.
    page.setDefaultTimeout(60_000);
    const troubles = watch(page, lab.url, EXPECTED);
    return { page, context, assertCalm: () => assert.deepEqual(troubles, []) };
  };
  return {
    browser,
    open,
    signIn: async (username, path = '/') => {
      const person = await open();
      await person.page.goto(`${lab.url}${path}`);
      await person.page.getByLabel('Username').fill(username);
      await person.page.getByLabel('Password').fill(readFileSync(join(lab.stateDir, 'dev-password'), 'utf8').trim());
      await person.page.getByRole('button', { name: 'Sign in' }).click();
      await person.page.getByRole('navigation', { name: 'Project' }).waitFor();
      return person;
    },
  };
};

/** Presses the key until what has the focus is what is wanted: the way of who has no pointer. */
export const tabTo = async (page: Page, wanted: string, key = 'Tab'): Promise<void> => {
  for (let presses = 0; presses < 120; presses++) {
    await page.keyboard.press(key);
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(wanted)}) ?? false`)) return;
  }
  throw new Error(`No number of ${key} presses leads to ${wanted}.`);
};
