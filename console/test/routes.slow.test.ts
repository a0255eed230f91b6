/**
 * Every route in both themes and on a desktop and a phone screen, with screenshots in dist/console-screenshots for
 * review.
 */
import { join } from 'node:path';
import { testLooks } from './looks.ts';

/** What `routes.test.ts` checks is not checked again. */
testLooks(
  ({ isFirst }) => [
    { theme: 'light', width: 1280, ...(isFirst ? { only: [] } : {}) },
    { theme: 'dark', width: 1280, only: ['color-contrast'] },
    { theme: 'dark', width: 390 },
    { theme: 'light', width: 390, only: ['color-contrast'] },
  ],
  join(import.meta.dirname, '../../dist/console-screenshots'),
);
