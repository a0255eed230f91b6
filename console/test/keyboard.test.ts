/** The console by keyboard: the focus is always visible, and moves to a page that was just opened. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createMockApi } from '../mock-api/index.ts';
import { type Demo, openDemo, needsBrowser as skip } from './browser.ts';
import { settled } from './inspect.ts';
import { addressOf, routesOf } from './routes.ts';

const STEPS = 45;
const PAGES = [
  'overview',
  'launch',
  'allocation-connect',
  'allocations',
  'nodes',
  'node-slots',
  'settings-ssh-keys',
  'limits',
  'catalog-regions',
  'catalog-sku',
  'setup',
  'site-file',
  'requests',
  'organizations',
  'site-access-sign-up',
  'site-access-groups',
];

const mock = createMockApi({ now: () => 0 });
const routes = routesOf(mock);
mock.close();

/** What is wrong with the focus, null if it is visible and marked. Fields are marked by their border. */
const unseen = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    const at = document.activeElement;
    if (at === null || at === document.body || at.matches('input, select, textarea')) return null;
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    const name = `${at.tagName} "${(at.getAttribute('aria-label') ?? at.textContent).slice(0, 40)}"`;
    if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 1) return `${name} is not marked`;
    const { left, right, top, bottom } = at.getBoundingClientRect();
    if (bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth) return `${name} is out of sight`;
    // For tall elements the top counts.
    const above = document.elementFromPoint(Math.max(left, 0) + 4, Math.max(top, 0) + 4);
    return above === null || at.contains(above) || above.contains(at) ? null : `${name} is covered`;
  });

describe('keyboard focus', { skip }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo?.close());

  for (const name of PAGES)
    test(`is always visible on ${name}`, () => {
      const route = routes.find((one) => one.name === name);
      assert.ok(route);
      return demo.page(addressOf(route), async (page) => {
        await settled(page);
        const findings = new Set<string>();
        for (let step = 0; step < STEPS; step++) {
          await page.keyboard.press('Tab');
          const finding = await unseen(page);
          if (finding !== null) findings.add(finding);
        }
        assert.deepEqual([...findings], []);
      });
    });

  test('starts at the link that skips the navigation', () =>
    demo.page('/', async (page) => {
      await settled(page);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.activeElement === document.querySelector('main'));
      await page.keyboard.press('Tab');
      assert.ok(await page.evaluate(() => document.querySelector('main')?.contains(document.activeElement)));
    }));

  test('moves to the page opened by a link', () =>
    demo.page('/', async (page) => {
      await page.locator('main').getByRole('link', { name: 'train-llama' }).first().press('Enter');
      await page.getByRole('heading', { level: 1, name: 'train-llama' }).waitFor();
      await page.waitForFunction(() => document.activeElement?.matches('main'));
    }));

  test('reaches the navigation on an unknown page', () =>
    demo.page('/nowhere', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
      await page.getByRole('navigation', { name: 'Project' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    }));
});
