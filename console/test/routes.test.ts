/**
 * Every page in two variants that differ in theme and screen. The second checks only what depends on the screen: nothing
 * overflows, and no text is cut off. `routes.slow.test.ts` has all four variants, with screenshots, and checks colors and
 * target sizes in the second too; `dialogs.test.ts` checks them here for every dialog.
 */
import { testLooks } from './looks.ts';

testLooks([
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 390, only: [] },
]);
