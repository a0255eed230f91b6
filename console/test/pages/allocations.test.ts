/** The allocation pages in a browser: what users base decisions on, and what must not happen by accident. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { pathOf } from '../../../server/src/domain/workflow-declaration.ts';
import { PROVISION_SLICE, RELEASE_ALLOCATION } from '../../../server/src/domain/workflow-steps.ts';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';

describe('the allocation pages', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo.close());

  const openList = async (page: Page): Promise<void> => {
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Allocations' }).click();
    await page.getByRole('heading', { level: 1, name: 'Allocations' }).waitFor();
  };
  const open = async (page: Page, name: string): Promise<void> => {
    await openList(page);
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  };
  const choose = async (page: Page, state: string): Promise<void> => {
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: state, exact: true }).click();
  };

  it('name the user who launched, also an owner who is not a member of the project', () =>
    demo.page('/#as=member', async (page) => {
      await openList(page);
      await page
        .getByRole('row', { name: /whole-node/ })
        .getByText('Oscar Owner')
        .waitFor();
      await page
        .getByRole('row', { name: /train-llama/ })
        .getByText('Mei Member (you)')
        .waitFor();
    }));

  it('list live allocations, and others on request, with the filter in the URL', () =>
    demo.page('/#as=member', async (page) => {
      await openList(page);
      await page.getByRole('link', { name: 'train-llama' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'sweep-1', exact: true }).count(), 0);
      await choose(page, 'Released');
      await page.getByRole('link', { name: 'sweep-1', exact: true }).waitFor();
      assert.equal(new URL(page.url()).searchParams.get('state'), 'released');
      await choose(page, 'All');
      await page.getByRole('textbox', { name: 'Name' }).fill('broken');
      await page.getByRole('link', { name: 'finetune-broken' }).waitFor();
      assert.equal(new URL(page.url()).searchParams.get('q'), 'broken');
      assert.equal(await page.getByRole('link', { name: 'train-llama' }).count(), 0);
    }));

  it('show the steps of a launch until it is active, without a reload', () =>
    demo.page('/#as=member', async (page) => {
      const labels = pathOf(PROVISION_SLICE).map(([, { label }]) => label);
      await open(page, 'eval-batch');
      const panel = page.getByRole('region', { name: 'Progress' });
      await panel
        .getByText(/so far/)
        .first()
        .waitFor();
      assert.deepEqual(await panel.getByRole('listitem').locator('.al-step-label').allTextContents(), labels);
      await panel.waitFor({ state: 'detached' });
      await page.getByText('Active', { exact: true }).waitFor();
    }));

  it('release a protected allocation only after its name is typed, and verify the wipe in the browser', () =>
    demo.page('/#as=member&speed=4', async (page) => {
      await open(page, 'train-llama');
      await page.getByRole('button', { name: 'Release', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Release train-llama' });
      const confirm = dialog.getByRole('button', { name: 'Unprotect and release' });
      const typed = dialog.getByRole('textbox', { name: 'Type train-llama to confirm' });
      await typed.fill('train-llam');
      await typed.press('Enter');
      assert.equal(await confirm.getAttribute('aria-disabled'), 'true');
      await typed.fill('train-llama');
      await confirm.click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: 'Progress' }).getByText(RELEASE_ALLOCATION.steps.wipe.label).waitFor();
      await page.getByText('not charged').waitFor();
      await page.getByRole('tab', { name: 'Wipe certificate' }).click();
      await page.getByText('Signature valid').waitFor();
      assert.equal(await page.getByText('Wiped and verified').count(), 4);
    }));

  it('show that a failed launch was not charged, and launch the same again', () =>
    demo.page('/#as=member', async (page) => {
      await openList(page);
      await choose(page, 'Failed');
      await page.getByRole('link', { name: 'finetune-broken' }).click();
      const panel = page.getByRole('alert', { name: 'Launch failed' });
      await panel.getByText('No charges.').waitFor();
      await panel.getByText(`“${PROVISION_SLICE.steps.awaitSsh.label}” failed`).waitFor();
      assert.match((await panel.getByRole('link', { name: 'Report by email' }).getAttribute('href')) ?? '', /^mailto:/);
      const again = await panel.getByRole('link', { name: 'Launch again' }).getAttribute('href');
      const asked = new URL(again ?? '', page.url()).searchParams;
      assert.equal(asked.get('name'), 'finetune-broken');
      assert.equal(asked.get('gpus'), '1');
    }));

  it('show that a VM that is off is still charged', () =>
    demo.page('/#as=member', async (page) => {
      await open(page, 'ray-head');
      await page.getByText('VM is off and still charged').waitFor();
      await page.getByRole('button', { name: 'Open terminal' }).hover();
      await page.getByRole('tooltip').filter({ hasText: 'The VM is off. Start it first' }).waitFor();
    }));

  it('let a viewer read everything, change nothing, and show why', () =>
    demo.page('/#as=viewer', async (page) => {
      await open(page, 'notebook-anna');
      for (const name of ['Release', 'Edit or extend', 'Launch again', 'Open terminal']) {
        const button = page.getByRole('button', { name, exact: true });
        assert.equal(await button.getAttribute('aria-disabled'), 'true', name);
        assert.ok(((await button.getAttribute('aria-description')) ?? '').length > 10, name);
      }
      await page.getByRole('tab', { name: 'Audit' }).click();
      await page.getByText('Audit log requires the admin role').waitFor();
    }));

  it('open a terminal in the page and end it with the page', () =>
    demo.page('/#as=member', async (page) => {
      await open(page, 'notebook-anna');
      await page.getByRole('button', { name: 'Open terminal' }).click();
      const pane = page.getByRole('region', { name: 'Terminal of notebook-anna' });
      await pane.getByText('Connected.').waitFor();
      await page.keyboard.type('whoami\n');
      await pane.getByText('ubuntu', { exact: true }).first().waitFor();
      await pane.getByRole('button', { name: 'Close' }).click();
      await pane.waitFor({ state: 'detached' });
    }));
});
