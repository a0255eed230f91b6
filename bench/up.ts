/** Seconds from `make up DETACH=1`, with everything installed, to a platform that answers ready. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from './types.ts';

const PORT = '18089';

export const upBench: Bench = {
  name: 'up',
  run: async () => {
    const state = mkdtempSync(join(tmpdir(), 'gpuaas-up-'));
    const env = { ...process.env, GPUAAS_PORT: PORT, GPUAAS_STATE_DIR: join(state, 'state') };
    const make = (...args: string[]) => spawnSync('make', args, { env, encoding: 'utf8' });
    try {
      const startedAt = performance.now();
      const up = make('up', 'DETACH=1');
      const seconds = (performance.now() - startedAt) / 1000;
      if (up.error !== undefined) throw up.error;
      if (up.status !== 0) throw new Error(`make up failed:\n${up.stdout}${up.stderr}`);
      return {
        name: 'up',
        ratio: null,
        goal: null,
        reference: 'aim: 10 s',
        ours: `${seconds.toFixed(1)} s from make up DETACH=1 to ready, first start`,
        pairs: 1,
      };
    } finally {
      make('reset');
      rmSync(state, { recursive: true, force: true });
    }
  },
};
