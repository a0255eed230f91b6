/** `make down`: stops the lab and returns when none of its processes runs. */
import { endLab } from './end.ts';
import { readSettings } from './settings.ts';

try {
  console.log((await endLab(readSettings(process.env))) ? 'Stopped.' : 'Not running.');
} catch (err) {
  console.error((err as Error).message);
  process.exitCode = 1;
}
