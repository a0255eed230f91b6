/** The reference for creates: pgbench with the fixed transaction of reference.sql. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { requires } from '../../tools/test/requires.ts';
import { FLEET_NODES } from './fleet.ts';

/** Shared by both sides of every comparison. */
export const CLIENTS = 8;
export const GPUS = 2;

const run = promisify(execFile);

export const lacksPgbench = (): string | false => requires('pgbench');

/** Transactions per second that pgbench reports for one slice. */
export const pgbench = async (url: string, script: string, seconds: number): Promise<number> => {
  const target = new URL(url);
  const host = target.searchParams.get('host') ?? target.hostname;
  const load = ['-n', '-M', 'prepared', '-c', String(CLIENTS), '-j', '2', '-T', String(seconds), '-f', script];
  const { stdout } = await run('pgbench', [
    ...load,
    '-h',
    host,
    '-U',
    target.username || 'gpuaas',
    target.pathname.slice(1),
  ]);
  const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (tps === undefined) throw new Error(`pgbench said nothing about tps:\n${stdout}`);
  return Number(tps);
};

/** The script for pgbench, in the directory of the fleet. */
export const prepareReference = async (url: string, dir: string): Promise<string> => {
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await owner.query(await readFile(new URL('reference.sql', import.meta.url), 'utf8'));
  await owner.end();
  const script = join(dir, 'place.sql');
  await writeFile(script, `select bench_place(${FLEET_NODES});\n`);
  return script;
};
