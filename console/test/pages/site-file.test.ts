/** The site file in a real browser: taken as it is, edited, planned, applied, and refused. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient, type SiteFile } from '@gpuaas/sdk';
import type { Download, Locator, Page } from 'playwright-core';
import { parse, stringify } from 'yaml';
import { ensureConsole } from '../../../tools/build-console.ts';
import { createMockApi } from '../../mock-api/index.ts';
import { contextOptions, type Demo, launchBrowser, needsBrowser, openDemo, watch } from '../browser.ts';
import { unknownPart } from '../cli-commands.ts';
import { DIALOG, offScreen } from '../dialogs.ts';
import { inspect } from '../inspect.ts';
import { serveBuild } from '../serve.ts';

const PATH = '/site/file';
const field = (page: Page): Locator => page.getByRole('textbox', { name: 'Site file' });
const button = (place: Page | Locator, name: string): Locator => place.getByRole('button', { name, exact: true });
const part = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

const textOf = async (page: Page): Promise<string> => {
  await field(page).waitFor();
  return field(page).inputValue();
};
const siteOf = async (page: Page): Promise<SiteFile> => parse(await textOf(page)) as SiteFile;
const contentOf = async (saved: Download): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const chunk of await saved.createReadStream()) parts.push(chunk as Buffer);
  return Buffer.concat(parts).toString();
};
const plan = async (page: Page, site: unknown): Promise<void> => {
  await field(page).fill(typeof site === 'string' ? site : stringify(site));
  await button(page, 'Plan').click();
};
const pool = (name: string) => ({ name, purpose: 'Of a test' });

/** A plan that creates, changes and retires. */
const planMixed = async (page: Page): Promise<void> => {
  const { version, pools = [], vm_profiles = [], policy } = await siteOf(page);
  assert.ok(policy !== undefined);
  await plan(page, {
    // The default of a GPU count stays.
    ...{ version, vm_profiles: vm_profiles.filter((one) => one.is_default === true) },
    pools: [...pools, pool('site-file')],
    policy: { ...policy, contact: 'gpu-team@example.com' },
  });
  await part(page, 'Plan').waitFor();
};
const apply = async (page: Page): Promise<void> => {
  await button(part(page, 'Plan'), 'Apply').click();
  await button(page.getByRole('dialog'), 'Apply').click();
};

/** The page with an API of its own, at which another operator applies a file meanwhile. */
const besideAnother = async (
  work: (page: Page, another: (site: SiteFile) => Promise<void>) => Promise<void>,
): Promise<void> => {
  const [server, browser, api] = [
    await serveBuild(await ensureConsole('console')),
    await launchBrowser(),
    createMockApi(),
  ];
  try {
    const page = await (await browser.newContext(contextOptions({}))).newPage();
    const troubles = watch(page, server.url, /409|ERR_FAILED/);
    await page.route(/\/(?:api|auth)\//, async (route, request) => {
      if (request.url().includes('/stream')) return route.abort();
      const body = request.postData();
      const init = { method: request.method(), headers: request.headers(), ...(body === null ? {} : { body }) };
      const { status, headers, ...response } = await api
        .fetch(request.url(), init)
        .then(async (answer) => ({ status: answer.status, headers: answer.headers, body: await answer.text() }));
      return route.fulfill({ status, headers: Object.fromEntries(headers), ...response });
    });
    await page.goto(`${server.url}${PATH}`);
    const client = createClient({ baseUrl: server.url, fetch: api.fetch });
    await work(page, async (site) => {
      const { hash } = await client.adminSitePlan({ body: { site } });
      await client.adminSiteApply({ body: { site, hash } });
    });
    assert.deepEqual(troubles, []);
  } finally {
    await browser.close();
    await server.close();
    api.close();
  }
};

