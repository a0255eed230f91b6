/** The terminal in a real browser, under a policy that allows no inline script and no inline style. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, needsBrowser as skip } from '../../test/browser.ts';
import {
  type HostEnd,
  type SessionFacts,
  startGateway,
  type TestGateway,
  WINDOW_BYTES,
} from '../../test/terminal/gateway.ts';

let browser: Browser;
let gateway: TestGateway;

before(async () => {
  if (skip !== false) return;
  browser = await launchBrowser();
  gateway = await startGateway();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
});

type Opened = Readonly<{ page: Page; host: HostEnd; troubles: string[] }>;

/** Only ends a wait in vain: not a measurement. */
const PATIENCE_MS = 60_000;

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds()); ) {
    assert.ok(Date.now() < deadline, `waited in vain until ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const textOf = async (page: Page, selector: string): Promise<string> =>
  (await page.locator(selector).textContent()) ?? '';
const shown = (page: Page): Promise<string> => textOf(page, '.xterm-rows');
const shows = (page: Page, words: string): Promise<void> =>
  until(async () => (await shown(page)).replaceAll('\u00a0', ' ').includes(words));
const statusOf = (page: Page): Promise<string> => textOf(page, '.gpuaas-terminal-text');

const withPage = async (
  work: (opened: Opened) => Promise<void>,
  { facts = {}, query = '', scheme = 'dark' }: { facts?: SessionFacts; query?: string; scheme?: 'dark' | 'light' } = {},
): Promise<void> => {
  gateway.set(facts);
  const context = await browser.newContext({ viewport: { width: 900, height: 500 }, colorScheme: scheme });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gateway.url });
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text());
  });
  page.on('pageerror', (err) => troubles.push(String(err)));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', () => troubles.push('popup'));
  try {
    await page.goto(`${gateway.url}/${query}`);
    const host = await gateway.next();
    await until(async () => (await statusOf(page)) === 'Connected.');
    await work({ page, host, troubles });
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
  }
};

test('input reaches the host and its output is on the screen, also wide characters', { skip }, () =>
  withPage(async ({ page, host }) => {
    await page.keyboard.type('echo grüße 世界');
    await page.keyboard.press('Enter');
    await until(() => host.received().text === 'echo grüße 世界\r');
    const text = Buffer.from('ubuntu@train:~$ grüße 世界 🚀 end\r\n');
    // Split inside characters.
    for (const byte of text) await host.send(Uint8Array.of(byte));
    await shows(page, 'ubuntu@train:~$ grüße 世界 🚀 end');
    await page.keyboard.press('Control+c');
    await until(() => host.received().text.endsWith('\x03'));
  }),
);

test('the host receives the terminal size at the start and when it changes', { skip }, () =>
  withPage(async ({ page, host }) => {
    const last = () => host.words.findLast((word) => word.type === 'resize');
    await page.setViewportSize({ width: 500, height: 300 });
    await until(() => last() !== undefined);
    const small = last();
    assert.ok((small?.cols ?? 0) > 20 && (small?.cols ?? 0) < 80, JSON.stringify(small));
    await page.setViewportSize({ width: 1200, height: 700 });
    await until(() => (last()?.cols ?? 0) > (small?.cols ?? 0) && (last()?.rows ?? 0) > (small?.rows ?? 0));
  }),
);

const paste = (page: Page, text: string): Promise<void> =>
  page.evaluate((pasted) => {
    const data = new DataTransfer();
    data.setData('text/plain', pasted);
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
    document.querySelector('.xterm-helper-textarea')?.dispatchEvent(event);
  }, text);

test('a paste of 10 MB arrives complete at the speed of the host, and the page stays responsive', { skip }, () =>
  withPage(async ({ page, host }) => {
    const line = `${'αβγ 世界 0123456789 🚀 '.repeat(8)}\n`;
    const text = line.repeat(Math.ceil((10 * 1024 ** 2) / Buffer.byteLength(line)));
    const expected = Buffer.from(text.replaceAll('\n', '\r'));
    host.setTaking(false);
    await paste(page, text);
    await until(() => host.received().bytes === WINDOW_BYTES);
    assert.match(await statusOf(page), /^Pasting, \d+\.\d MB remaining…$/);
    assert.equal(await page.evaluate(() => 1 + 1), 2);
    assert.equal(host.received().bytes, WINDOW_BYTES);
    host.setTaking(true);
    await until(() => host.received().bytes >= expected.length);
    assert.equal(host.received().sha256, createHash('sha256').update(expected).digest('hex'));
    await until(async () => (await statusOf(page)) === 'Connected.');
  }),
);

test('pasted text cannot end a bracketed paste and contains no control characters', { skip }, () =>
  withPage(async ({ page, host }) => {
    await host.send('\x1b[?2004hready\r\n');
    await shows(page, 'ready');
    await paste(page, 'one\ttwo\n\x1b[201~rm -rf /\x03\x07\u009b');
    await until(() => host.received().text.endsWith('\x1b[201~'));
    assert.equal(host.received().text, '\x1b[200~one\ttwo\r[201~rm -rf /\x1b[201~');
  }),
);

test('a selection is copied by keyboard', { skip }, () =>
  withPage(async ({ page, host }) => {
    await host.send('\x1b[2J\x1b[Hcopy-me\r\n');
    await shows(page, 'copy-me');
    const box = await page.locator('.xterm-screen').boundingBox();
    assert.ok(box);
    await page.mouse.dblclick(box.x + 20, box.y + 8);
    await page.keyboard.press('Control+Shift+C');
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'copy-me');
    assert.equal(host.received().bytes, 0);
  }),
);

test('a stalled page accepts at most one window, and heavy output leaks no memory', { skip }, () =>
  withPage(async ({ page, host }) => {
    const cdp = await page.context().newCDPSession(page);
    const heap = async (): Promise<number> => {
      await cdp.send('HeapProfiler.collectGarbage');
      return (await cdp.send('Runtime.getHeapUsage')).usedSize;
    };
    const line = `${'flood '.repeat(20)}\r\n`;
    const flood = line.repeat(Math.ceil((8 * 1024 ** 2) / line.length));
    // Fills the scrollback first, which is what remains.
    await host.send(flood);
    await until(() => host.outstanding() < WINDOW_BYTES);
    const filled = await heap();

    await cdp.send('Debugger.enable');
    const paused = new Promise((resolve) => cdp.once('Debugger.paused', resolve));
    await cdp.send('Debugger.pause');
    const sent = host.send(`${flood}${flood}\x1b[0mlast line\r\n`);
    await paused;
    await until(() => host.outstanding() === WINDOW_BYTES);
    const said = host.words.length;
    // As long as a round trip through a stalled browser.
    await cdp.send('Browser.getVersion').catch(() => undefined);
    assert.equal(host.words.length, said);
    assert.equal(host.outstanding(), WINDOW_BYTES);
    await cdp.send('Debugger.resume');
    await cdp.send('Debugger.disable');
    await sent;
    await shows(page, 'last line');
    const grown = (await heap()) - filled;
    assert.ok(grown < 8 * 1024 ** 2, `${grown} bytes more than with a full scrollback`);
  }),
);

test('each close reason has its own sentence, and only a key press opens a new session', { skip }, () =>
  withPage(async ({ page, host }) => {
    const before = gateway.tickets();
    await host.send('\x1b[?1049h\x1b[?2004hold screen');
    await shows(page, 'old screen');
    host.say({ type: 'closed', reason: 'revoked', message: 'Your role in the project was taken away.' });
    await until(async () => (await statusOf(page)) === 'Your role in the project was taken away.');
    assert.ok(await page.locator('.gpuaas-terminal-reconnect').evaluate((button) => button === document.activeElement));
    await page.keyboard.press('Enter');
    const second = await gateway.next();
    assert.equal(gateway.tickets(), before + 1);
    await until(async () => (await statusOf(page)) === 'Connected.');
    await second.send('again');
    await shows(page, 'again');
    await page.keyboard.type('x');
    await until(() => second.received().text === 'x');

    second.say({ type: 'exit', code: 3, signal: null });
    second.say({ type: 'closed', reason: 'ended', message: 'The program ended.' });
    await until(async () => (await statusOf(page)) === 'The program exited with status 3.');
    await page.keyboard.press('Enter');
    const third = await gateway.next();
    await until(async () => (await statusOf(page)) === 'Connected.');
    third.drop();
    await until(async () => (await statusOf(page)).startsWith('The connection to the gateway was lost.'));
  }),
);

test('hostile output creates no element, title, link, dialog or clipboard entry', { skip }, () =>
  withPage(async ({ page, host }) => {
    await page.evaluate(() => navigator.clipboard.writeText('mine'));
    const title = await page.title();
    const tags = () =>
      page.evaluate(() => [...new Set([...document.querySelectorAll('*')].map((one) => one.tagName))].sort());
    const before = await tags();
    const esc = '\x1b';
    await host.send(
      [
        '<img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">link</a>',
        `${esc}]0;<b>owned</b>\x07${esc}]2;owned\x07`,
        `${esc}]52;c;${Buffer.from('stolen').toString('base64')}\x07${esc}]52;c;?\x07`,
        `${esc}]8;;javascript:alert(4)\x07js-link${esc}]8;;\x07`,
        `${esc}]8;;https://example.invalid/\x07web-link${esc}]8;;\x07`,
        `${esc}]1337;File=inline=1:AAAA\x07${esc}P$q"p${esc}\\${esc}[8;1;1t${esc}[20t${esc}[21t`,
        `${esc}]${'9'.repeat(2000)};x\x07${esc}[${'1;'.repeat(5000)}m`,
        'still here\r\n',
      ].join('\r\n'),
    );
    await shows(page, 'still here');
    await shows(page, '<script>alert(2)</script>');
    const box = await page.locator('.xterm-screen').boundingBox();
    assert.ok(box);
    for (let y = 8; y < 200; y += 8) await page.mouse.click(box.x + 12, box.y + y);
    assert.equal(await page.title(), title);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'mine');
    assert.deepEqual(await tags(), before);
    assert.ok(!host.received().text.includes('owned'));
    assert.equal(page.url(), `${gateway.url}/`);
  }),
);

