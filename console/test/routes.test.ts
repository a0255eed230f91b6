/** Every page in two looks that differ in theme and screen; `routes.slow.test.ts` has all four, with pictures. */
import { testLooks } from './looks.ts';

testLooks([
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 390 },
]);
