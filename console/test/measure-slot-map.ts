/**
 * Measures the slot map of 1,000 nodes in a real browser, with the production build and the API of the demo in another
 * process, and prints the result as JSON; `make bench NAME=console` starts it. A separate process, because it is typed
 * for browsers.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { ensureConsole } from '../../tools/build-console.ts';
import { createMockApi } from '../mock-api/index.ts';
import { launchBrowser } from './browser.ts';
import { serveBuild } from './serve.ts';

const NODES = 1_000;
const SLOTS = 8;
const PAIRS = 3;
const LONG_MS = 200;
const VIEWPORT = { width: 1280, height: 900 };

type Seen = Readonly<{
  first_paint_ms: number;
  frame_p50_ms: number;
  frame_p95_ms: number;
  frame_max_ms: number;
  long_tasks: number;
}>;

const barePage = (): string => {
  const row = (index: number): string =>
    `<tr><td>j${Math.floor(index / 20)}u${index % 20}</td>${'<td class="tile">ok</td>'.repeat(SLOTS)}</tr>`;
  return `<!doctype html><title>bare</title><style>.tile{width:40px;height:28px;border:1px solid #888}</style><table>${Array.from({ length: NODES }, (_, index) => row(index)).join('')}</table>`;
};

const serveBare = async () => {
  const html = barePage();
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Before the page's own script: records every interval in which the page was unresponsive. */
const noteLongTasks = (page: Page) =>
  page.addInitScript(() => {
    const seen = globalThis as unknown as { longTasks: number[] };
    seen.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.longTasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
  });

/** Scrolls 120 px per frame, faster than a mouse wheel, from top to bottom and back; returns the frame times. */
const scrollThrough = (page: Page): Promise<number[]> =>
  page.evaluate(async () => {
    const frames: number[] = [];
    const scrollers = [...document.querySelectorAll<HTMLElement>('*')].filter(
      (element) =>
        element.scrollHeight > element.clientHeight + 2_000 && /auto|scroll/.test(getComputedStyle(element).overflowY),
    );
    const target = scrollers[0] ?? document.documentElement;
    const nextFrame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
    let last = await nextFrame();
    for (const step of [120, -120])
      for (let moved = -1; moved !== target.scrollTop; ) {
        moved = target.scrollTop;
        target.scrollTop += step;
        const now = await nextFrame();
        frames.push(now - last);
        last = now;
      }
    return frames;
  });

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;

const look = async (browser: Browser, url: string, firstRow: string): Promise<Seen> => {
  const page = await browser.newPage({ viewport: VIEWPORT });
  try {
    await noteLongTasks(page);
    await page.goto(url);
    await page.locator(firstRow).first().waitFor();
    const first_paint_ms = await page.evaluate(() => performance.now());
    const frames = await scrollThrough(page);
    const long = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);
    return {
      first_paint_ms,
      frame_p50_ms: quantile(frames, 0.5),
      frame_p95_ms: quantile(frames, 0.95),
      frame_max_ms: Math.max(...frames),
      long_tasks: long.filter((ms) => ms > LONG_MS).length,
    };
  } finally {
    await page.close();
  }
};

const { fetch } = createMockApi({ seed: 'large', as: 'operator' });
const demo = await serveBuild(await ensureConsole(), { api: fetch });
const bareServer = await serveBare();
const browser = await launchBrowser();
const ours: Seen[] = [];
const bare: Seen[] = [];
try {
  for (let pair = 0; pair < PAIRS; pair++) {
    bare.push(await look(browser, bareServer.url, 'td.tile'));
    ours.push(await look(browser, `${demo.url}/platform/nodes`, '[data-slot-tile]'));
  }
} finally {
  await browser.close();
  await demo.close();
  await bareServer.close();
}
console.log(JSON.stringify({ ours, bare }));
process.exit(0);
