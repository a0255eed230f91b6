/** Every dialog on a phone: it passes the page checks and is completely visible. Desktops are in the slow tier. */
import { DIALOG, offScreen, testDialogs } from './dialogs.ts';
import { inspect } from './inspect.ts';

testDialogs('works by keyboard and on a phone', async ({ page, dialog }) => [
  ...(await inspect(page, { within: DIALOG })),
  ...(await offScreen(dialog)),
]);
