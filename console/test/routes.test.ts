/**
 * Every route in two looks that differ in theme and screen. All rules of accessibility are checked once per page. Its tabs
 * and other data, and the second look, are checked for what depends on the screen: nothing overflows, no text is cut off
 * and nothing moves by itself. `routes.slow.test.ts` checks the rules on every other route, and has all four looks.
 */
import { testLooks } from './looks.ts';

testLooks(({ isFirst }) => [
  { theme: 'light', width: 1280, ...(isFirst ? {} : { only: [] }) },
  { theme: 'dark', width: 390, only: [] },
]);
