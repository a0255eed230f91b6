/** The site in a real browser: what operators sell and to whom, from a region to a price and a limit. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type Demo, needsBrowser, openDemo } from '../browser.ts';
import { unknownPart } from '../cli-commands.ts';

const DIGEST = `sha256:${'5'.repeat(64)}`;

const dialog = (page: Page): Locator => page.getByRole('dialog').filter({ visible: true });
const row = (page: Page, text: string): Locator => page.getByRole('row').filter({ hasText: text });
const open = async (page: Page, name: string): Promise<Locator> => {
  await page.getByRole('button', { name, exact: true }).first().click();
  await dialog(page).waitFor();
  return dialog(page);
};
const choose = async (page: Page, field: string, option: string | RegExp): Promise<void> => {
  await dialog(page).getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option }).click();
};
/** The equivalent command of what is typed, which the CLI must know. */
const showsCommand = async (page: Page, expected: RegExp): Promise<void> => {
  const shown = page.locator('pre').filter({ hasText: expected });
  await shown.waitFor({ state: 'attached' }).catch(async (err: unknown) => {
    throw new Error(`none of ${JSON.stringify(await page.locator('pre').allTextContents())} matches ${expected}`, {
      cause: err,
    });
  });
  assert.equal(await unknownPart((await shown.textContent()) ?? ''), null);
};
/** Sends the form and waits until it was accepted. */
const send = async (page: Page, label: string, command: RegExp): Promise<void> => {
  await showsCommand(page, command);
  await dialog(page).getByRole('button', { name: label, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
};
/** The button is disabled, and says why. */
const refuses = (place: Page | Locator, label: string, reason: string): Promise<void> =>
  place
    .getByRole('button', { name: label, exact: true })
    .and(place.locator(`[aria-description="${reason}"]`))
    .waitFor();

describe('the site', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo?.close());

  test('every step of the setup leads to a page that does it', () =>
    demo.page('/site#seed=empty', async (page) => {
      const steps = page.getByRole('region', { name: 'Steps' }).getByRole('listitem');
      await steps.first().waitFor();
      const places = new Set<string>();
      for (const step of await steps.all()) {
        const found = await step.getByRole('link').all();
        assert.ok(found.length > 0, (await step.textContent()) ?? '');
        for (const place of found) places.add((await place.getAttribute('href')) ?? '');
      }
      for (const place of places) {
        // Within the loaded console, as a link does; an unknown page has this heading.
        await page.evaluate((to) => history.pushState(null, '', to), place);
        await page.getByRole('heading', { level: 1 }).first().waitFor();
        assert.equal(await page.getByRole('heading', { level: 1, name: /not found/i }).count(), 0, place);
      }
      await page.evaluate(() => history.pushState(null, '', '/site'));
      await page.getByRole('link', { name: 'Add node' }).click();
      await page.getByRole('dialog', { name: 'Add node' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.doesNotMatch(page.url(), /add=/);
    }));

  test('a region is created, disabled with a reason, retired and brought back', () =>
    demo.page('/site/catalog', async (page) => {
      const form = await open(page, 'New region');
      await refuses(form, 'Create', 'Enter the name.');
      await form.getByLabel('Name', { exact: true }).fill('Stockholm');
      await form.getByText('Use lower-case letters only.').waitFor();
      await form.getByLabel('Name', { exact: true }).fill('eu-north-1');
      await form.getByLabel('Display name').fill('Stockholm, Sweden');
      await choose(page, 'Minimum wipe level', 'purge');
      await send(
        page,
        'Create',
        /region create eu-north-1 --display-name 'Stockholm, Sweden' --enable --wipe-minimum purge --wipe-override refuse --fabric-isolation none$/,
      );
      await open(page, 'Edit eu-north-1');
      await refuses(dialog(page), 'Save', 'No changes to save.');
      await dialog(page).getByRole('switch', { name: 'Tenants can launch here' }).click();
      await refuses(dialog(page), 'Save', 'Enter the reason shown to tenants.');
      await dialog(page).getByLabel('Reason shown to tenants').fill('Opens in March.');
      await send(page, 'Save', /region update eu-north-1 --disable --reason 'Opens in March\.'$/);
      await row(page, 'eu-north-1').getByText('Opens in March.').waitFor();
      await open(page, 'Retire eu-north-1');
      await dialog(page).getByText('0 nodes').waitFor();
      await dialog(page).getByLabel('Reason').fill('Not needed');
      await send(page, 'Retire', /region retire eu-north-1 --reason 'Not needed'$/);
      await row(page, 'eu-north-1').waitFor({ state: 'detached' });
      await page.getByRole('switch', { name: 'Show retired regions' }).click();
      await open(page, 'Bring back eu-north-1');
      await send(
        page,
        'Bring back',
        /region create eu-north-1 --display-name 'Stockholm, Sweden' --disable --reason 'Opens in March\.'/,
      );
      await page.getByRole('button', { name: 'Retire eu-north-1' }).waitFor();
    }));

  test('a refusal names everything that uses the region', () =>
    demo.page(
      '/site/catalog',
      async (page) => {
        await open(page, 'Retire us-buffalo-1');
        await dialog(page)
          .getByText(/^40 nodes: j22/)
          .waitFor();
        await dialog(page).getByLabel('Reason').fill('Closing');
        await dialog(page).getByRole('button', { name: 'Retire', exact: true }).click();
        const refusal = dialog(page).getByRole('alert');
        await refusal
          .getByText(/Region us-buffalo-1 is in use: 40 nodes \(j22.*and 30 more\), \d+ allocations/)
          .waitFor();
        await refusal.getByText('Correlation ID').waitFor();
      },
      { allow: /409/ },
    ));

  test('a SKU is sold from its profile to its price, and a price to come is cancelled', () =>
    demo.page('/site/catalog?tab=skus', async (page) => {
      const form = await open(page, 'New SKU');
      await form.getByLabel('Name', { exact: true }).fill('b200-slice');
      await form.getByLabel('Display name').fill('NVIDIA B200 GPU VM');
      await form.getByLabel('GPU model').fill('B200 SXM');
      await form.getByLabel('GPU counts').fill('1, 2');
      await send(
        page,
        'Create',
        /sku create b200-slice .*--shape gpu_slice .*--gpus-per-node 8 --gpu-counts 1,2 --enable$/,
      );
      await row(page, 'b200-slice').getByText('Not ready').waitFor();
      await page.getByRole('link', { name: 'b200-slice' }).click();
      await page.getByRole('heading', { name: 'Prices' }).waitFor();
      await open(page, 'New profile');
      await dialog(page).getByLabel('Name', { exact: true }).fill('b200_1g_32c_128g');
      await dialog(page).getByLabel('GPUs', { exact: true }).fill('1');
      await dialog(page).getByLabel('vCPUs').fill('32');
      await dialog(page).getByLabel('Memory in MiB').fill('131072');
      await dialog(page)
        .getByText(/^128 GiB/)
        .waitFor();
      await send(
        page,
        'Create',
        /--sku b200-slice --gpus 1 --vcpus 32 --memory-mib 131072 --hugepages auto --numa strict$/,
      );
      await row(page, 'b200_1g_32c_128g').getByText('32 vCPUs').waitFor();
      await open(page, 'New price');
      await dialog(page).getByLabel('Price per GPU hour').fill('599');
      await dialog(page)
        .getByText(/Tenants read \$5\.99 per GPU hour/)
        .waitFor();
      await send(page, 'Set price', /price create b200-slice --gpu-hourly-price-minor 599 --currency USD$/);
      await row(page, '$5.99').getByText('Current').waitFor();
      await open(page, 'New price');
      await dialog(page).getByLabel('Price per GPU hour').fill('549');
      await dialog(page).getByLabel('Takes effect, in UTC').fill('2099-01-01T00:00');
      await send(page, 'Set price', /--valid-from 2099-01-01T00:00:00\.000Z$/);
      await row(page, '$5.49').getByText('Future').waitFor();
      await open(page, 'Cancel price from 2099-01-01 00:00:00 UTC');
      await dialog(page).getByLabel('Reason').fill('Costs did not fall');
      await send(page, 'Cancel price', /price cancel prc_\w+ --reason 'Costs did not fall'$/);
      await row(page, '$5.49').getByText('Cancelled', { exact: true }).waitFor();
    }));

  test('an image is filled from the catalog.json of its build, and its versions are retired one by one', () =>
    demo.page('/site/catalog?tab=images&image=ubuntu-24.04-h200-base', async (page) => {
      const form = await open(page, 'New version');
      assert.equal(await form.getByLabel('Name', { exact: true }).inputValue(), 'ubuntu-24.04-h200-base');
      await refuses(form, 'Register', 'Enter the digest.');
      await form.getByLabel('catalog.json').fill(`{"digest":"${DIGEST}","size_bytes":4000000000,"unknown":[]}`);
      await send(page, 'Register', /image register catalog\.json --boot-kind uefi --sku h200-sxm-slice/);
      await row(page, DIGEST.slice(0, 19)).getByText('Used by launches').waitFor();
      await page.getByText('stable, unverified').waitFor();
      await open(page, `Retire ${DIGEST.slice(0, 19)}`);
      await dialog(page).getByText('New launches use the newest version left.').waitFor();
      await dialog(page).getByLabel('Reason').fill('Broken boot');
      await send(page, 'Retire version', /--digest sha256:5+ --reason 'Broken boot'$/);
      await row(page, DIGEST.slice(0, 19)).getByText('Broken boot').waitFor();
    }));

  test('requests are decided with a reason where one is due', () =>
    demo.page('/site/requests', async (page) => {
      await open(page, 'Approve 48 GPUs for acme');
      await dialog(page).getByLabel('Limit in GPUs').fill('40');
      await refuses(dialog(page), 'Approve', 'Enter the reason for a limit other than the requested one.');
      await dialog(page).getByLabel('Reason').fill('Five nodes are free');
      await send(page, 'Approve', /--gpus 40 --reason 'Five nodes are free'$/);
      await page.getByText('No open quota requests').waitFor();
      await open(page, 'Approve wendy@acme.example');
      await send(page, 'Approve', /sign-up-request approve sur_\w+$/);
      await page.getByText('No open sign-up requests').waitFor();
      await page.getByText('All', { exact: true }).click();
      await row(page, '48 GPUs').getByText('limit 40 GPUs').waitFor();
    }));

  test('an organization is created for its owner, and its limit is set', () =>
    demo.page('/site/organizations', async (page) => {
      const form = await open(page, 'New organization');
      await form.getByLabel('Name', { exact: true }).fill('initech');
      await refuses(form, 'Create', 'Name one owner: an email address, or a user who has signed in before.');
      await form.getByLabel("Owner's email address").fill('ada@initech.example');
      await form.getByLabel('GPU limit').fill('16');
      await showsCommand(page, /organization create initech --owner-email ada@initech\.example --gpus 16$/);
      await form.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('dialog', { name: 'Invitation to initech' }).waitFor();
      await page.getByLabel('I saved it').check();
      await page.getByRole('button', { name: 'Done' }).click();
      await row(page, 'initech').getByText('16', { exact: true }).waitFor();
      await open(page, 'Limit initech');
      await refuses(dialog(page), 'Save', 'No changes to save.');
      await dialog(page).getByRole('checkbox', { name: 'No limit' }).check();
      await send(page, 'Save', /quota set initech --unlimited$/);
      await row(page, 'initech').getByText('no limit').waitFor();
    }));

  test('the sign-up policy and the group mappings are set, and groups are synced', () =>
    demo.page('/site/access', async (page) => {
      await page.getByLabel('Mail domains').fill('acme.example, Acme');
      await refuses(page, 'Save', 'A mail domain has lower-case letters and a dot, such as example.com.');
      await page.getByLabel('Mail domains').fill('acme.example');
      await showsCommand(page, /site-policy update --mail-domain acme\.example$/);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText(/Last changed just now/).waitFor();
      await page.getByRole('tab', { name: 'Groups' }).click();
      await open(page, 'New mapping');
      await dialog(page).getByLabel('Group').fill('/vision');
      await choose(page, 'Organization', /^acme/);
      await send(page, 'Create', /group-mapping create \/vision --in-organization org_\w+ --role member$/);
      await open(page, 'Delete mapping of /vision');
      await send(page, 'Delete', /group-mapping delete grm_\w+ --yes$/);
      await row(page, '/vision').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Sync groups' }).click();
      await page.getByText(/^Checked \d+ users/).waitFor();
    }));

  test('a node is moved to a pool, unless others use it', () =>
    demo.page(
      '/platform/nodes',
      async (page) => {
        await page.getByRole('grid').getByRole('link', { name: 'j22u11' }).click();
        await open(page, 'Move to pool');
        await choose(page, 'Pool', /^shared/);
        await dialog(page).getByLabel('Reason').fill('Reserved');
        await refuses(dialog(page), 'Move', 'The node is in this pool already.');
        await choose(page, 'Pool', /^globex-training/);
        await dialog(page).getByRole('button', { name: 'Move', exact: true }).click();
        await dialog(page)
          .getByText(/hold|claims|organizations/i)
          .last()
          .waitFor();
        await dialog(page).getByRole('alert').waitFor();
        await page.keyboard.press('Escape');
      },
      { allow: /409/ },
    ));
});
