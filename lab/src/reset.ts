/**
 * `make reset`: stops the lab and deletes its state, including files outside the state directory. An external database
 * stays.
 */
import { existsSync } from 'node:fs';
import { removeEmbeddedPostgres } from '../../server/src/ports/postgres/embedded.ts';
import { endLab } from './end.ts';
import { readSettings } from './settings.ts';
import { removeState, statePaths } from './state.ts';

try {
  const settings = readSettings(process.env);
  if (await endLab(settings)) console.log('Stopped.');
  const { dir, postgresDir } = statePaths(settings);
  const existed = existsSync(dir);
  await removeEmbeddedPostgres(postgresDir);
  if (!existed) console.log('Nothing to clear.');
  else if (removeState(settings)) console.log(`Cleared ${dir}.`);
  else console.log(`Cleared the database in ${dir}; the directory itself was not created by \`make up\` and stays.`);
} catch (err) {
  console.error((err as Error).message);
  process.exitCode = 1;
}
