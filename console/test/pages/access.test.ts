/** Access, audit and settings in a real browser: what users must see, and what must never leave the page. */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';

const PRIVATE = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n';
const PUBLIC = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea ada@desk.local';

const toProjectAccess = async (page: Page, tab: string): Promise<void> => {
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Access' }).click();
  await page.getByRole('tab', { name: tab }).click();
};
const toOrganization = async (page: Page, tab: string): Promise<void> => {
  await page.getByRole('link', { name: 'Projects and members' }).click();
  await page.getByRole('tab', { name: tab }).click();
};

describe('access, audit and settings', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo.close());

  test('a token is shown once, closes only after confirmation that it was saved, and is not stored', () =>
    demo.page('/settings?tab=tokens', async (page) => {
      await page.getByRole('button', { name: 'New token' }).click();
      await page.getByLabel('Name', { exact: true }).fill('nightly');
      await page.getByRole('button', { name: 'Create token' }).click();
      const dialog = page.getByRole('dialog', { name: 'Token for nightly' });
      const token = await dialog.locator('pre').first().textContent();
      assert.match(token ?? '', /^\w{20,}/);
      await page.keyboard.press('Escape');
      const done = dialog.getByRole('button', { name: 'Done' });
      await done.click({ force: true });
      assert.equal(await done.getAttribute('aria-description'), 'Confirm that you saved it.');
      await dialog.getByLabel('I saved it').check();
      await done.click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('cell', { name: /^nightly/ }).waitFor();
      const kept = await page.evaluate(() =>
        JSON.stringify([document.body.textContent, location.href, { ...localStorage }, { ...sessionStorage }]),
      );
      assert.equal(kept.includes(token?.trim() ?? ''), false);
      const focused = await page.evaluate(() => document.activeElement?.textContent);
      assert.equal(focused, 'New token');
    }));

  test('a tenant sees its GPU limits, requests a larger one, and withdraws the request', () =>
    demo.page('/', async (page) => {
      await page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name: 'Limits' }).click();
      const limits = page.getByRole('region', { name: 'GPU limits' });
      await limits.getByText(/of 64 GPUs used/).waitFor();
      await limits.getByText('Project research').waitFor();
      await page.getByRole('button', { name: 'Request more' }).click();
      const dialog = page.getByRole('dialog', { name: 'Request a larger GPU limit' });
      const send = dialog.getByRole('button', { name: 'Request', exact: true });
      assert.equal(await send.getAttribute('aria-description'), 'Enter the number of GPUs.');
      await dialog.getByLabel('GPUs', { exact: true }).fill('32');
      await dialog.getByLabel('Reason').fill('A larger run');
      assert.match((await dialog.textContent()) ?? '', /gpuaas quota request --gpus 32 --reason 'A larger run'/);
      await send.click();
      await dialog.getByText('The limit is 64 already. Request a higher one.').waitFor();
      await dialog.getByLabel('GPUs', { exact: true }).fill('96');
      await send.click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Withdraw request for 96 GPUs' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
      await page.getByRole('row', { name: /96 GPUs.*Withdrawn/ }).waitFor();
    }));

  test('a user whose sign-up waits for approval sees the request and nothing else', () =>
    demo.page('/settings#as=waiting', async (page) => {
      await page.getByRole('heading', { name: 'Waiting for approval' }).waitFor();
      await page.getByText('wendy@acme.example').waitFor();
      assert.equal(await page.getByRole('navigation').count(), 0);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
    }));

  test('a private key is refused and removed from the field', () =>
    demo.page('/settings?tab=ssh-keys', async (page) => {
      await page.getByRole('button', { name: 'Add key' }).click();
      const field = page.getByLabel('Public key');
      await field.fill(PRIVATE);
      await page.getByText('This is a private key.').waitFor();
      assert.equal(await field.inputValue(), '');
      await field.fill(PUBLIC);
      assert.equal(await page.getByLabel('Key name').inputValue(), 'desk');
      await page.getByRole('dialog').getByRole('button', { name: 'Add key' }).click();
      await page.getByRole('cell', { name: /^desk/ }).waitFor();
    }));

  test('every other browser is signed out at once, and this one stays signed in', () =>
    demo.page('/settings?tab=sessions', async (page) => {
      await page.getByRole('button', { name: 'Sign out all others' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const everywhere = page.getByRole('button', { name: 'Sign out all others' });
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
      assert.equal(await everywhere.getAttribute('aria-description'), 'No other browser is signed in.');
      await page.getByRole('row', { name: /This browser/ }).waitFor();
    }));

  test('a viewer sees every action disabled with its reason', () =>
    demo.page('/#as=viewer', async (page) => {
      await toProjectAccess(page, 'Service accounts');
      const create = page.getByRole('button', { name: 'New service account' });
      await create.click({ force: true });
      assert.match((await create.getAttribute('aria-description')) ?? '', /Requires an admin.*You are a viewer/);
      assert.equal(await page.getByRole('dialog').count(), 0);
      await toOrganization(page, 'Invitations');
      await page.getByText('Invitations require the admin role').waitFor();
      await toOrganization(page, 'Members');
      const remove = page.getByRole('button', { name: 'Remove Mei Member' });
      assert.match((await remove.getAttribute('aria-description')) ?? '', /[Rr]equires an admin/);
    }));

  test('a service account is created, disabled, and deleted by typing its name', () =>
    demo.page('/', async (page) => {
      await toProjectAccess(page, 'Service accounts');
      await page.getByRole('button', { name: 'New service account' }).click();
      await page.getByLabel('Name', { exact: true }).fill('pipeline');
      await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByLabel('I saved it').check();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('link', { name: 'pipeline' }).click();
      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByText('Disabled', { exact: true }).waitFor();
      const token = page.getByRole('button', { name: 'New token' });
      assert.equal(await token.getAttribute('aria-description'), 'The account is disabled. Enable it first.');
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByLabel('Type pipeline to confirm').fill('pipeline');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('link', { name: 'nightly-training' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'pipeline' }).count(), 0);
    }));

  test('a role is changed by selecting one, and the shown command matches', () =>
    demo.page('/', async (page) => {
      await toOrganization(page, 'Members');
      await page.getByRole('button', { name: 'Change role of Mei Member' }).click();
      const dialog = page.getByRole('dialog', { name: 'Change role of Mei Member' });
      await dialog.getByRole('radio', { name: 'viewer' }).check();
      await dialog.getByRole('button', { name: 'CLI command' }).click();
      await dialog.getByText('gpuaas organization member update mei@acme.example --role viewer --org acme').waitFor();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('row', { name: /Mei Member.*viewer/ }).waitFor();
    }));

  test('the filters of the audit log are in the URL, and the export uses them', () =>
    demo.page('/', async (page) => {
      await page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name: 'Audit' }).click();
      await page.getByRole('textbox', { name: 'Action' }).fill('allocation.release');
      await page.keyboard.press('Enter');
      await page.waitForURL(/action=allocation\.release/);
      await page.getByRole('combobox', { name: 'Result' }).click();
      await page.getByRole('option', { name: 'denied' }).click();
      await page.waitForURL(/result=denied/);
      await page.getByRole('button', { name: 'Details of allocation.release' }).first().click();
      await page.getByText('Decided by').waitFor();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export JSONL' }).click(),
      ]);
      const rows = (await text(await file.createReadStream())).trim().split('\n');
      assert.ok(rows.length > 0);
      for (const row of rows) {
        const { action, result } = JSON.parse(row) as { action: string; result: string };
        assert.deepEqual([action, result], ['allocation.release', 'denied']);
      }
    }));
});
