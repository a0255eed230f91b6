/**
 * Every dialog, opened by keyboard on a phone: it takes the focus, closes by Esc, and returns the focus. What is checked
 * while it is open depends on the tier.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { createMockApi } from '../mock-api/index.ts';
import { type Demo, openDemo, needsBrowser as skip } from './browser.ts';
import { openWatched, settled, type WatchedPage } from './inspect.ts';
import { addressOf, routesOf } from './routes.ts';

/** The pages around them are inspected by routes.test.ts. */
export const DIALOG = '[role="dialog"]';

/** What a page needs before it has the button. */
type Preparation = Readonly<{ fill: string; text: string; press: string }>;
const PLAN: Preparation = { fill: 'Site file', text: 'version: 1\ngroup_mappings: []\n', press: 'Plan' };

/**
 * Its page, what is pressed to open it, and what comes before. Those of one page follow each other: it is visited once.
 */
const DIALOGS: readonly (readonly [route: string, ...steps: readonly (string | Preparation)[]])[] = [
  ['overview', 'Search'],
  ['allocation-connect', 'Release'],
  ['allocation-connect', 'Edit or extend'],
  ['allocation-connect', 'Power', 'Stop'],
  ['allocations', 'Actions for notebook-anna', 'Release'],
  ['settings-tokens', 'New token'],
  ['settings-tokens', 'Revoke'],
  ['settings-ssh-keys', 'Add key'],
  ['settings-ssh-keys', 'Delete laptop'],
  ['settings-sessions', 'Sign out all others'],
  ['settings-profile', 'New organization'],
  ['organization-projects', 'New project'],
  ['organization-projects', 'Rename'],
  ['organization-invitations', 'Invite member'],
  ['organization-invitations', 'Revoke'],
  ['organization-members', 'Change role'],
  ['organization-members', 'Remove'],
  ['project-access-members', 'Add member'],
  ['project-access-service-accounts', 'New service account'],
  ['limits', 'Request more'],
  ['limits', 'Withdraw'],
  ['nodes', 'Add node'],
  ['node-slots', 'Move to pool'],
  ['node-slots', 'Drain'],
  ['node-slots', 'Hold'],
  ['node-slots', 'Revoke agent'],
  ['node-slots', 'Re-enroll'],
  ['node-health', 'Add override'],
  ['node-images', 'Pull image'],
  ['platform-allocations', 'Release'],
  ['runs', 'Cancel'],
  ['catalog-regions', 'New region'],
  ['catalog-regions', 'Retire'],
  ['catalog-skus', 'New SKU'],
  ['catalog-sku', 'New profile'],
  ['catalog-sku', 'New price'],
  ['catalog-sku', 'Cancel price'],
  ['catalog-images', 'Register image'],
  ['catalog-image', 'Retire sha256'],
  ['catalog-pools', 'Edit'],
  ['site-file', PLAN, 'Apply'],
  ['requests', 'Approve'],
  ['requests', 'Reject wendy'],
  ['requests', 'Reject 48 GPUs'],
  ['organizations', 'New organization'],
  ['organization-gpus', 'Limit of a project'],
  ['site-access-groups', 'New mapping'],
  ['site-access-groups', 'Delete mapping'],
];

/** An enabled button or menu item, by the start of its name. */
const pressable = (page: Page, name: string): Locator => {
  const begins = new RegExp(`^${name}`);
  return page
    .getByRole('button', { name: begins })
    .or(page.getByRole('menuitem', { name: begins }))
    .and(page.locator(':not([aria-disabled="true"])'))
    .filter({ visible: true })
    .first();
};

const isInside = (dialog: Locator): Promise<boolean> =>
  dialog.evaluate((element) => element.contains(document.activeElement));

/** The parts that are off the screen and cannot be scrolled to. */
export const offScreen = (dialog: Locator): Promise<string[]> =>
  dialog.evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const isIn = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    const isCut = element.scrollWidth > element.clientWidth + 1;
    return [...(isIn ? [] : ['it is off the screen']), ...(isCut ? ['it is wider than its place'] : [])];
  });

export const PHONE = { width: 390, height: 844 } as const;
export const DESKTOP = { width: 1280, height: 900 } as const;

/** An open dialog on a phone; `name` is of its page and button. */
export type OpenDialog = Readonly<{ page: Page; dialog: Locator; name: string }>;

/** A test per dialog. `findingsOf` leaves the screen of a phone. */
export const testDialogs = (what: string, findingsOf: (opened: OpenDialog) => Promise<readonly string[]>): void => {
  const mock = createMockApi({ now: () => 0 });
  const routes = routesOf(mock);
  mock.close();

  let demo: Demo;
  let watched: WatchedPage;
  /** The page that an earlier test left as it was. */
  let at: string | undefined;
  before(async () => {
    if (skip !== false) return;
    demo = await openDemo();
    watched = await openWatched(demo, { theme: 'dark', width: PHONE.width });
  });
  after(() => demo?.close());

  for (const [name, ...steps] of DIALOGS) {
    const presses = steps.filter((step) => typeof step === 'string');
    const preparations = steps.filter((step) => typeof step !== 'string');
    test(`${name}: ${presses.join(', ')} opens a dialog that ${what}`, { skip }, async () => {
      const route = routes.find((one) => one.name === name);
      assert.ok(route);
      const { page } = watched;
      if (at !== name) {
        await watched.visit(addressOf(route));
        await settled(page);
      }
      at = undefined;
      for (const { fill, text, press } of preparations) {
        await page.getByRole('textbox', { name: fill }).fill(text);
        await pressable(page, press).press('Enter');
        await pressable(page, presses[0] ?? '').waitFor();
      }
      const [first = ''] = presses;
      const opener = await pressable(page, first).elementHandle();
      for (const press of presses) await pressable(page, press).press('Enter');
      const dialog = page.getByRole('dialog').filter({ visible: true });
      await dialog.waitFor();
      await page.waitForFunction(() => document.querySelector('[role="dialog"]')?.contains(document.activeElement));
      assert.ok(await isInside(dialog), 'the keyboard is in the dialog');
      const findings = await findingsOf({ page, dialog, name: `${name}-${presses.at(-1)?.replaceAll(' ', '-')}` });
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.waitForFunction((from) => document.activeElement === from, opener);
      assert.deepEqual([...findings, ...watched.takeTroubles()], []);
      at = name;
    });
  }
};
