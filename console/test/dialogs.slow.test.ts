/** Every dialog on a desktop, with its screenshots in dist/console-screenshots for review. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DESKTOP, DIALOG, offScreen, PHONE, testDialogs } from './dialogs.ts';
import { inspect } from './inspect.ts';

const PICTURES = join(import.meta.dirname, '../../dist/console-screenshots');
mkdirSync(PICTURES, { recursive: true });

testDialogs('works on a desktop', async ({ page, dialog, name }) => {
  await page.screenshot({ path: join(PICTURES, `dialog-${name}.dark.390.png`) });
  await page.setViewportSize(DESKTOP);
  const findings = [
    ...(await inspect(page, { only: ['color-contrast'], within: DIALOG })),
    ...(await offScreen(dialog)),
  ];
  await page.setViewportSize(PHONE);
  return findings;
});
