/**
 * Every page in two looks that differ in theme and screen. The second asks only for what depends on them: colours and
 * the size of targets. `routes.slow.test.ts` has all four looks, with pictures.
 */
import { testLooks } from './looks.ts';

testLooks([
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 390, only: ['color-contrast', 'target-size'] },
]);
