/** Overview, launch and usage in a real browser, against the API in the page. */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';

/** The launch form of the project that the demo starts in; `query` fills it. */
const toLaunch = async (page: Page, query = ''): Promise<void> => {
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Launch', exact: true }).click();
  await page.getByRole('form', { name: 'Launch' }).waitFor();
  if (query === '') return;
  await page.goto(`${page.url().split(/[?#]/)[0]}?${query}`);
  await page.getByRole('form', { name: 'Launch' }).waitFor();
};

const summary = (page: Page) => page.getByRole('region', { name: 'Price and capacity' });
const button = (page: Page) => summary(page).getByRole('button', { name: 'Launch', exact: true });

describe('overview, launch and usage', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo.close());

  test('the overview leads to running allocations, their cost and what needs attention', () =>
    demo.page('/', async (page) => {
      await page
        .getByRole('region', { name: 'Running allocations' })
        .getByRole('link', { name: 'train-llama' })
        .waitFor();
      const attention = page.getByRole('region', { name: 'Needs attention' });
      await attention.getByText('still charged: the GPUs stay reserved until release').waitFor();
      await page
        .getByRole('region', { name: 'Quota' })
        .getByText(/\d+ of \d+ GPUs used/)
        .first()
        .waitFor();
    }));

  test('all fields have defaults: one press launches and opens the allocation', () =>
    demo.page('/', async (page) => {
      await toLaunch(page);
      await summary(page).getByText('Available now on').waitFor();
      const name = await page.getByLabel('Name', { exact: true }).inputValue();
      await button(page).click();
      await page.waitForURL(/\/allocations\/alc_/);
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }));

  test('pressing launch twice, also by Enter, creates one allocation', () =>
    demo.page('/', async (page) => {
      await toLaunch(page);
      await page.getByLabel('Name', { exact: true }).fill('only-once');
      await page.evaluate(() => {
        const form = document.querySelector<HTMLFormElement>('#launch-form');
        form?.requestSubmit();
        form?.requestSubmit();
        form?.requestSubmit();
      });
      await page.waitForURL(/\/allocations\/alc_/);
      await page.getByRole('link', { name: 'Overview' }).click();
      const runs = page.getByRole('region', { name: 'Running allocations' });
      await runs.getByRole('link', { name: 'only-once' }).first().waitFor();
      assert.equal(await runs.getByRole('link', { name: 'only-once' }).count(), 1);
    }));

  test('the form is stored in the URL, except user data', () =>
    demo.page('/', async (page) => {
      await toLaunch(page);
      await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^2/ }).check();
      await page.getByRole('radio', { name: '3 days' }).check();
      await page.getByLabel('Name', { exact: true }).fill('shared-form');
      await page.getByRole('textbox', { name: 'Tags' }).fill('team=vision');
      await page.getByRole('button', { name: 'Add user data' }).click();
      await page.getByRole('textbox', { name: 'User data' }).fill('#cloud-config\npassword: hunter2\n');
      await page.waitForURL(/gpus=2.*hours=72.*name=shared-form.*tags=team/);
      assert.doesNotMatch(page.url(), /hunter2|cloud-config/);
      await page.reload();
      await page.getByRole('form', { name: 'Launch' }).waitFor();
      assert.ok(await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^2/ }).isChecked());
      assert.ok(await page.getByRole('radio', { name: '3 days' }).isChecked());
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'shared-form');
      await summary(page).getByText('For 3 d').waitFor();
      await summary(page)
        .getByText(/--gpus 2 .*--tag team=vision --max-duration 3d/)
        .waitFor();
    }));

  test('a request that does not fit shows why, and an alternative is one press away', () =>
    demo.page('/', async (page) => {
      await toLaunch(page, 'gpus=8');
      await summary(page).getByText('Not available now').first().waitFor();
      await summary(page)
        .getByText(/largest free set: \d/)
        .first()
        .waitFor();
      await button(page).and(page.locator('[aria-disabled="true"]')).waitFor();
      await summary(page)
        .getByRole('button', { name: /^Slice, 4 GPUs/ })
        .click();
      await summary(page).getByText('Available now on').waitFor();
      assert.ok(await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^4/ }).isChecked());
      await button(page).and(page.locator('[aria-disabled="false"]')).waitFor();
    }));

  test('capacity taken by another user before the request is refused with reasons and alternatives', () =>
    demo.page('/', async (page) => {
      await toLaunch(page, 'gpus=4&name=too-late');
      await summary(page).getByText('Available now on').waitFor();
      // Sent before the estimate for eight GPUs has arrived: the form does not know yet that they are gone.
      await page.evaluate(() => {
        document.querySelector<HTMLInputElement>('input[type=radio][name=gpus][value="8"]')?.click();
        document.querySelector<HTMLFormElement>('#launch-form')?.requestSubmit();
      });
      const refusal = summary(page).getByRole('alert');
      await refusal
        .getByText(/no single node fits 8/)
        .first()
        .waitFor();
      await refusal.getByText('Correlation ID').waitFor();
      assert.match(page.url(), /\/launch/);
      await refusal.getByRole('button', { name: /^Slice, 4 GPUs/ }).click();
      await refusal.waitFor({ state: 'detached' });
      await summary(page).getByText('Available now on').waitFor();
      await button(page).click();
      await page.getByRole('heading', { level: 1, name: 'too-late' }).waitFor();
    }));

  test('a user without an organization is welcomed and can create one on the page', () =>
    demo.page('/#as=newcomer', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Welcome, Nadia Newcomer' }).waitFor();
      await page.getByLabel('Organization name').fill('Nadia & Co');
      const create = page.getByRole('button', { name: 'Create organization' });
      assert.equal(await create.getAttribute('aria-disabled'), 'true');
      await page.getByLabel('Organization name').fill('nadia');
      await create.click();
      await page.getByRole('region', { name: 'No allocations yet' }).waitFor();
      assert.match(page.url(), /\/projects\/prj_/);
    }));

  test('an invitation leads into the organization, and from there to a first project', () =>
    demo.page('/#as=newcomer', async (page) => {
      await page.getByLabel('Invitation token').fill(' demo-invitation-of-nadia ');
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.getByText('You are not in a project.').waitFor();
    }));

  test('regions, storage and networks that are not available are shown with the reason', () =>
    demo.page('/', async (page) => {
      await toLaunch(page);
      for (const name of [/^Frankfurt.*No hosts/, /^Formatted data disks.*A slice of 1 GPU has only its boot disk/])
        assert.ok(await page.getByRole('radio', { name }).isDisabled(), String(name));
      const network = page.getByRole('group', { name: 'Network' }).getByRole('radio', { name: /^Private, behind NAT/ });
      assert.ok(await network.isChecked());
      await page.getByRole('radio', { name: /^Bare metal/ }).check();
      assert.ok(await page.getByRole('radio', { name: /^2.*A node has 8 GPUs/ }).isDisabled());
      await page
        .getByRole('radio', { name: /^Private, behind NAT.*Bare metal uses the network of its node/ })
        .waitFor();
      assert.ok((await network.isDisabled()) && !(await network.isChecked()));
    }));

  test('storage is chosen by keyboard, stays in the URL and is launched and launched again', () =>
    demo.page('/', async (page) => {
      await toLaunch(page, 'gpus=2&name=with-disks');
      const storage = page.getByRole('group', { name: 'Storage' });
      await storage.getByRole('radio', { name: /^Raw data disks/ }).focus();
      await page.keyboard.press('ArrowRight');
      await page.waitForURL(/storage=formatted/);
      await summary(page)
        .getByText(/--storage formatted/)
        .waitFor();
      // Fewer GPUs have no data disk: the choice stays, with its reason, and the form is not sent.
      await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^1/ }).check();
      await summary(page).getByText('Formatted data disks: A slice of 1 GPU has only its boot disk.').waitFor();
      assert.equal(await button(page).getAttribute('aria-disabled'), 'true');
      await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^2/ }).check();
      await summary(page).getByText('Available now on').waitFor();
      await button(page).click();
      await page.getByRole('heading', { level: 1, name: 'with-disks' }).waitFor();
      await page.getByRole('link', { name: 'Launch again' }).click();
      await page.waitForURL(/storage=formatted/);
      assert.ok(await storage.getByRole('radio', { name: /^Formatted data disks/ }).isChecked());
    }));

  test('a launch works by keyboard alone', () =>
    demo.page('/', async (page) => {
      await toLaunch(page);
      await page.getByRole('radio', { name: /^Slice/ }).focus();
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowRight');
      assert.ok(await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^2/ }).isChecked());
      await page.getByLabel('Name', { exact: true }).focus();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type('Typed By Hand');
      await page.getByText('Use lower-case letters only.').first().waitFor();
      await page.keyboard.press('Enter');
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type('typed-by-hand');
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed-by-hand');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/allocations\/alc_/);
      await page.getByRole('heading', { level: 1, name: 'typed-by-hand' }).waitFor();
    }));

  test('a key is added without leaving the form, and a private key is refused', () =>
    demo.page('/', async (page) => {
      await toLaunch(page, 'gpus=2');
      await page.getByRole('button', { name: 'Add key' }).click();
      const key = page.getByLabel('Public key');
      await key.fill('-----BEGIN OPENSSH PRIVATE KEY-----');
      await page.getByText('This is a private key.').waitFor();
      await key.fill('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb1ZpFz2n6mS4Tn1oYVx0cQ0a3nq4bq0m9k2v4y7w8z new@home');
      await page.getByLabel('Key name').press('Enter');
      await page.getByRole('checkbox', { name: 'home' }).waitFor();
      assert.ok(await page.getByRole('checkbox', { name: 'home' }).isChecked());
      assert.match(page.url(), /gpus=2/);
    }));

  test('a refused launch shows its error in place and keeps the choices', () =>
    demo.page('/', async (page) => {
      await toLaunch(page, 'gpus=2&name=train-llama');
      await button(page).click();
      const refusal = summary(page).getByRole('alert');
      await refusal.getByText('Correlation ID').waitFor();
      assert.match(page.url(), /launch\?.*gpus=2/);
      await page.getByLabel('Name', { exact: true }).fill('train-llama-2');
      await refusal.waitFor({ state: 'detached' });
      await button(page).click();
      await page.waitForURL(/\/allocations\/alc_/);
    }));

  test('a user who may not launch sees why', () =>
    demo.page('/#as=viewer', async (page) => {
      await toLaunch(page);
      await summary(page)
        .getByText(/Requires a member of this project. You are a viewer/)
        .waitFor();
      assert.equal(await button(page).getAttribute('aria-disabled'), 'true');
    }));

  test('usage as CSV contains what the page shows', () =>
    demo.page('/', async (page) => {
      await page.getByRole('link', { name: 'Usage' }).first().click();
      const table = page.getByRole('group', { name: 'Usage records' });
      await table.getByRole('link', { name: 'sweep-1' }).waitFor();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click(),
      ]);
      const lines = (await text(await file.createReadStream())).trim().split('\r\n');
      assert.equal(lines.length - 1, (await table.getByRole('row').count()) - 1);
      const shown = await table.getByRole('row', { name: /sweep-1/ }).textContent();
      const cost = lines.find((line) => line.includes(',sweep-1,'))?.split(',')[8] ?? '?';
      assert.ok(shown?.includes(`$${cost}`), `${cost} in ${shown}`);
    }));
});
