/** The console in a real browser against the complete platform of `make up`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requires } from '../../tools/test/requires.ts';
import { launch, link, openConsoles, price, release, tabTo, title } from './console-browser.ts';
import { labUnderTest } from './lab.ts';
import { ageSignIns } from './old-sign-in.ts';

const GPUAAS_LAB = fileURLToPath(new URL('../../bin/gpuaas-lab', import.meta.url));
const skip = requires('chromium');

/** For slices of any tenant. */
const SHARED_NODES = ['j22u11', 'j22u15'];

const fault = (stateDir: string, ...words: string[]): void => {
  const done = spawnSync(GPUAAS_LAB, ['fault', ...words, '--dir', join(stateDir, 'fleet')], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
};

test('users work with the console of a running control plane', { skip }, async (t) => {
  const lab = await labUnderTest(t);
  const up = await lab.make(['up', 'DETACH=1']);
  assert.equal(up.code, 0, up.text);
  await lab.hostsReady();
  const consoles = await openConsoles(t, lab);

  const tenant = await consoles.signIn('dev-user', '/settings?tab=sessions');
  const operator = await consoles.signIn('dev-admin');

  await t.test(
    'a link that was sent is where one arrives after signing in, with a cookie no script can read',
    async () => {
      assert.equal(new URL(tenant.page.url()).pathname + new URL(tenant.page.url()).search, '/settings?tab=sessions');
      await tenant.page.getByText('This browser').first().waitFor();
      const session = (await tenant.context.cookies()).find(({ name }) => name.endsWith('gpuaas_session'));
      assert.deepEqual([session?.httpOnly, session?.sameSite, session?.path], [true, 'Lax', '/']);
      assert.doesNotMatch(await tenant.page.evaluate<string>('document.cookie'), /gpuaas_session/);
      assert.deepEqual(
        await tenant.page.evaluate(() => Object.keys(localStorage).filter((key) => /token|session/.test(key))),
        [],
      );
    },
  );

  await t.test('a slice is launched by keyboard alone and becomes active on the open page', async () => {
    const { page } = tenant;
    await page.keyboard.press('Control+k');
    await page.keyboard.type('launch');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'Launch' }).waitFor();
    await price(page).getByText('Available now on').waitFor();
    await tabTo(page, 'input[name="gpus"]');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.waitForURL(/gpus=4/);
    await tabTo(page, 'input:not([type="radio"]):not([type="checkbox"])');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('by-key');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/allocations\/alc_/);
    await page.evaluate(() => Object.assign(globalThis, { notLoadedAgain: true }));
    await title(page, 'by-key').waitFor();
    await page.getByText('Active', { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => 'notLoadedAgain' in globalThis), true);
  });

  await t.test('a terminal in the page reaches the VM through the gateway', async () => {
    const { page } = tenant;
    await page.getByRole('tab', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Open terminal' }).click();
    const pane = page.getByRole('region', { name: 'Terminal of by-key' });
    await pane.getByText('Connected.').waitFor();
    await page.keyboard.type('nvidia-smi -L\n');
    await page.locator('.xterm-rows').filter({ hasText: 'GPU 3:' }).waitFor();
    await pane.getByRole('button', { name: 'Close' }).click();
    await page
      .getByRole('region', { name: /Sessions|Who/ })
      .getByText(/Closed/)
      .first()
      .waitFor();
  });

  await t.test('a launch that does not fit shows its reasons, and the listed alternative launches', async () => {
    const { page } = tenant;
    await launch(page, 'shape=gpu_slice&gpus=8&name=large');
    await link(page, 'Project', 'Launch').click();
    await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^8/ }).check();
    const verdict = price(page);
    await verdict.getByText('Available now', { exact: true }).waitFor();
    const submit = verdict.getByRole('button', { name: 'Launch', exact: true });
    assert.equal(await submit.getAttribute('aria-disabled'), 'true');
    assert.ok(((await submit.getAttribute('aria-description')) ?? '').length > 10);
    await verdict
      .getByRole('button', { name: /^Slice, 4 GPUs/ })
      .first()
      .click();
    await verdict.getByText('Available now on').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('instead');
    await submit.click();
    await page.waitForURL(/\/allocations\/alc_/);
    await title(page, 'instead').waitFor();
    await page.getByText('Active', { exact: true }).waitFor();
  });

  await t.test('a release shows the wipe, and the browser verifies its certificate', async () => {
    const { page } = tenant;
    await release(page, 'instead');
    await page.getByText('Released', { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: 'Wipe certificate' }).click();
    await page.getByText('Signature valid').waitFor();
    assert.equal(await page.getByText('Wiped and verified').count(), 4);
  });

  await t.test('a discovered node is approved after a fresh sign-in, and becomes schedulable', async () => {
    const { page } = operator;
    await ageSignIns(lab);
    await link(page, 'Platform', 'Nodes').click();
    await page.getByRole('link', { name: 'j22u05' }).click();
    await page.getByRole('tab', { name: 'Topology' }).click();
    await page
      .getByRole('img', { name: /j22u05|topology/i })
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Candidates' }).click();
    const approve = page.getByRole('button', { name: /^Approve (?:all|\d)/ });
    await approve.click();
    const refusal = page.getByRole('dialog', { name: 'Fresh sign-in required' });
    await refusal.getByText('This change needs a sign-in of the last 15 minutes. Yours is older.').waitFor();
    await refusal.getByRole('link', { name: 'Sign in again' }).click();
    // The issuer has a session of this browser too; it is as old, so it asks for the password.
    await consoles.enterPassword(page, 'dev-admin');
    await page.waitForURL(/\/nodes\/nod_\w+\?.*candidates/);
    assert.ok(await approve.isEnabled(), 'nothing was approved');
    await approve.click();
    await page.getByRole('tab', { name: 'Slots' }).click();
    await page.locator('main').getByText('Available').nth(7).waitFor();
  });

  await t.test(
    'the approved node stays outside the active pool: it serves the organization of its own pool alone',
    async () => {
      const { page: desk } = operator;
      await desk.getByText(', pool returning').waitFor();
      // The other node has 4 free GPUs beside the first allocation.
      for (const [page, nodes] of [
        [desk, '2 nodes'],
        [tenant.page, '1 node'],
      ] as const) {
        await link(page, 'Project', 'Launch').click();
        await page.getByRole('group', { name: 'GPUs' }).getByRole('radio', { name: /^4/ }).check();
        await price(page).getByText(`Available now on ${nodes};`).waitFor();
      }
    },
  );

  await t.test('a cleanup that cannot be proven blocks the slots until an operator cleans up again', async () => {
    for (const node of SHARED_NODES)
      fault(lab.stateDir, 'add', '--node', node, '--when', 'slice.cleanup', '--do', 'lie');
    const { page } = tenant;
    await launch(page, 'shape=gpu_slice&gpus=1&name=stuck');
    await release(page, 'stuck');
    await page.getByText('Cleanup blocked', { exact: true }).first().waitFor();
    for (const node of SHARED_NODES) fault(lab.stateDir, 'clear', '--node', node);

    const { page: desk } = operator;
    await link(desk, 'Platform', 'Nodes').click();
    await title(desk, 'Nodes').waitFor();
    await desk.getByRole('button', { name: /Needs attention/ }).click();
    await desk
      .getByRole('button', { name: /leanup blocked/ })
      .first()
      .click();
    await desk.getByRole('button', { name: 'Retry cleanup' }).click();
    const dialog = desk.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('the fault is cleared');
    await dialog.getByRole('button', { name: /^(Retry|Clean)/ }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Released', { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: 'Wipe certificate' }).click();
    await page.getByText('Signature valid').waitFor();
  });

  await t.test('one id leads from the allocation to what happened on the host', async () => {
    const { page } = tenant;
    const id = /alc_[0-9a-z]+/.exec(page.url())?.[0] ?? '';
    const { page: desk } = operator;
    await desk.keyboard.press('Control+k');
    await desk.getByRole('combobox', { name: /^Search pages/ }).fill(id);
    await desk.getByRole('option', { name: /Trace this ID/ }).click();
    await desk.getByRole('region', { name: 'First failure' }).waitFor();
    await desk
      .getByRole('region', { name: 'Timeline' })
      .getByText(/host task/)
      .first()
      .waitFor();
  });

  await t.test('a viewer reads everything, changes nothing, and sees why', async () => {
    const { page } = tenant;
    const allocations = page.url().replace(/\/alc_.*/, '');
    await link(page, 'Organization', 'Projects and members').click();
    await page.getByRole('tab', { name: 'Invitations' }).click();
    await page.getByRole('button', { name: 'Invite member' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Email address' }).fill('dev-admin@gpuaas.local');
    await form.getByRole('radio', { name: 'viewer' }).check();
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    const token = (await form.locator('.secret-block pre').textContent())?.trim() ?? '';
    await form.getByRole('checkbox', { name: 'I saved it' }).check();
    await form.getByRole('button', { name: 'Done' }).click();

    const { page: guest } = operator;
    await guest.goto(`${lab.url}/settings`);
    await guest.getByRole('textbox', { name: /token/i }).fill(token);
    await guest.getByRole('button', { name: /^(Accept|Join)/ }).click();
    await guest.getByText('viewer').first().waitFor();
    await guest.goto(allocations);
    await guest.getByRole('link', { name: 'by-key' }).click();
    const forbidden = guest.getByRole('button', { name: 'Release', exact: true });
    assert.equal(await forbidden.getAttribute('aria-disabled'), 'true');
    assert.match((await forbidden.getAttribute('aria-description')) ?? '', /this needs a member of the project/);
    await guest.goto(allocations.replace('/allocations', '/launch'));
    const submit = price(guest).getByRole('button', { name: 'Launch', exact: true });
    await submit.waitFor();
    assert.equal(await submit.getAttribute('aria-disabled'), 'true');
    assert.match((await submit.getAttribute('aria-description')) ?? '', /viewer/);
  });

  await t.test('another site can neither use the session nor frame the page', async () => {
    const hostile = createServer((_, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(
          `<iframe src="${lab.url}/settings"></iframe><form method="post" action="${lab.url}/api/v1/ssh-keys" enctype="text/plain"><input name='{"name":"planted","public_key":"x' value='"}'></form>`,
        ),
    );
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    const page = await tenant.context.newPage();
    try {
      const origin = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
      await page.goto(origin);
      const seen = await page.evaluate(async (target) => {
        const ask = (init: RequestInit) =>
          fetch(`${target}/api/v1/me`, { credentials: 'include', ...init }).then(
            () => 'answered',
            () => 'refused',
          );
        return [await ask({}), await ask({ method: 'POST', headers: { 'x-gpuaas-console': '1' }, body: '{}' })];
      }, lab.url);
      assert.deepEqual(seen, ['refused', 'refused']);
      assert.equal(page.frames()[1]?.url(), 'chrome-error://chromewebdata/');
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/api/v1/ssh-keys')),
        page.evaluate(`document.querySelector('form').submit()`),
      ]);
      assert.ok([400, 401, 403, 415].includes(answer.status()), String(answer.status()));
    } finally {
      await page.close();
      hostile.closeAllConnections();
      await new Promise((resolve) => hostile.close(resolve));
    }
  });

  await t.test('signing out ends the session, and open pages show it', async () => {
    const { page, context } = tenant;
    const other = await context.newPage();
    await other.goto(`${lab.url}/settings`);
    await title(other, 'Settings').waitFor();
    await page.goto(`${lab.url}/settings`);
    await page.getByRole('button', { name: 'Dev User' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL(/signed-out|oidc/);
    assert.equal((await context.request.get(`${lab.url}/api/v1/me`)).status(), 401);
    await other.getByText('Your session has ended').waitFor();
  });

  tenant.assertCalm();
  operator.assertCalm();
});
