/**
 * Random histories of tenants, operators and faults against the real server and agents; every one must be clean. A
 * failing seed is printed with its smallest failing part. `GPUAAS_BENCH_HISTORIES`, `GPUAAS_BENCH_SEED` and
 * `GPUAAS_BENCH_COMMANDS` set how many, from which seed, and how long.
 */
import { createBase } from './histories/base.ts';
import { runHistories } from './histories/histories.ts';
import type { Bench } from './types.ts';

const COUNT = Number(process.env['GPUAAS_BENCH_HISTORIES'] ?? 200);
const FIRST_SEED = Number(process.env['GPUAAS_BENCH_SEED'] ?? 1);
const LENGTH = Number(process.env['GPUAAS_BENCH_COMMANDS'] ?? 100);
const AT_ONCE = 4;
const SHRINK_TRIES_MAX = 200;

export const historiesBench: Bench = {
  name: 'histories',
  run: async () => {
    const closers: (() => Promise<void>)[] = [];
    try {
      const base = await createBase({ after: (fn) => void closers.unshift(fn) });
      const done = await runHistories(base, {
        ...{ first_seed: FIRST_SEED, count: COUNT, length: LENGTH, at_once: Math.min(AT_ONCE, COUNT) },
        shrink_tries_max: SHRINK_TRIES_MAX,
        say: (text) => void process.stderr.write(`${text}\n`),
      });
      const clean = done.histories - done.failures.length;
      const wrong = done.failures.map(({ seed }) => seed).join(', ');
      return {
        name: 'histories',
        ratio: clean / done.histories,
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
