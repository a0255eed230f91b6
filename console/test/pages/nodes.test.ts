/** The node pages in a browser: what operators base decisions on, and what must not happen by accident. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';

const NODES_LARGE = 1_000;

describe('the node pages', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo.close());

  const focusedCell = (page: Page): Promise<string> =>
    page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset['cell'] ?? '');
  const open = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  };

  it('render only the visible part of a fleet of 1,000 nodes', () =>
    demo.page('/platform/nodes#seed=large', async (page) => {
      const grid = page.getByRole('grid', { name: 'Slot map' });
      await grid.waitFor();
      assert.ok(Number(await grid.getAttribute('aria-rowcount')) > NODES_LARGE);
      assert.ok((await grid.getByRole('row').count()) < 80);
      await grid.getByRole('button').first().focus();
      await page.keyboard.press('Control+End');
      await page.waitForFunction(
        (last) => document.activeElement?.closest('tr')?.getAttribute('aria-rowindex') === last,
        await grid.getAttribute('aria-rowcount'),
      );
      assert.ok((await grid.getByRole('row').count()) < 80);
    }));

  it('move between tiles by arrow keys and open a slot by Enter', () =>
    demo.page('/platform/nodes', async (page) => {
      const first = page.getByRole('grid').getByRole('button').first();
      await first.focus();
      const [nodeId] = (await focusedCell(page)).split(' ');
      await page.getByRole('tooltip').getByText('Last wipe').waitFor();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.waitForFunction(
        (cell) => (document.activeElement as HTMLElement).dataset['cell'] === cell,
        `${nodeId} 2`,
      );
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Slot 2' }).waitFor();
      const { pathname, searchParams } = new URL(page.url());
      assert.deepEqual([pathname, searchParams.get('slot')], [`/platform/nodes/${nodeId}`, '2']);
    }));

  it('keep the filters in the URL, so that the same URL shows the same nodes', () =>
    demo.page('/platform/nodes', async (page) => {
      const button = page.getByRole('button', { name: /^Needs attention/ });
      const promised = Number(/\((\d+)\)/.exec((await button.textContent()) ?? '')?.[1]);
      await button.click();
      await page.getByText(new RegExp(`^${promised} of `)).waitFor();
      await page.getByLabel('State', { exact: true }).selectOption('offline');
      await page.waitForURL(/state=offline/);
      const { search } = new URL(page.url());
      const names = await page.getByRole('grid').getByRole('rowheader').getByRole('link').allTextContents();
      assert.ok(names.length > 0 && names.length < promised);
      await demo.page(`/platform/nodes${search}`, async (other) => {
        await other.getByRole('grid').waitFor();
        assert.deepEqual(
          await other.getByRole('grid').getByRole('rowheader').getByRole('link').allTextContents(),
          names,
        );
      });
    }));

  it('let an operator repeat the cleanup of a blocked slot with a reason, but not free it without proof', () =>
    demo.page('/platform/nodes?slot=cleanup_blocked', async (page) => {
      await page
        .getByRole('button', { name: /^Stuck/ })
        .first()
        .click();
      const slot = page.getByRole('region', { name: /^Slot \d$/ });
      await slot.getByText('Cleanup blocked', { exact: true }).waitFor();
      await slot.getByRole('button', { name: 'Retry cleanup' }).click();
      const dialog = page.getByRole('dialog');
      const send = dialog.getByRole('button', { name: 'Retry cleanup' });
      assert.equal(await send.getAttribute('aria-disabled'), 'true');
      await dialog.getByLabel('Reason').fill('The drive was replaced.');
      await send.click();
      await dialog.waitFor({ state: 'hidden' });
      await slot.getByText('Cleaning', { exact: true }).waitFor();
    }));

  it('show every blocker of candidates, and ask for the serial before a disk is wiped', () =>
    demo.page('/platform/nodes', async (page) => {
      await open(page, 'j22u15');
      await page.getByRole('tab', { name: 'Candidates' }).click();
      await page.getByLabel(/^All \d/).check();
      const approve = page.getByRole('button', { name: 'Approve all' });
      assert.equal(await approve.getAttribute('aria-disabled'), 'true');
      const why = (await approve.getAttribute('aria-description')) ?? '';
      assert.match(why, /Reboot the host first/);
      assert.match(why, /Slot 2: .*mounted/);
      await page.getByRole('button', { name: 'Approve wipe' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('It held scratch data.');
      const erase = dialog.getByRole('button', { name: 'Approve wipe' });
      assert.equal(await erase.getAttribute('aria-disabled'), 'true');
      const label = await dialog.getByLabel(/^Type .* to confirm/).evaluate((input) => input.id);
      const asked = (await dialog.locator(`label[for="${label}"]`).textContent()) ?? '';
      await dialog.getByLabel(/^Type/).fill(asked.replace(/^Type | to confirm$/g, ''));
      assert.equal(await erase.getAttribute('aria-disabled'), 'false');
    }));

  it('approve a changed candidate after its changes are reviewed', () =>
    demo.page('/platform/nodes', async (page) => {
      await open(page, 'j22u13');
      await page.getByRole('button', { name: 'Show' }).click();
      await page.getByText('Changed', { exact: true }).waitFor();
      await page.getByRole('rowheader', { name: 'NVMe serial' }).waitFor();
      await page.getByRole('button', { name: 'Approve 1 slot' }).click();
      await page.getByText('Approved slots: 2.').waitFor();
      assert.equal(await page.getByText('Changed', { exact: true }).count(), 0);
    }));

  it('add a node only with the serial number of its host, where the site requires that', () =>
    demo.page('/platform/nodes', async (page) => {
      await page.getByRole('button', { name: 'Add node' }).click();
      const form = page.getByRole('dialog', { name: 'Add node' });
      const serial = form.getByLabel('Serial number');
      await form.getByText(/This site requires it\.$/).waitFor();
      assert.equal(await form.getByText(/If empty/).count(), 0);
      await form.getByLabel('Name', { exact: true }).fill('j25u07');
      const add = form.getByRole('button', { name: 'Add node' });
      await form
        .getByRole('button', { name: 'Add node' })
        .and(form.locator('[aria-description="Enter the serial number of the host."]'))
        .waitFor();
      await serial.fill('5K8YRS4');
      assert.equal(await add.getAttribute('aria-disabled'), 'false');
      await add.click();
      const made = page.getByRole('dialog', { name: 'Install the agent on j25u07' });
      await made.getByText('Only the host with this identity can enroll:').waitFor();
      await made.getByText('5K8YRS4').waitFor();
    }));

  it('give a node to another host only by its serial number, where the site requires that', () =>
    demo.page('/platform/nodes', async (page) => {
      await open(page, 'j22u17');
      await page.getByRole('button', { name: 'Rebind' }).click();
      const dialog = page.getByRole('dialog', { name: 'Give j22u17 to another host' });
      await dialog.getByLabel('Reason').fill('The mainboard was replaced.');
      await dialog.getByLabel('Type j22u17 to confirm').fill('j22u17');
      await dialog
        .getByRole('button', { name: 'Rebind' })
        .and(dialog.locator('[aria-description="Enter the serial number of the host."]'))
        .waitFor();
      await dialog.getByLabel('Serial number').fill('5K8YRS4');
      await dialog.getByRole('button', { name: 'Rebind' }).click();
      await page.getByRole('dialog', { name: 'Install the agent on j22u17' }).getByText('5K8YRS4').waitFor();
    }));

  it('show host reports only as text', () =>
    demo.page('/platform/nodes#seed=hostile', async (page) => {
      await page.getByRole('grid').getByRole('rowheader').getByRole('link').first().click();
      for (const tab of [
        'Topology',
        'Candidates',
        'Health',
        'Inventory',
        'Images',
        'Tasks',
        'Logs',
        'Agent',
        'Slots',
      ]) {
        await page.getByRole('tab', { name: tab, exact: true }).click();
        await page.getByRole('tabpanel').locator('section, h2').first().waitFor();
        assert.equal(await page.locator('main img[src="x"], main script').count(), 0, tab);
      }
      assert.equal(await page.evaluate(() => '__gpuaas_xss' in globalThis), false);
    }));
});
