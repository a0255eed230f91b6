/**
 * Every page in both themes and on a desk's and a phone's screen: opened, inspected, and photographed into
 * dist/console-screenshots, where a person looks at them.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createMockApi } from '../mock-api/index.ts';
import { contextOptions, type Demo, openDemo, needsBrowser as skip, watch } from './browser.ts';
import { countShifts, inspect, settled } from './inspect.ts';
import { addressOf, type Route, routesOf } from './routes.ts';

const PICTURES = join(import.meta.dirname, '../../dist/console-screenshots');
/** Names, roles and targets are the same in both themes, so they are asked for once at each width; colours always. */
const LOOKS = [
  { theme: 'light', width: 1280, only: undefined },
  { theme: 'dark', width: 1280, only: ['color-contrast'] },
  { theme: 'dark', width: 390, only: undefined },
  { theme: 'light', width: 390, only: ['color-contrast'] },
] as const;

const mock = createMockApi({ now: () => 0 });
const routes = routesOf(mock);
mock.close();

let demo: Demo;
before(async () => {
  if (skip !== false) return;
  mkdirSync(PICTURES, { recursive: true });
  demo = await openDemo();
});
after(() => demo?.close());

/** The same page turned to another theme or another screen, as a person would turn it. */
const lookAt = async (page: Page, route: Route, { theme, width, only }: (typeof LOOKS)[number]): Promise<string[]> => {
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize({ width, height: width < 600 ? 844 : 900 });
  await page.waitForFunction(
    (wanted) => document.documentElement.getAttribute('data-mantine-color-scheme') === wanted,
    theme,
  );
  await page.screenshot({ path: join(PICTURES, `${route.name}.${theme}.${width}.png`), fullPage: true });
  return (await inspect(page, only)).map((finding) => `${theme}, ${width} px: ${finding}`);
};

for (const route of routes)
  test(`${route.name} is as it should be in both themes, at a desk and on a phone`, { skip }, async () => {
    const context = await demo.browser.newContext(contextOptions({}));
    try {
      const page = await context.newPage();
      const troubles = watch(page, demo.url);
      await countShifts(page);
      await page.goto(`${demo.url}${addressOf(route)}`);
      await settled(page);
      const findings: string[] = [];
      for (const look of LOOKS) findings.push(...(await lookAt(page, route, look)));
      assert.deepEqual([...new Set(findings), ...troubles], []);
    } finally {
      await context.close();
    }
  });
