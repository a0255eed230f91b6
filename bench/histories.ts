/**
 * Random histories of tenants, operators and faults against the real server and agents; every one must be clean. A
 * failing seed is printed with its smallest failing part. `GPUAAS_BENCH_HISTORIES`, `GPUAAS_BENCH_SEED` and
 * `GPUAAS_BENCH_COMMANDS` set how many, from which seed, and how long; `GPUAAS_BENCH_PLAY` names a file of commands, one
 * per line as they are printed, to play instead.
 */
import { readFile } from 'node:fs/promises';
import { type Base, createBase } from './histories/base.ts';
import { parseCommands } from './histories/command.ts';
import { notReached, runHistories } from './histories/histories.ts';
import { runHistory } from './histories/history.ts';
import type { Bench, Measurement } from './types.ts';

const COUNT = Number(process.env['GPUAAS_BENCH_HISTORIES'] ?? 200);
const FIRST_SEED = Number(process.env['GPUAAS_BENCH_SEED'] ?? 1);
const LENGTH = Number(process.env['GPUAAS_BENCH_COMMANDS'] ?? 100);
const PLAY_FILE = process.env['GPUAAS_BENCH_PLAY'];
const AT_ONCE = 4;
/** From this many histories on, a command never accepted or a state never entered counts as a miss, rare ones too. */
const REACHES_ALL = 500;
const SHRINK_TRIES_MAX = 200;

const playFile = async (base: Base, file: string, say: (text: string) => void): Promise<Measurement> => {
  const commands = parseCommands(await readFile(file, 'utf8'));
  const { wrong, launches } = await runHistory(base, commands);
  say(wrong.join('\n'));
  return {
    name: 'histories',
    ratio: wrong.length === 0 ? 1 : 0,
    goal: '>=1',
    reference: `the ${commands.length} commands of ${file}`,
    ours: `${wrong.length} violations, ${launches} launches`,
    pairs: 1,
  };
};

export const historiesBench: Bench = {
  name: 'histories',
  run: async () => {
    const closers: (() => Promise<void>)[] = [];
    try {
      const base = await createBase({ after: (fn) => void closers.unshift(fn) });
      const say = (text: string) => void process.stderr.write(`${text}\n`);
      if (PLAY_FILE !== undefined) return await playFile(base, PLAY_FILE, say);
      const done = await runHistories(base, {
        seeds: Array.from({ length: COUNT }, (_, index) => FIRST_SEED + index),
        ...{ length: LENGTH, at_once: AT_ONCE, shrink_tries_max: SHRINK_TRIES_MAX, say },
      });
      const missing = notReached(done);
      if (missing.length > 0) say(`Never accepted or entered: ${missing.join(', ')}.`);
      const clean = done.histories - done.failures.length;
      const wrong = done.failures.map(({ seed }) => seed).join(', ');
      const mustReach = done.histories >= REACHES_ALL ? missing.length : 0;
      return {
        name: 'histories',
        ratio: (clean - mustReach) / done.histories,
        goal: '>=1',
        reference: `${done.histories} histories of ${LENGTH} commands from seed ${FIRST_SEED}`,
        ours: `${clean} clean, ${done.launches} launches${wrong === '' ? '' : `; wrong seeds: ${wrong}`}`,
        pairs: done.histories,
      };
    } finally {
      for (const close of closers) await close();
    }
  },
};
