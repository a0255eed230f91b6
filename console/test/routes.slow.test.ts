/**
 * Every page in both themes and on a desk's and a phone's screen, photographed into dist/console-screenshots, where a
 * person looks at them.
 */
import { join } from 'node:path';
import { testLooks } from './looks.ts';

/** What `routes.test.ts` asked for is not asked for again. */
testLooks(
  [
    { theme: 'light', width: 1280, only: [] },
    { theme: 'dark', width: 1280, only: ['color-contrast'] },
    { theme: 'dark', width: 390 },
    { theme: 'light', width: 390, only: ['color-contrast'] },
  ],
  join(import.meta.dirname, '../../dist/console-screenshots'),
);
