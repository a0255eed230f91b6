/** The database's own limit in pairs, with the rows of a launch and its release written by two prepared calls. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';

/** The script for pgbench, in the directory of the fleet. */
export const prepareLimit = async (url: string, dir: string, nodes: number): Promise<string> => {
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await owner.query(await readFile(new URL('limit.sql', import.meta.url), 'utf8'));
  await owner.end();
  const script = join(dir, 'pair.sql');
  await writeFile(script, `select bench_take(${nodes}) as n \\gset\nselect bench_give(:n, ${nodes});\n`);
  return script;
};