describe('the site file', { skip: needsBrowser }, () => {
  let demo: Demo;
  before(async () => {
    demo = await openDemo();
  });
  after(() => demo?.close());

  test('shows the site as it is, which is downloaded, and planned without a change', () =>
    demo.page(PATH, async (page) => {
      const text = await textOf(page);
      assert.match(text, /^# yaml-language-server: \$schema=http.*\/site\.schema\.json\nversion: 1\n/);
      const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
      assert.equal(saved.suggestedFilename(), 'site.yaml');
      assert.equal(await contentOf(saved), text);
      await button(page, 'Plan').click();
      await part(page, 'Plan').getByText('Nothing to change').waitFor();
      assert.equal(await button(part(page, 'Plan'), 'Apply').count(), 0);
      assert.equal(
        await page.getByRole('link', { name: 'Schema of the file' }).getAttribute('href'),
        '/site.schema.json',
      );
    }));

  test('is planned in groups and applied by the hash of the plan, and a link leads to the record', () =>
    demo.page(PATH, async (page) => {
      await planMixed(page);
      const planned = part(page, 'Plan');
      for (const group of ['Create', 'Change', 'Retire']) await part(page, group).waitFor();
      await part(page, 'Create').getByRole('strong').filter({ hasText: 'site-file' }).waitFor();
      await part(page, 'Change').getByText('gpu-team@example.com').waitFor();
      const hash = (await planned.getByText(/^[0-9a-f]{16}$/).textContent()) ?? '';
      const shown = page
        .locator('pre')
        .filter({ hasText: `--hash ${hash}` })
        .first();
      assert.equal(await unknownPart((await shown.textContent()) ?? ''), null);
      await apply(page);
      await part(page, 'Applied')
        .getByText(/^\d+ changes: 1 created, 1 changed, \d+ retired\. The site matches/)
        .waitFor();
      await button(page, 'Plan').click();
      await part(page, 'Plan').getByText('Nothing to change').waitFor();
      await button(page, 'Show the current site').click();
      await page.getByText('No changes: this is the current site.').waitFor();
      assert.ok((await siteOf(page)).pools?.some(({ name }) => name === 'site-file'));
    }));

  test('is refused at its lines, in words of the server and of the parser', () =>
    demo.page(
      PATH,
      async (page) => {
        await plan(page, 'version: 1\nregions:\n  - name: eu-north-1\n    display_name: North\n    enabled: false\n');
        const problems = page.getByRole('alert').filter({ hasText: 'The file has 1 problem' });
        await problems.getByText('regions[0].disabled_reason').waitFor();
        await problems.getByText('Correlation ID').waitFor();
        await button(problems, 'Line 3').click();
        const chosen = await field(page).evaluate((area: HTMLTextAreaElement) =>
          area.value.slice(area.selectionStart, area.selectionEnd),
        );
        assert.equal(chosen, '  - name: eu-north-1');
        assert.equal(await field(page).getAttribute('aria-invalid'), 'true');
        assert.equal(await page.locator('.text-editor-mark').count(), 1);
        await plan(page, 'version: 1\npools: [\n');
        await button(page.getByRole('alert'), 'Line 3').waitFor();
        await plan(page, '');
        await page.getByText('The file holds no site: it must start with "version: 1".').waitFor();
      },
      { allow: /400/ },
    ));

  test('names what blocks it, and cannot be applied then or after an edit', () =>
    demo.page(PATH, async (page) => {
      const { version, regions = [] } = await siteOf(page);
      await plan(page, { version, regions: regions.filter(({ name }) => name !== 'us-buffalo-1') });
      await part(page, 'What blocks this plan')
        .getByText(/is in use: 40 nodes/)
        .waitFor();
      const submit = button(part(page, 'Plan'), 'Apply');
      assert.equal(await submit.getAttribute('aria-description'), 'Resolve the blockers, then plan again.');
      await plan(page, { version, pools: [pool('one')] });
      await page.getByRole('strong').filter({ hasText: 'one' }).waitFor();
      await field(page).fill('version: 1\n');
      assert.equal(await submit.getAttribute('aria-description'), 'The file was edited after this plan. Plan again.');
    }));

  test('is planned again when the site has changed, and nothing is applied before another review', () =>
    besideAnother(async (page, another) => {
      const { version, pools = [] } = await siteOf(page);
      await plan(page, { version, pools: [...pools, pool('first')] });
      await button(part(page, 'Plan'), 'Apply').click();
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      await another({ version, pools: [...pools, pool('second')] });
      await button(dialog, 'Apply').click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText(/^The site or the file changed since the plan\. .* This is the new plan/).waitFor();
      await part(page, 'Create').getByRole('strong').filter({ hasText: 'first' }).waitFor();
      await part(page, 'Retire').getByRole('strong').filter({ hasText: 'second' }).waitFor();
      await apply(page);
      await part(page, 'Applied').waitFor();
    }));

  test('keeps an edited file over a sign-in, for the same user only', () =>
    demo.page(PATH, async (page) => {
      await textOf(page);
      await field(page).fill('version: 1\n# mine\n');
      await page.reload();
      assert.equal(await textOf(page), 'version: 1\n# mine\n');
      await page.goto('about:blank');
      await page.goto(`${demo.url}${PATH}#as=owner`);
      await page.getByText('Permission required').waitFor();
      await page.goto('about:blank');
      await page.goto(`${demo.url}${PATH}#seed=empty`);
      await button(page, 'Show the current site').click();
      assert.match(await textOf(page), /^# yaml-language-server/);
      await page.reload();
      assert.match(await textOf(page), /^# yaml-language-server/);
    }));

  test('an uploaded file takes the place of the shown one', () =>
    demo.page(PATH, async (page) => {
      await textOf(page);
      const upload = page.locator('input[type="file"]');
      const text = 'version: 1\npools: []\n';
      await upload.setInputFiles({ name: 'mine.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) });
      await page.getByText('Edited. Nothing changes before you apply it.').waitFor();
      assert.equal(await textOf(page), text);
      await upload.setInputFiles({ name: 'huge.yaml', mimeType: 'text/plain', buffer: Buffer.alloc(1_100_000, 'a') });
      await page.getByText(/^huge\.yaml has 1 MiB/).waitFor();
      assert.equal(await textOf(page), text);
    }));

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const)
    test(`its plan, dialog and refusal have no violations: ${theme} at ${width} px`, () =>
      demo.page(
        PATH,
        async (page) => {
          await planMixed(page);
          assert.deepEqual(await inspect(page), []);
          await button(part(page, 'Plan'), 'Apply').press('Enter');
          // Its title names it, and appears after it.
          const dialog = page.getByRole('dialog', { name: /./ });
          await dialog.waitFor();
          assert.deepEqual([...(await inspect(page, { within: DIALOG })), ...(await offScreen(dialog))], []);
          await page.keyboard.press('Escape');
          await dialog.waitFor({ state: 'detached' });
          await plan(page, 'version: 2\n');
          await page.getByRole('alert').waitFor();
          assert.deepEqual(await inspect(page), []);
        },
        { theme, width, allow: /400/ },
      ));
});
