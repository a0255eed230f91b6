/**
 * A site from an empty database to its end, with the browser alone: setup, site file, a host approved, a person and a quota
 * approved, a launch, another price, a second launch, and everything retired again. The CLI's own story is
 * `e2e/sim/site.slow.e2e.ts`.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { parse, stringify } from 'yaml';
import { emptyDatabase } from '../../server/test/database.ts';
import { ensureConsole } from '../../tools/build-console.ts';
import { requires } from '../../tools/test/requires.ts';
import { type Platform, type Running, startPlatform } from '../sim/platform.ts';
import { createStory, failureReport } from '../story.ts';
import { type Consoles, launch, link, openConsoles, type Person, price, release, title } from './console-browser.ts';

const DEMO = fileURLToPath(new URL('../../lab/site.yaml', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-site-page-'));
const skip = requires('chromium');
const HOST = 'slice-0001';

type Body = Readonly<Record<string, unknown>>;

let platform: Platform;
let host: Running;
let consoles: Consoles;
let operator: Person;
let tenant: Person;
const cleanups: (() => Promise<void> | void)[] = [];
const t = { after: (close: () => Promise<void> | void) => void cleanups.unshift(close) };
const shown = async ({ page }: { page: Page }, who: string): Promise<string> =>
  `--- page of the ${who}: ${page.url()}\n${await page.innerText('body').catch(String)}`;
const test = createStory(async () =>
  [
    await shown(operator, 'operator'),
    ...(tenant === undefined ? [] : [await shown(tenant, 'tenant')]),
    await failureReport(platform.client),
  ].join('\n'),
);

const part = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
/** An enabled button: one that waits for something is pressed when it has come. */
const press = (place: Page | Locator, name: string | RegExp): Promise<void> =>
  place
    .getByRole('button', { name, ...(typeof name === 'string' ? { exact: true } : {}) })
    .and(place.locator(':not([aria-disabled="true"])'))
    .first()
    .click();
const dialog = (page: Page): Locator => page.getByRole('dialog').filter({ visible: true });

/** The setup names this step as the next one; a link of it leads to the page that does it. */
const nextStep = async (label: string, place?: string): Promise<void> => {
  const { page } = operator;
  await link(page, 'Site', 'Setup').click();
  const steps = part(page, 'Steps');
  await steps
    .getByRole('status')
    .filter({ hasText: `Next: ${label}.` })
    .waitFor();
  if (place !== undefined) await steps.locator('[aria-current="step"]').getByRole('link', { name: place }).click();
};

const file = (): Locator => operator.page.getByRole('textbox', { name: 'Site file' });
const exported = async (): Promise<string> => {
  await link(operator.page, 'Site', 'Site file').click();
  await title(operator.page, 'Site file').waitFor();
  await file().waitFor();
  return file().inputValue();
};
const plan = async (text: string): Promise<Locator> => {
  await file().fill(text);
  await press(operator.page, 'Plan');
  const planned = part(operator.page, 'Plan');
  await planned.waitFor();
  return planned;
};
const apply = async (text: string): Promise<Locator> => {
  const { page } = operator;
  await press(await plan(text), 'Apply');
  await press(dialog(page), 'Apply');
  const applied = part(page, 'Applied');
  await applied.waitFor();
  return applied;
};

