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
  /** Violations since the last call. */
  takeTroubles(): string[];
}>;

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
  return {
    page,
    open: async (path) => {
      // Leaves the page first: a rotation during load would count as a layout shift.
      await page.goto('about:blank');
      await page.emulateMedia({ colorScheme: look.colorScheme ?? null });
      if (look.viewport) await page.setViewportSize(look.viewport);
      troubles.length = 0;
      await page.goto(`${demo.url}${path}`);
    },
    takeTroubles: () => troubles.splice(0),
  };
};

type Axe = Readonly<{ run(root: Document, options: unknown): Promise<AxeResult> }>;

const axeFindings = async (page: Page, only: readonly string[] | undefined): Promise<string[]> => {
  if (only?.length === 0) return [];
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  const runOnly = only === undefined ? { type: 'tag', values: TAGS } : { type: 'rule', values: only };
  const { violations } = await page.evaluate(
    (options) => (globalThis as unknown as { axe: Axe }).axe.run(document, options),
    // The page has no frames, and no rule in use reads style sheets.
    { runOnly, resultTypes: ['violations'], iframes: false, preload: false },
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
    return layoutShift > limit ? [`what is seen moved by itself (${layoutShift.toFixed(2)})`] : [];
  }, max);

/** Everything wrong with the page as it is, as sentences; checks all rules of axe, or `only` some or none. */
export const inspect = async (page: Page, only?: readonly string[]): Promise<string[]> => [
  ...(await axeFindings(page, only)),
  ...(await cutTexts(page)),
  ...(await wideParts(page)),
  ...(await shifts(page, SHIFT_MAX)),
];

/** Everything has been read: no placeholder is left. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role="status"] .mantine-Skeleton-root') === null);
};
