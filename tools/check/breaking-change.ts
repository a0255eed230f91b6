/**
 * Compares the contract with the last release, which is in contract/released/openapi.yaml from the first release on.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api } from '@gpuaas/contract';
import { openapi } from '@gpuaas/contract/emit';
import { parse } from 'yaml';
import { ROOT } from '../gen/file.ts';
import { type Check, pass, verdict } from './check.ts';
import { breakingChanges } from './openapi-diff.ts';

export const breakingChange: Check = {
  name: 'breaking change',
  run: async () => {
    const released = await readFile(join(ROOT, 'contract/released/openapi.yaml'), 'utf8').catch(() => undefined);
    if (released === undefined) return pass('no release yet');
    return verdict(breakingChanges(parse(released), openapi(api)), 'none since the last release');
  },
};
