/** The workflows this process runs. Several versions of one name coexist until the old runs have ended. */
import { invariant } from '@gpuaas/kit';
import type { ClaimKey } from '../../db/statements/claim-runs.ts';
import type { BoundWorkflow } from './workflow.ts';

export type Registry = Readonly<{
  find(name: string, version: number): BoundWorkflow | undefined;
  keys: readonly ClaimKey[];
}>;

export const createRegistry = (workflows: readonly BoundWorkflow[]): Registry => {
  const byKey = new Map<string, BoundWorkflow>();
  for (const bound of workflows) {
    const key = `${bound.name} ${bound.version}`;
    invariant(!byKey.has(key), `workflow ${bound.name} version ${bound.version} is registered twice`);
    byKey.set(key, bound);
  }
  return {
    find: (name, version) => byKey.get(`${name} ${version}`),
    keys: workflows.map((bound) => ({ workflow: bound.name, version: bound.version })),
  };
};
