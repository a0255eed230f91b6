/**
 * A list that changes while the user is in it: nothing moves under the pointer or the keyboard, and new rows are
 * announced.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient } from '@gpuaas/sdk';
import type { Page } from 'playwright-core';
import { ensureConsole } from '../../tools/build-console.ts';
import { createMockApi, type MockApi } from '../mock-api/index.ts';
import { contextOptions, launchBrowser, needsBrowser as skip } from './browser.ts';
import { serveBuild } from './serve.ts';

/** More than the page has controls before its table. */
const TABS_MAX = 100;

let browser: Awaited<ReturnType<typeof launchBrowser>>;
before(async () => {
  if (skip === false) browser = await launchBrowser();
});
after(() => browser?.close());

const names = (page: Page): Promise<string[]> => page.locator('tbody tr td:first-child a').allTextContents();

const withList = async (
  work: (page: Page, launch: (name: string) => Promise<unknown>) => Promise<void>,
): Promise<void> => {
  // Time stands still, so that nothing else in the list changes on a slow computer.
  const startedAt = Date.now();
  const api: MockApi = createMockApi({ as: 'member', now: () => startedAt });
  const server = await serveBuild(await ensureConsole(), { api: api.fetch });
  const context = await browser.newContext(contextOptions({}));
  const client = createClient({ baseUrl: server.url, fetch: api.fetch });
  const { project_id } = api.seedIds;
  try {
    const page = await context.newPage();
    await page.goto(`${server.url}/projects/${project_id}/allocations`);
    await page.locator('tbody tr').first().waitFor();
    await work(page, (name) =>
      client.allocationCreate({
        params: { project_id },
        body: { name, sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count: 1 },
      }),
    );
  } finally {
    await context.close();
    await server.close();
    api.close();
  }
};

test('a row launched by another user waits, is counted and appears when the pointer leaves the list', { skip }, () =>
  withList(async (page, launch) => {
    const before = await names(page);
    await page.locator('tbody tr').nth(1).hover();
    await launch('from-elsewhere');
    await page.getByRole('button', { name: '1 new: show' }).waitFor();
    assert.deepEqual(await names(page), before);
    await page.getByRole('heading', { level: 1 }).hover();
    await page.getByRole('link', { name: 'from-elsewhere' }).waitFor();
    assert.deepEqual(await names(page), ['from-elsewhere', ...before]);
  }),
);

test('new rows wait for keyboard focus too, and changing the filter shows them at once', { skip }, () =>
  withList(async (page, launch) => {
    const before = await names(page);
    const box = page.getByRole('textbox', { name: 'Name' });
    await box.focus();
    const isInRow = () => page.evaluate(() => document.activeElement?.closest('tbody') !== null);
    for (let presses = 0; !(await isInRow()); presses++) {
      assert.ok(presses < TABS_MAX, 'the keyboard reaches a row');
      await page.keyboard.press('Tab');
    }
    await launch('from-elsewhere');
    await page.getByRole('button', { name: '1 new: show' }).waitFor();
    assert.deepEqual(await names(page), before);
    await box.focus();
    await page.locator('tbody tr').nth(1).hover();
    await box.fill('from');
    await page.getByRole('link', { name: 'from-elsewhere' }).waitFor();
    assert.deepEqual(await names(page), ['from-elsewhere']);
  }),
);