test('a read-only session says so and sends no input, and a recorded session shows its notice', { skip }, () =>
  withPage(
    async ({ page, host }) => {
      await page.keyboard.type('nothing');
      await host.send('login: \x1b[6n');
      await shows(page, 'login:');
      assert.equal(await textOf(page, '.gpuaas-terminal-marks'), 'Read-onlyRecorded');
      assert.equal(await textOf(page, '.gpuaas-terminal-notice'), 'Recorded by <b>policy</b>.');
      assert.equal(host.received().bytes, 0);
    },
    { facts: { is_writable: false, is_recorded: true, notice: 'Recorded by <b>policy</b>.' } },
  ),
);

test('an unmounted terminal ends its session and leaves nothing in the page', { skip }, () =>
  withPage(async ({ page, host }) => {
    await page.evaluate(() => document.dispatchEvent(new Event('unmount')));
    assert.equal(await host.closed, 1000);
    assert.equal(await page.locator('#terminal').evaluate((element) => element.childElementCount), 0);
    assert.equal(await page.evaluate(() => document.adoptedStyleSheets.length), 0);
  }),
);

test('the theme follows the system or the page, and program colors are readable in both', { skip }, async (t) => {
  // Kept if a developer wants to inspect them.
  const wanted = process.env['TERMINAL_SCREENSHOTS'];
  const folder = wanted ?? (await mkdtemp(join(tmpdir(), 'terminal-')));
  if (wanted === undefined) t.after(() => rm(folder, { recursive: true, force: true }));
  const background = (page: Page): Promise<string> =>
    page.locator('.gpuaas-terminal').evaluate((element) => getComputedStyle(element).backgroundColor);
  const colors = [...Array(16).keys()].map((n) => `\x1b[38;5;${n}m c${n}`).join('');
  const draw = async ({ page, host }: Opened): Promise<void> => {
    await host.send(
      `\x1b[2J\x1b[Hubuntu@train:~$ ls\r\n${colors}\x1b[0m\r\n\x1b[38;2;255;0;0mtruecolor\x1b[0m 世界 🚀\r\n`,
    );
    await host.send(
      '\x1b[41m red \x1b[0m \x1b[1mbold\x1b[0m \x1b[3mitalic\x1b[0m \x1b[4munder\x1b[0m \x1b[7minverse\x1b[0m\r\n$ ',
    );
    await shows(page, 'inverse');
    const color = await page
      .locator('.xterm-rows span', { hasText: 'truecolor' })
      .evaluate((element) => getComputedStyle(element).color);
    assert.match(color, /^rgb\((\d+), (\d+), \2\)$/, 'a color of a program is applied under the policy');
  };
  await withPage(
    async (opened) => {
      await draw(opened);
      assert.equal(await background(opened.page), 'rgb(16, 20, 24)');
      await opened.page.screenshot({ path: join(folder, 'dark.png') });
      await opened.page.emulateMedia({ colorScheme: 'light' });
      await until(async () => (await background(opened.page)) === 'rgb(255, 255, 255)');
      opened.host.say({
        type: 'closed',
        reason: 'idle',
        message: 'The session was idle for 30 minutes. Reconnect to continue.',
      });
      await until(async () => (await statusOf(opened.page)).startsWith('The session was idle'));
      await opened.page.screenshot({ path: join(folder, 'light-over.png') });
    },
    { facts: { is_recorded: true } },
  );
  await withPage(
    async (opened) => {
      await draw(opened);
      assert.equal(await background(opened.page), 'rgb(255, 255, 255)');
      await opened.page.screenshot({ path: join(folder, 'light.png') });
    },
    { query: '?theme=light', facts: { is_writable: false } },
  );
});