before(async () => {
  if (skip !== false) return;
  // The server has the build that it finds when it starts.
  await ensureConsole();
  const database_url = await emptyDatabase({ after: t.after });
  // As in production.
  const env = { GPUAAS_REQUIRE_NAMED_HOST: '1' };
  platform = await startPlatform({ database_url, dir: scratch, isEmpty: true, env });
  t.after(() => platform.stop());
  consoles = await openConsoles(t, { url: platform.url, stateDir: join(scratch, 'state') });
});
after(async () => {
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

test('the page that refuses a person names the setting of the first superadmin, until there is one', {
  skip,
}, async () => {
  tenant = await consoles.open();
  const { page } = tenant;
  await page.goto(platform.url);
  await consoles.enterPassword(page, 'dev-user');
  await title(page, 'You have no account here').waitFor();
  await page.getByText(/GPUAAS_SUPERADMIN_EMAILS.*doc\/operations\/setup\.md/).waitFor();
  operator = await consoles.signIn('dev-admin', '/site');
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await consoles.enterPassword(page, 'dev-user');
  await page.getByText(/Sign-up is by invitation/).waitFor();
  assert.equal(await page.getByText('GPUAAS_SUPERADMIN_EMAILS').count(), 0);
});

test('an operator describes an empty site on the page of the site file', { skip }, async () => {
  const { page } = operator;
  await nextStep('Catalog', 'Site file');
  await title(page, 'Site file').waitFor();
  const { quotas: _, ...demo } = parse(readFileSync(DEMO, 'utf8')) as Body;
  const policy = { sign_up: 'approved', mail_domains: [], default_gpu_limit: 0, contact: 'the operators' };
  await file().waitFor();
  const applied = await apply(stringify({ ...demo, policy }));
  await applied.getByText(/^\d\d changes: .*\d\d created/).waitFor();
  await applied.getByRole('link', { name: 'Continue the setup' }).click();
});

test('a host is added by its serial number, installs its agent with the token, and is discovered', {
  skip,
}, async () => {
  const { page } = operator;
  const { serial, install } = platform.newHost(HOST);
  await nextStep('Create the first node', 'Add node');
  await dialog(page).getByRole('textbox', { name: 'Name' }).fill(HOST);
  await dialog(page)
    .getByText(/This site requires it\.$/)
    .waitFor();
  await dialog(page).getByLabel('Serial number').fill(serial);
  await press(dialog(page), 'Add node');
  const made = page.getByRole('dialog', { name: `Install the agent on ${HOST}` });
  const shown = async (text: RegExp): Promise<readonly string[]> =>
    text.exec((await made.locator('pre').filter({ hasText: text }).textContent()) ?? '') ?? [];
  const [, node_api_url = '', ca_sha256 = ''] = await shown(/--node-api-url (\S+) --ca-sha256 (\S+)/);
  const [token = ''] = await shown(/gpe_[\w-]{43}/);
  host = install({ node_api_url, ca_sha256, token });
  await press(made, 'Open node');
  await title(page, HOST).waitFor();
  await page.getByRole('tab', { name: 'Agent', exact: true }).click();
  await page.getByText('Bound. Only this host can enroll:').waitFor();
  await nextStep('Discover its hardware', 'Run discovery');
  await title(page, HOST).waitFor();
  await press(page, 'Discover');
});

test('a discovered host is approved by its candidates', { skip }, async () => {
  const { page } = operator;
  await nextStep('Approve its slots', 'Review candidates');
  await title(page, HOST).waitFor();
  await press(page, 'Approve all');
  await page.getByText(/^Approved slots: 0, 1, 2, 3, 4, 5, 6, 7/).waitFor();
  await nextStep('First launch');
  // Before that no host has fetched the default image.
  await part(page, 'Steps').getByText('Nothing was launched yet.').waitFor();
});

test('a person waits for approval, requests GPUs on the page of limits and gets them', { skip }, async () => {
  const [{ page: desk }, { page }] = [operator, tenant];
  // The issuer still knows the person.
  await page.goto(platform.url);
  await title(page, 'Waiting for approval').waitFor();
  await link(desk, 'Site', 'Requests').click();
  await press(desk, /^Approve dev-user@/);
  await press(dialog(desk), 'Approve');
  await desk.getByText('No open sign-up requests').waitFor();

  await link(page, 'Organization', 'Limits').click();
  await press(page, 'Request more');
  await dialog(page).getByLabel('GPUs').fill('8');
  await dialog(page).getByLabel('Reason').fill('training');
  await press(dialog(page), 'Request');
  await dialog(page).waitFor({ state: 'detached' });

  await link(desk, 'Site', 'Setup').click();
  await link(desk, 'Site', 'Requests').click();
  await press(desk, /^Approve 8 GPUs for/);
  await dialog(desk).getByLabel('Limit in GPUs').fill('4');
  await dialog(desk).getByLabel('Reason').fill('first');
  await press(dialog(desk), 'Approve');
  await desk.getByText('No open quota requests').waitFor();
});

/** What the list of allocations says per hour. */
const perHour = async (name: string, text: string): Promise<void> => {
  await tenant.page.getByRole('row').filter({ hasText: name }).getByText(text).waitFor();
};

test('a new price is that of the next launch, and a running allocation keeps its own', { skip }, async () => {
  const { page } = tenant;
  await launch(page, 'shape=gpu_slice&gpus=2&name=first');
  const site = await exported();
  const applied = await apply(site.replaceAll('gpu_hourly_price_minor: 450', 'gpu_hourly_price_minor: 500'));
  await applied.getByText('2 changes: 2 changed.').waitFor();
  await launch(page, 'shape=gpu_slice&gpus=1&name=second');
  await link(page, 'Project', 'Allocations').click();
  await perHour('first', '$9.00 per hour');
  await perHour('second', '$5.00 per hour');
  await link(operator.page, 'Site', 'Setup').click();
  await part(operator.page, 'Steps').getByText('Every required step is done.').waitFor();
});

test('a plan that is no longer of the site is planned again, and applied after another review', { skip }, async () => {
  const { page } = operator;
  const site = parse(await exported()) as Body;
  const pools = [...(site['pools'] as Body[]), { name: 'training' }];
  const planned = await plan(stringify({ version: 1, pools }));
  // Another operator meanwhile.
  await platform.client.adminPoolCreate({ body: { name: 'other', purpose: null, organization_id: null } });
  await press(planned, 'Apply');
  await press(dialog(page), 'Apply');
  await page.getByText(/^The site or the file changed since the plan\. .* This is the new plan/).waitFor();
  await part(page, 'Retire').getByText('other', { exact: true }).waitFor();
  await press(planned, 'Apply');
  await press(dialog(page), 'Apply');
  await part(page, 'Applied').getByText('2 changes: 1 created, 1 retired.').waitFor();
});

const changeNode = async (action: string, asked: Readonly<{ reason?: string; name?: string }>): Promise<void> => {
  const { page } = operator;
  await press(page, action);
  if (asked.reason !== undefined) await dialog(page).getByLabel('Reason').fill(asked.reason);
  if (asked.name !== undefined) await dialog(page).getByLabel(`Type ${asked.name} to confirm`).fill(asked.name);
  await press(dialog(page), action);
  await dialog(page).waitFor({ state: 'detached' });
};

test('what is used cannot be retired; afterwards the whole site can', { skip }, async () => {
  const { page } = operator;
  const { quotas: _, ...site } = parse(await exported()) as Body;
  const empty = stringify({
    ...site,
    ...{ regions: [], skus: [], vm_profiles: [], prices: [], images: [], pools: [], group_mappings: [] },
  });
  const planned = await plan(empty);
  await part(page, 'What blocks this plan')
    .getByText(/Region us-buffalo-1 is in use: 1 node \(slice-0001\), 2 allocations/)
    .waitFor();
  assert.equal(
    await planned.getByRole('button', { name: 'Apply', exact: true }).getAttribute('aria-description'),
    'Resolve the blockers, then plan again.',
  );

  for (const name of ['first', 'second']) {
    await link(tenant.page, 'Project', 'Allocations').click();
    await tenant.page.getByRole('link', { name, exact: true }).click();
    await title(tenant.page, name).waitFor();
    await release(tenant.page, name);
    await tenant.page.getByText('Released', { exact: true }).first().waitFor();
  }
  await link(page, 'Platform', 'Nodes').click();
  await page.getByRole('grid').getByRole('link', { name: HOST }).click();
  await changeNode('Drain', { reason: 'end' });
  await changeNode('Retire', { reason: 'end', name: HOST });
  await host.kill('SIGTERM');
  await changeNode('Delete', { name: HOST });

  await exported();
  const applied = await apply(empty);
  await applied.getByText(/\d\d retired\. The site matches the file\.$/).waitFor();
  await nextStep('Catalog');
  await link(tenant.page, 'Project', 'Launch').click();
  await price(tenant.page).locator('[aria-description="No SKU is available."]').waitFor();
  operator.assertCalm();
  tenant.assertCalm();
});
