/** Every page in each theme and screen size: opened, inspected, and optionally captured as a screenshot. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createMockApi } from '../mock-api/index.ts';
import { type Demo, openDemo, needsBrowser as skip } from './browser.ts';
import { inspect, openWatched, settled, type WatchedPage } from './inspect.ts';
import { addressOf, type PageRoute, type Route, routesOf } from './routes.ts';

export type Look = Readonly<{
  theme: 'light' | 'dark';
  width: number;
  /** As in `Inspection`. */
  only?: readonly string[];
}>;

/** Switches the page to another theme and another screen size, as a user would. */
const lookAt = async (page: Page, route: Route, look: Look, pictures: string | undefined): Promise<string[]> => {
  const { theme, width, only } = look;
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize({ width, height: width < 600 ? 844 : 900 });
  await page.waitForFunction(
    (wanted) => document.documentElement.getAttribute('data-mantine-color-scheme') === wanted,
    theme,
  );
  if (pictures !== undefined)
    await page.screenshot({ path: join(pictures, `${route.name}.${theme}.${width}.png`), fullPage: true });
  return (await inspect(page, { only })).map((finding) => `${theme}, ${width} px: ${finding}`);
};

/**
 * A test per route. With `pictures`, a directory, every look is written there, and the first route of each page is loaded
 * as if for the first time; others are visited in the loaded console.
 */
export const testLooks = (looksOf: (route: PageRoute) => readonly Look[], pictures?: string): void => {
  const mock = createMockApi({ now: () => 0 });
  const routes = routesOf(mock);
  mock.close();

  let demo: Demo;
  let watched: WatchedPage;
  before(async () => {
    if (skip !== false) return;
    if (pictures !== undefined) mkdirSync(pictures, { recursive: true });
    demo = await openDemo();
    watched = await openWatched(demo);
  });
  after(() => demo?.close());

  for (const route of routes) {
    const looks = looksOf(route);
    const names = looks.map(({ theme, width }) => `${theme} at ${width} px`).join(', ');
    test(`${route.name} has no violations: ${names}`, { skip }, async () => {
      const { page } = watched;
      const isLoaded = pictures !== undefined && route.isFirst;
      await (isLoaded ? watched.open(addressOf(route)) : watched.visit(addressOf(route)));
      await settled(page);
      const findings: string[] = [];
      for (const look of looks) findings.push(...(await lookAt(page, route, look, pictures)));
      assert.deepEqual([...new Set(findings), ...watched.takeTroubles()], []);
    });
  }
};
