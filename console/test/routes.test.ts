/**
 * Every page in two variants that differ in theme and screen. The second checks only what depends on them: colors and
 * target sizes. `routes.slow.test.ts` has all four variants, with screenshots.
 */
import { testLooks } from './looks.ts';

testLooks([
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 390, only: ['color-contrast', 'target-size'] },
]);
