/**
 * What is looked at on every page: axe with the rules of WCAG 2.2 AA (targets of 24 px among them) and its good practices,
 * nothing wider than its place, nothing cut off without its whole text at hand, and nothing that jumped while the page came up.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { contextOptions, type Demo, type PageOptions, watch } from './browser.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Beyond this people notice that something moved (the good end of the web's own measure). */
const SHIFT_MAX = 0.1;

type AxeResult = Readonly<{
  violations: readonly Readonly<{
    id: string;
    impact: string | null;
    help: string;
    nodes: readonly Readonly<{ target: readonly unknown[]; failureSummary?: string }>[];
  }>[];
}>;

/** Before the page's own script: adds up how much what is seen moves without anybody having touched it. */
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
  /** Loads an address as if for the first time; nothing of what was open before is left. */
  open(path: string): Promise<void>;
  /** What a good page never does, since the last call. */
  takeTroubles(): string[];
}>;

/** One page for many addresses, which costs half of a new one for each. Ends with the demo's browser. */
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
      // Away from the page first: the new one must not turn while it comes up, which would count as a shift.
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

/** Text that is cut off and says nowhere what it was. */
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
    // On a phone a table scrolls in its place; at a desk all of it is there, its buttons at the end above all.
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
    // What moves when the window is turned is asked for.
    seen.layoutShift = Number.NEGATIVE_INFINITY;
    return layoutShift > limit ? [`what is seen moved by itself (${layoutShift.toFixed(2)})`] : [];
  }, max);

/** Everything that is wrong with the page as it stands, as sentences; of axe's rules all, or `only` some or none. */
export const inspect = async (page: Page, only?: readonly string[]): Promise<string[]> => [
  ...(await axeFindings(page, only)),
  ...(await cutTexts(page)),
  ...(await wideParts(page)),
  ...(await shifts(page, SHIFT_MAX)),
];

/** Whatever is being read has been read: no place is held for anything any more. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role="status"] .mantine-Skeleton-root') === null);
};
