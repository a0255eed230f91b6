/** The palette in a real browser: keyboard operation, and pasted IDs. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';

const CORRELATION = 'c-4f0d2a52-8a8b-4d6e-9a0c-1f2e3d4c5b6a';
const box = (page: Page) => page.getByRole('combobox', { name: /^Search pages/ });

const paste = (page: Page, selector: string, text: string): Promise<void> =>
  page.evaluate(
    ([where = 'body', what = '']) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', what);
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      document.querySelector(where)?.dispatchEvent(event);
    },
    [selector, text],
  );

describe('the palette', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo.close());

  test('opens a page by any of its words, by keyboard alone', () =>
    demo.page('/settings', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
      await page.keyboard.press('Control+k');
      await box(page).waitFor();
      assert.equal(await box(page).evaluate((field) => field === document.activeElement), true);
      await page.keyboard.type('fragmentation');
      await page.getByRole('option', { name: /^Capacity/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/platform\/capacity/);
      await box(page).waitFor({ state: 'detached' });
    }));

  test('finds allocations and nodes by name, selected by arrow keys', () =>
    demo.page('/settings', async (page) => {
      await page.getByRole('button', { name: /Search or paste an ID/ }).click();
      await page.keyboard.type('train-llama');
      await page.getByRole('option', { name: /^train-llama/, selected: true }).waitFor();
      await box(page).fill('j22u1');
      await page.getByRole('option', { name: /^j22u11/, selected: true }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.getByRole('option', { name: /^j22u13/, selected: true }).waitFor();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      const last = await page.getByRole('option').last().getAttribute('aria-selected');
      assert.equal(last, 'true');
      await page.keyboard.press('Escape');
      await box(page).waitFor({ state: 'detached' });
    }));

  test('finds regions, SKUs, images, pools and the pages of the site', () =>
    demo.page('/settings', async (page) => {
      await page.getByRole('button', { name: /Search or paste an ID/ }).click();
      for (const [typed, found] of [
        ['us-buff', /^us-buffalo-1\s*region/],
        ['h200-sxm-slice', /^h200-sxm-slice\s*SKU/],
        ['h200-cuda', /^ubuntu-24\.04-h200-cuda\s*image/],
        ['globex-tr', /^globex-training\s*pool/],
        ['sign-up pol', /^Sign-up policy\s*Site/],
        ['requests', /^Requests\s*Site/],
        ['plan apply', /^Site file\s*Site/],
        ['limits', /^Limits\s*Acme Research/],
      ] as const) {
        await box(page).fill(typed);
        await page.getByRole('option', { name: found }).waitFor();
      }
      await box(page).fill('h200-sxm-slice');
      await page.getByRole('option', { name: /^h200-sxm-slice\s*SKU/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/site\/catalog\?tab=skus&sku=h200-sxm-slice/);
      await page.getByRole('heading', { name: 'VM profiles' }).waitFor();
    }));

  test('traces an ID pasted anywhere, except into a text field', () =>
    demo.page(
      '/settings',
      async (page) => {
        await page.getByLabel('Invitation token').waitFor();
        await paste(page, 'main input', CORRELATION);
        assert.equal(await box(page).count(), 0);
        await paste(page, 'body', ` "${CORRELATION}",`);
        await box(page).waitFor();
        assert.equal(await box(page).inputValue(), CORRELATION);
        await page.getByRole('option', { name: /^Trace this ID/, selected: true }).waitFor();
        await page.keyboard.press('Enter');
        await page.waitForURL(`**/platform/trace?id=${CORRELATION}`);
      },
      { allow: /404/ },
    ));

  test('lets a user who is not an operator trace an ID in the project and open an allocation by ID', () =>
    demo.page('/#as=member', async (page) => {
      await page.getByRole('link', { name: 'train-llama' }).first().click();
      await page.waitForURL(/\/allocations\/alc_/);
      const id = /alc_\w+/.exec(page.url())?.[0] ?? '';
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.waitForURL(/\/settings/);
      await paste(page, 'body', id);
      await page.getByRole('option', { name: /^Open allocation train-llama/ }).waitFor();
      const follow = page.getByRole('option', { name: /^Trace this ID/ });
      await follow.click();
      await page.waitForURL(new RegExp(`/projects/prj_\\w+/trace\\?id=${id}`));
    }));

  test('handles single keys only outside of text fields, and they can be turned off', () =>
    demo.page('/settings', async (page) => {
      await page.getByLabel('Invitation token').fill('');
      await page.getByLabel('Invitation token').pressSequentially('gl/?');
      assert.equal(await page.getByLabel('Invitation token').inputValue(), 'gl/?');
      assert.equal(await page.getByRole('dialog').count(), 0);
      await page.getByLabel('Invitation token').blur();
      await page.keyboard.press('g');
      await page.keyboard.press('a');
      await page.waitForURL(/\/allocations$/);
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await page.getByLabel('Single-key shortcuts').click();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('/');
      await page.keyboard.press('Control+k');
      await box(page).waitFor();
      assert.equal(await box(page).inputValue(), '');
    }));
});
