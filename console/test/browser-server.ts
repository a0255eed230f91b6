/** One browser for the page tests of a run; each test file connects to it and has its own contexts. */
import { type BrowserServer, chromium } from 'playwright-core';
import { findBrowser } from '../../tools/test/requires.ts';

export const BROWSER = {
  executablePath: findBrowser() ?? 'chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
};

/** The runner ends it, also when it is interrupted: playwright's own handlers would end the runner first. */
export const startBrowserServer = (): Promise<BrowserServer> =>
  chromium.launchServer({ ...BROWSER, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false });
