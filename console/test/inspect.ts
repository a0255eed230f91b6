/**
 * The checks of every page: axe with the rules of WCAG 2.2 AA (including 24 px targets) and its best practices, no
 * overflow, no truncated text without its complete text, and no layout shift during load.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { contextOptions, type Demo, type PageOptions, watch } from './browser.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** A larger layout shift is noticeable (the "good" threshold of Web Vitals). */
const SHIFT_MAX = 0.1;

type AxeResult = Readonly<{
  violations: readonly Readonly<{
    id: string;
    impact: string | null;
    help: string;
    nodes: readonly Readonly<{ target: readonly unknown[]; failureSummary?: string }>[];
  }>[];
}>;

/** Before the page's own script: adds up layout shifts without user input. */
const countShifts = (): void => {
  const seen = globalThis as unknown as { layoutShift: number };
  seen.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[])
      if (!entry.hadRecentInput) seen.layoutShift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
};

const forgetStored = (): void => {
  localStorage.clear();
  sessionStorage.clear();
};

export type WatchedPage = Readonly<{
  page: Page;
  /** Loads a URL as if for the first time, without any previous state. */
  open(path: string): Promise<void>;
  /**
   * Follows a link to the URL in the loaded console, which takes half the time of loading it. Data and preferences of
   * earlier pages stay. Loads the console where the demo of the URL is another one.
   */
  visit(path: string): Promise<void>;
  /** Violations since the last call. */
  takeTroubles(): string[];
}>;

/** An address of no page, and the heading that is shown there. */
const NOWHERE = '/nowhere/at/all';
const NOT_FOUND = /not found/i;

/** The options of the demo, which it reads when it is loaded. */
const demoOf = (path: string): string => path.slice(path.indexOf('#'));

/** One page for many URLs, which costs half as much as a new one for each. Ends with the demo's browser. */
export const openWatched = async (
  demo: Pick<Demo, 'browser' | 'url'>,
  options: PageOptions = {},
): Promise<WatchedPage> => {
  const look = contextOptions(options);
  const page = await (await demo.browser.newContext(look)).newPage();
  const troubles = watch(page, demo.url);
  await page.addInitScript(countShifts);
  await page.addInitScript(forgetStored);
  const applyLook = async (): Promise<void> => {
    await page.emulateMedia({ colorScheme: look.colorScheme ?? null });
    if (look.viewport) await page.setViewportSize(look.viewport);
  };
  let loaded: string | undefined;
  const open = async (path: string): Promise<void> => {
    // Leaves the page first: a rotation during load would count as a layout shift.
    await page.goto('about:blank');
    await applyLook();
    troubles.length = 0;
    await page.goto(`${demo.url}${path}`);
    loaded = demoOf(path);
  };
  return {
    page,
    open,
    visit: async (path) => {
      if (loaded !== demoOf(path) || path.startsWith(NOWHERE)) return open(path);
      // By way of a page with another heading, so that the heading of the next page can be waited for.
      await page.evaluate((to) => history.pushState(null, '', to), NOWHERE);
      await page.locator('h1', { hasText: NOT_FOUND }).waitFor();
      await applyLook();
      await page.evaluate((to) => {
        (globalThis as unknown as { layoutShift: number }).layoutShift = 0;
        history.pushState(null, '', to);
      }, path);
      await page.locator('h1', { hasNotText: NOT_FOUND }).first().waitFor();
    },
    takeTroubles: () => troubles.splice(0),
  };
};

type Axe = Readonly<{ run(root: Document | string, options: unknown): Promise<AxeResult> }>;

export type Inspection = Readonly<{
  /** Rules of axe; all of them if undefined, none if empty. */
  only?: readonly string[] | undefined;
  /** Where axe looks; on the whole page if undefined. */
  within?: string;
}>;

const axeFindings = async (page: Page, { only, within }: Inspection): Promise<string[]> => {
  if (only?.length === 0) return [];
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  const runOnly = only === undefined ? { type: 'tag', values: TAGS } : { type: 'rule', values: only };
  const { violations } = await page.evaluate(
    ([root, options]) => (globalThis as unknown as { axe: Axe }).axe.run(root ?? document, options),
    // The page has no frames, and no rule in use reads style sheets.
    [within, { runOnly, resultTypes: ['violations'], iframes: false, preload: false }] as const,
  );
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .flatMap(({ id, help, nodes }) => nodes.slice(0, 5).map(({ target }) => `${id}: ${help} (${target.join(' ')})`));
};

/** Truncated text whose complete text is not available. */
const cutTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('body *')]
      .filter((element) => {
        const style = getComputedStyle(element);
        const cuts =
          style.textOverflow === 'ellipsis' || (style.overflowX === 'hidden' && style.whiteSpace === 'nowrap');
        return (
          cuts &&
          element.scrollWidth > element.clientWidth + 1 &&
          element.clientWidth > 1 &&
          element.textContent.trim() !== ''
        );
      })
      .filter((element) => element.closest('[title], [aria-label], input, select, textarea, .xterm') === null)
      .map((element) => `cut off without its text at hand: "${element.textContent.slice(0, 60)}"`),
  );

const wideParts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    // On a phone a table scrolls inside its container; on a desktop it is completely visible, including the buttons at
    // its end.
    const tables = innerWidth < 1200 ? [] : [...document.querySelectorAll('.table-scroll')];
    return [
      ...(wide > 1 ? [`the page is ${wide} px wider than the screen`] : []),
      ...tables
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
        .map(
          (table) =>
            `"${table.getAttribute('aria-label')}" is ${table.scrollWidth - table.clientWidth} px wider than its place`,
        ),
    ];
  });

const shifts = (page: Page, max: number): Promise<string[]> =>
  page.evaluate((limit) => {
    const seen = globalThis as unknown as { layoutShift: number };
    const { layoutShift } = seen;
    // Shifts caused by rotating the window are expected.
    seen.layoutShift = Number.NEGATIVE_INFINITY;
    return layoutShift > limit ? [`the layout shifted (${layoutShift.toFixed(2)})`] : [];
  }, max);

/** Everything wrong with the page as it is, as sentences. */
export const inspect = async (page: Page, inspection: Inspection = {}): Promise<string[]> => [
  ...(await axeFindings(page, inspection)),
  ...(await cutTexts(page)),
  ...(await wideParts(page)),
  ...(await shifts(page, SHIFT_MAX)),
];

/** Everything has been read: no placeholder is left. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role="status"] .mantine-Skeleton-root') === null);
};
