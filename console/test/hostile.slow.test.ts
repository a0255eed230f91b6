/**
 * A platform on which every name, tag, log line and host report tries to run a script in an operator's page, checked
 * page by page: nothing runs, none of it becomes an element or a link, and the text stays readable. The policy of the
 * page would block most of it as well, so a policy violation counts as a failure of the page.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createMockApi } from '../mock-api/index.ts';
import { XSS_MARK } from '../mock-api/seed/hostile.ts';
import { contextOptions, type Demo, openDemo, needsBrowser as skip, watch } from './browser.ts';
import { openWatched, settled } from './inspect.ts';
import { routesOf } from './routes.ts';

const mock = createMockApi({ now: () => 0 });
/** The user is always an operator, so the same URL is one page. */
const routes = routesOf(mock).filter(({ path }, n, all) => all.findIndex((route) => route.path === path) === n);
const project = `/projects/${mock.seedIds.project_id}`;
mock.close();

/** Pages without text of other users until something on them is opened. */
const SILENT = [
  'allocations-none',
  'capacity',
  'platform-trace-nothing',
  'platform-trace-no-id',
  'platform-audit',
  'site-access-sign-up',
  'not-found',
  'signed-out',
];

const IMG = `<img src=x onerror="globalThis.${XSS_MARK}=1">`;
const LINK = `javascript:globalThis.${XSS_MARK}=1`;

let demo: Demo;
before(async () => {
  if (skip === false) demo = await openDemo();
});
after(() => demo?.close());

/** The violations, as sentences; an empty list means that the page is safe. */
const findings = (page: Page): Promise<string[]> =>
  page.evaluate((mark) => {
    const isMade = (element: Element): boolean =>
      element.matches('img[src="x"]') ||
      (element.tagName === 'SCRIPT' && element.textContent.includes(mark)) ||
      [...element.attributes].some(
        ({ name, value }) =>
          name.startsWith('on') ||
          name === 'srcdoc' ||
          (/^(?:xlink:)?(?:href|src|action|formaction)$/.test(name) && /^\W*javascript:/i.test(value)),
      );
    return [
      ...(mark in globalThis ? ['it ran'] : []),
      ...('polluted' in {} ? ['it is in every object'] : []),
      ...[...document.querySelectorAll('*')]
        .filter(isMade)
        .map(({ outerHTML }) => `it became ${outerHTML.slice(0, 200)}`),
    ];
  }, XSS_MARK);

const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(`${demo.url}${path}#seed=hostile`);
  await settled(page);
};

const inOnePage = async (work: (page: Page) => Promise<void>): Promise<void> => {
  const context = await demo.browser.newContext(contextOptions({}));
  try {
    const page = await context.newPage();
    const troubles = watch(page, demo.url);
    await work(page);
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
  }
};

test('text in names, tags, log lines and host reports is shown as text on every page', { skip }, async () => {
  const { page, visit, takeTroubles } = await openWatched(demo);
  try {
    const found: string[] = [];
    const silent: string[] = [];
    for (const { name, path } of routes) {
      await visit(`${path}#seed=hostile`);
      await settled(page);
      found.push(...(await findings(page)).map((what) => `${name}: ${what}`));
      const shown = page.locator('main').getByText(XSS_MARK).filter({ visible: true });
      if ((await shown.count()) === 0) silent.push(name);
    }
    assert.deepEqual(found, []);
    assert.deepEqual(silent, SILENT);
    assert.deepEqual(takeTroubles(), []);
  } finally {
    await page.context().close();
  }
});

test('text in the details of an audit row is shown as text', { skip }, () =>
  inOnePage(async (page) => {
    await open(page, '/platform/audit');
    await page
      .getByRole('button', { name: /^Details of/ })
      .first()
      .click();
    await page.getByText(XSS_MARK).first().waitFor();
    assert.deepEqual(await findings(page), []);
  }),
);

test('a crafted URL cannot inject markup either', { skip }, () =>
  inOnePage(async (page) => {
    const values = [LINK, `{"__proto__":{"polluted":1}}"><script>globalThis.${XSS_MARK}=1</script>${IMG}`];
    const names = ['name', 'tags', 'keys', 'image', 'region', 'hours', 'q', 'id', 'tab', 'state', 'sources', 'actor'];
    for (const path of [
      `${project}/launch`,
      `${project}/allocations`,
      '/platform/nodes',
      '/platform/trace',
      '/platform/audit',
      `${project}/${encodeURIComponent(IMG)}`,
    ])
      for (const value of values) {
        const search = new URLSearchParams(names.map((name) => [name, value]));
        for (const name of ['__proto__', '__proto__[polluted]', 'constructor', 'constructor[prototype][polluted]'])
          search.append(name, value);
        await open(page, `${path}?${search}`);
        assert.deepEqual(await findings(page), [], path);
      }
  }),
);

test('text pasted into the palette is shown as text and leads only to pages', { skip }, () =>
  inOnePage(async (page) => {
    const box = page.getByRole('combobox', { name: /^Search pages/ });
    await open(page, project);
    for (const pasted of [IMG, LINK, `//evil.example/${XSS_MARK}`, 'https://evil.example/', '../../../auth/sign-out']) {
      if (!(await box.isVisible())) await page.getByRole('button', { name: /Search or paste an ID/ }).click();
      await box.fill(pasted);
      await page.keyboard.press('Enter');
      assert.deepEqual(await findings(page), [], pasted);
      const { origin, pathname } = new URL(page.url());
      assert.deepEqual([origin, /^\/(?:projects|platform)\//.test(pathname)], [demo.url, true], pasted);
    }
  }),
);
